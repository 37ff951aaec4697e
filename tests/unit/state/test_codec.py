"""The codec checks data from outside and reports errors clearly."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.errors import ProtocolError
from agentnb.state import ChatState, Envelope, UnknownAction, XLate, decode, decode_action, encode, to_json

WRONG = {
    "not JSON": b"{",
    "not UTF-8": b'{"type":"\xff"}',
    "not an object": b"[1]",
    "null": b"null",
    "no type": {"turnId": "t"},
    "a type that is no text": {"type": 3},
    "a missing field": {"type": "chat/delta", "turnId": "t", "partId": "p"},
    "a wrong field": {"type": "chat/delta", "turnId": "t", "partId": "p", "content": 3},
    "a wrong choice": {"type": "chat/pendingMessageRemoved", "kind": "other", "id": "1"},
    "a time before time": {"type": "session/ready", "time": -1},
    "a time that no calendar has": {"type": "session/ready", "time": 10**18},
    "a wrong inner action": {"type": "x-agentnb/late", "turnId": "t", "action": {"type": "chat/delta"}},
    "a wrong part": {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "markdown"}},
    "a part that is no object": {"type": "chat/responsePart", "turnId": "t", "part": "text"},
    "far too deep": b'{"type":"session/metaChanged","_meta":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
}


@pytest.mark.parametrize("data", WRONG.values(), ids=list(WRONG))
def test_malformed_action_is_rejected(data: Any) -> None:
    """The error names a missing field."""
    why = r"missing required field `content`" if data is WRONG["a missing field"] else ""
    with pytest.raises(ProtocolError, match=rf"(?s)This is not an? .*{why}"):
        decode_action(data)


def test_unknown_fields_are_ignored() -> None:
    """A newer peer may send more fields."""
    assert {"type": "session/ready", "time": 1} == to_json(
        decode_action({"type": "session/ready", "time": 1, "newer": True})
    )


def test_unknown_action_keeps_its_original_json() -> None:
    """Also inside an envelope and inside a late action."""
    raw = {"type": "chat/new", "x": [1, None]}
    assert UnknownAction(raw) == decode_action(raw)
    envelope = {"channel": "c", "index": 1, "action": raw}
    assert envelope == to_json(decode(Envelope, envelope))
    late = decode_action({"type": "x-agentnb/late", "turnId": "t", "action": raw})
    assert isinstance(late, XLate)
    assert UnknownAction(raw) == late.action


@pytest.mark.parametrize("index", [0, -1, 1.5, "1", None])
def test_envelope_index_below_one_is_rejected(index: Any) -> None:
    with pytest.raises(ProtocolError):
        decode(Envelope, {"channel": "c", "index": index, "action": {"type": "session/ready"}})


def test_encode_omits_none_but_keeps_empty_lists() -> None:
    chat = ChatState(resource="r", title="", status=1, modified_at="", turns=())
    assert b'{"resource":"r","title":"","status":1,"modifiedAt":"","turns":[]}' == encode(chat)
