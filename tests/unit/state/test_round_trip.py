"""Every struct survives a round trip through JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentnb.state.names
from agentnb.state import UnknownResponsePart, decode, encode, to_json
from agentnb.state.change import same
from tests.thorough import examples
from tests.unit.state.strategies import structs

STRUCTS = [
    value
    for value in vars(agentnb.state.names).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and not value.__subclasses__()
]


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_struct_survives_a_json_round_trip(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """From bytes and from Python's dicts."""
    value = data.draw(structs(kind))
    assert same(value, decode(kind, encode(value)))
    assert same(value, decode(kind, to_json(value)))


def test_unknown_response_part_survives_a_json_round_trip() -> None:
    """A part of an unknown kind is unchanged, at any depth."""
    raw = {"kind": "future", "deep": [{"null": None}]}
    turn = {"id": "t", "message": {"text": "", "origin": {"kind": "user"}}, "responseParts": [raw], "state": "complete"}
    decoded = decode(agentnb.state.Turn, turn)
    assert (UnknownResponsePart(raw),) == decoded.response_parts
    assert turn == to_json(decoded)
