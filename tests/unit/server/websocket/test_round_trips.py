"""The inside: single forms of the protocol, with many cases.

Its own round-trip cases, if checked out, are read and written again as expected; writes keep other data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.server.websocket.commands import ChangesetTarget
from agentnb.server.websocket.projection import summary_to_ahp
from agentnb.server.websocket.resource_requests import placed
from agentnb.state import ChatInputQuestion, Envelope, Markdown, SessionSummary, decode, decode_action, to_json
from agentnb.state.change import iso_time
from tests.conftest import ROOT
from tests.unit.server.websocket.conftest import Connect

FOLDER = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared")) / "peers/ahp/test-cases/round-trips"
FILES = sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else []


def parameters() -> list[Any]:
    """Returns a parameter for each case, or a skipped one if there are none."""
    if not FILES:
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=f"no round-trip cases at {FOLDER}"))]
    return [pytest.param(path, id=path.stem) for path in FILES]


def envelope(value: dict[str, Any]) -> Any:
    """Reads and writes an envelope; only the number differs, as the host counts actions by channel."""
    written = to_json(decode(Envelope, {"index": value["serverSeq"], **value}))
    written["serverSeq"] = written.pop("index")
    return written


def in_1_0(value: Any) -> Any:
    """Converts a case of 0.5, with session times in milliseconds, to 1.0."""
    if not isinstance(value, dict):
        return value
    times = {name: iso_time(value[name]) for name in ("createdAt", "modifiedAt") if isinstance(value.get(name), int)}
    return {name: in_1_0(item) for name, item in value.items()} | times


def partial_summary(value: dict[str, Any]) -> Any:
    """Returns the fields of a summary."""
    known = set(SessionSummary.__struct_encode_fields__)
    return {name: item for name, item in value.items() if name in known}


READ: dict[str, Callable[[Any], Any]] = {
    "ActionEnvelope": envelope,
    "StateAction": lambda value: to_json(decode_action(value)),
    "Customization": lambda value: to_json(
        decode_action({"type": "session/customizationUpdated", "customization": value})
    )["customization"],
    "SessionStatus": lambda value: to_json(msgspec.convert(value, int)),
    "StringOrMarkdown": lambda value: to_json(msgspec.convert(value, str | Markdown)),
    "ChangesetOperationTarget": lambda value: to_json(msgspec.convert(value, ChangesetTarget)),
    "ChatInputQuestion": lambda value: to_json(msgspec.convert(value, ChatInputQuestion)),
    "SessionSummary": lambda value: summary_to_ahp(decode(SessionSummary, value)),
    "SessionAddedParams": lambda value: {
        "channel": value["channel"],
        "summary": summary_to_ahp(decode(SessionSummary, value["summary"])),
    },
    "PartialSessionSummary": partial_summary,
}


@pytest.mark.parametrize("path", parameters())
def test_case_is_written_as_expected(path: Path, connect: Connect) -> None:
    """Equal but for the order of keys; a message must not break the connection."""
    case = json.loads(path.read_text())
    if case["type"] == "JsonRpcMessage":
        client = connect()
        client.say(case["input"])
        answered = "method" in case["input"] and "id" in case["input"]
        if answered:
            assert client.hear(lambda message: "error" in message)["id"] == case["input"]["id"]
        assert client.ask("ping", {}) == {}
        return
    assert READ[case["type"]](in_1_0(case["input"])) == in_1_0(case["acceptableOutputs"][0])


def test_every_case_type_is_known() -> None:
    """A new type of case must not be skipped silently."""
    types = {json.loads(path.read_text())["type"] for path in FILES} - {"JsonRpcMessage"}
    assert types <= READ.keys()


@given(st.binary(max_size=8), st.binary(max_size=4), st.integers(0, 10))
def test_write_modes_keep_the_other_data(before: bytes, data: bytes, position: int) -> None:
    """At any position: only ``truncate`` loses data, and *data* stays in one piece."""
    for mode in ("append", "insert"):
        after = placed(before, data, mode, position)
        at = min(position, len(before)) if mode == "insert" else max(0, len(before) - position)
        assert (after[:at], after[at : at + len(data)], after[at + len(data) :]) == (before[:at], data, before[at:])
    assert placed(before, data, "truncate", position) == before[:position] + data
