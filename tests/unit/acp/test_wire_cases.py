"""ACP's example messages, and a few of agentnb's, go through the connection unchanged and are accepted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.mapper import map_permission, map_update
from agentnb.acp.questions import map_elicitation
from agentnb.acp.sessions import Sessions, serve
from agentnb.acp.updates import map_session
from agentnb.agent import Capabilities
from agentnb.rpc import ACP, Connection
from agentnb.rpc_message import RpcError, encode, repair_message
from tests.conftest import ROOT
from tests.unit.acp.recording_listener import RecordingListener, empty_chat

OWN = ROOT / "tests/cases/acp"
Case = dict[str, Any]


def own_cases() -> list[Case]:
    """Returns this project's cases: valid messages, and invalid ones with their errors."""
    return [case for path in sorted(OWN.glob("*.json")) for case in json.loads(path.read_text(encoding="utf-8"))]


def wire_cases(shared: Path) -> list[Case]:
    cases: list[Case] = json.loads((shared / "cases/acp/wire-examples.json").read_text(encoding="utf-8"))
    return cases


class Line:
    """A connection whose other end is the test."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, Any]] = []
        self.requests: list[tuple[str, Any]] = []
        self.written: list[Case] = []
        self.connection = Connection(
            lambda data: self.written.append(json.loads(data)),
            ACP,
            on_notifications=self.notifications.extend,
            on_request=self._serve,
        )

    async def _serve(self, method: str, params: Case) -> Case:
        self.requests.append((method, params))
        return {}

    async def feed(self, message: Any) -> None:
        self.connection.feed(json.dumps(message).encode() + b"\n")
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def round_trip(message: Any) -> Any:
    """Decodes a line with *message* and returns it as a message again."""
    decoded = repair_message(json.dumps(message).encode())
    fields = {name: getattr(decoded, name) for name in ("method", "params", "id", "error")}
    kept = {name: value for name, value in fields.items() if value is not None}
    if "result" in message:
        kept["result"] = decoded.result
    return json.loads(encode({"jsonrpc": "2.0", **kept}))


async def carried(message: Case) -> None:
    """Feeds *message* and checks that it arrives whole."""
    line = Line()
    if "method" not in message:
        got: list[Any] = []
        message = {**message, "id": max(1, message["id"])}  # our ids begin with 1
        while line.connection.call("x", {}, lambda result, error: got.append((result, error))) < message["id"]:
            pass
        await line.feed(message)
        assert got == [(message["result"], None)]
    elif "id" in message:
        await line.feed(message)
        assert line.requests == [(message["method"], message["params"])]
        assert line.written == [{"jsonrpc": "2.0", "id": message["id"], "result": {}}]
    else:
        await line.feed(message)
        assert line.notifications == [(message["method"], message["params"])]
    assert line.connection.stray == 0


def understood(message: Case) -> bool:
    """True if *message* is mapped rather than kept raw; raises if it is refused."""
    method, params = message.get("method"), message.get("params") or {}
    chat = empty_chat("Something else")
    match method:
        case "session/update":
            actions = map_update(params["update"], chat, "t1", 1)
            return bool(actions) or params["update"]["sessionUpdate"] in {"plan_removed", "session_info_update"}
        case "session/request_permission":
            return bool(map_permission(params, chat, "t1", 1)[1])
        case "elicitation/create":
            return bool(map_elicitation(params).message == params["message"])
        case None:
            return map_session(message["result"] or {}, 1) is not None
    return True


async def test_valid_examples_are_accepted_unchanged(shared: Path) -> None:
    """Decoded, encoded again, carried by the connection, mapped."""
    valid = [case for case in wire_cases(shared) if case["valid"]]
    for case in valid:
        message = case["message"]
        assert round_trip(message) == message
        await carried(message)
        assert understood(message), f"{case['file']}:{case['line']}"
    assert len(valid) == 240


async def test_connection_survives_invalid_examples(shared: Path) -> None:
    """The next message is carried as usual; the mapper does not raise."""
    invalid = [case for case in wire_cases(shared) if not case["valid"]]
    for case in invalid:
        line = Line()
        line.connection.call("x", {}, lambda *_: None)
        await line.feed(case["message"])
        await line.feed({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {}}})
        answer = asyncio.ensure_future(line.connection.request("y", {}))
        await asyncio.sleep(0)
        await line.feed({"jsonrpc": "2.0", "id": 2, "result": {"still": "here"}})
        assert (line.notifications[-1][0], await answer) == ("session/update", {"still": "here"})
        assert not line.connection.closed
        understood(case["message"])
    assert len(invalid) == 8


async def test_golden_messages_are_accepted(shared: Path) -> None:
    """Each as parameters, result or content."""
    paths = sorted((shared / "cases/acp/golden").glob("*.json"))
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        message = _message(path.stem, content)
        assert round_trip(message) == message, path.name
        await carried(message)
        assert understood(message), path.name
    assert len(paths) == 33


def _message(name: str, content: Any) -> Case:
    """Returns a golden file as a whole message."""
    if name.startswith("content_"):
        content = {"sessionUpdate": "agent_message_chunk", "content": content}
    elif name.startswith("tool_content_"):
        content = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "content": [content]}
    if "sessionUpdate" in content:
        params = {"sessionId": "s", "update": content}
        return {"jsonrpc": "2.0", "method": "session/update", "params": params}
    if name.endswith("_request"):
        method = {
            "fs_read_text_file_request": "fs/read_text_file",
            "fs_write_text_file_request": "fs/write_text_file",
            "request_permission_request": "session/request_permission",
        }.get(name, name.removesuffix("_request"))
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": content}
    if name.endswith("_notification"):
        return {"jsonrpc": "2.0", "method": "session/cancel", "params": content}
    return {"jsonrpc": "2.0", "id": 1, "result": content}


@pytest.mark.parametrize("case", [case for case in own_cases() if case["valid"]], ids=lambda case: case["name"])
async def test_own_valid_messages_are_accepted_unchanged(case: Case) -> None:
    """They cover what the protocol's examples leave out."""
    message = case["message"]
    assert round_trip(message) == message
    await carried(message)
    assert understood(message)


def one_session(listener: RecordingListener) -> Sessions:
    """Returns sessions with one open, `s`."""
    sessions = Sessions()
    sessions.open("s", listener, ROOT).release()
    return sessions


def _invalid(kind: str) -> list[Case]:
    return [case for case in own_cases() if not case["valid"] and case["kind"] == kind]


@pytest.mark.parametrize("case", _invalid("request"), ids=lambda case: case["name"])
async def test_invalid_request_gets_an_error_naming_the_field(case: Case) -> None:
    message, sessions = case["message"], one_session(RecordingListener())
    sessions.asking[1] = RecordingListener()
    with pytest.raises(RpcError) as failure:
        await serve(message["method"], message["params"], sessions, Capabilities())
    assert case["error"] in failure.value.message


@pytest.mark.parametrize("case", _invalid("notification"), ids=lambda case: case["name"])
async def test_invalid_notification_is_kept_raw(case: Case) -> None:
    """In its session, or beside all sessions if it names none."""
    listener, message = RecordingListener(), case["message"]
    sessions = one_session(listener)
    sessions.deliver([(message["method"], message.get("params"))])
    parts = [action.part for action in listener.heard]
    assert ([part.name for part in parts], [name for name, _ in listener.extensions]) == (case["kept"], case["beside"])
    whole = [{"sessionUpdate": message["method"], "params": message["params"]} for _ in case["kept"]]
    assert [part.payload for part in parts] == whole
