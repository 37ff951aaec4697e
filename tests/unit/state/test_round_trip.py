"""Every struct survives a round trip through JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.state import Turn, UnknownResponsePart, decode, encode, to_json
from tests.thorough import examples
from tests.unit.state.strategies import every_struct, on_the_wire, structs


@pytest.mark.parametrize("kind", every_struct(), ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_struct_survives_a_json_round_trip(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """From bytes and from Python's dicts."""
    value = data.draw(structs(kind))
    for decoded in (decode(kind, encode(value)), decode(kind, to_json(value))):
        assert decoded == value
        assert on_the_wire(decoded) == on_the_wire(value)


def test_unknown_response_part_survives_a_json_round_trip() -> None:
    """A part of an unknown kind is unchanged, at any depth."""
    raw = {"kind": "future", "deep": [{"null": None}]}
    turn = {"id": "t", "message": {"text": "", "origin": {"kind": "user"}}, "responseParts": [raw], "state": "complete"}
    decoded = decode(Turn, turn)
    assert (UnknownResponsePart(raw),) == decoded.response_parts
    assert turn == to_json(decoded)
