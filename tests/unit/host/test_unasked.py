"""Tool calls that an agent runs without asking, and which of them are marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import NewTalk, Talk, environment, host, new_talk, permission, run, work, write

__all__ = ["environment", "host", "new_talk", "work"]  # the fixtures

RUN = {"toolCallId": "c", "title": "touch a", "kind": "execute", "rawInput": {"command": "touch a"}}
FILE = {**RUN, "rawInput": None, "locations": [{"path": "a.py"}], "status": "completed"}
DONE = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
CALLS: list[tuple[dict[str, Any], bool]] = [
    ({**RUN, "status": "completed"}, True),
    ({**RUN, "status": "in_progress"}, True),
    ({**RUN, "status": "failed"}, False),
    ({**RUN, "status": "pending"}, False),
    *(({**FILE, "kind": kind}, True) for kind in ("edit", "delete", "move")),
    *(({**FILE, "kind": kind}, False) for kind in ("read", "search", "think")),
]


def marks(talk: Talk, *updates: dict[str, Any]) -> list[bool]:
    """Returns for each tool call whether it is marked; the agent sends *updates* and asks nothing."""
    return [call.ran_without_asking for call in talk.session.prompt(json.dumps(updates)).wait(PATIENCE).tool_calls]


def test_tool_call_that_ran_unasked_under_deny_is_marked(new_talk: NewTalk) -> None:
    """An edit, delete, move or execution that succeeded or still ran when the turn ended."""
    talk = new_talk("deny", script="acts_without_asking")
    for call, marked in CALLS:
        assert marks(talk, call) == [marked], call


def test_updated_tool_call_is_marked_once(new_talk: NewTalk) -> None:
    """The audit log has one line with the command."""
    talk = new_talk("deny", script="acts_without_asking")
    assert marks(talk, {**RUN, "status": "pending"}, {**DONE, "status": "in_progress"}, DONE, DONE) == [True]
    assert [(each.what, each.by, each.reason) for each in talk.log] == [("touch a", "agent", "ran without asking")]


@pytest.mark.parametrize(("mode", "marked"), [("ask", [True, False]), ("allow", [False, False])])
def test_tool_call_under_ask_is_marked_unless_read_only(new_talk: NewTalk, mode: str, marked: list[bool]) -> None:
    """An agent that asks may run read-only calls by itself; under Allow it may run all."""
    looks = {**RUN, "toolCallId": "d", "title": "ls", "rawInput": {"command": "ls"}, "status": "completed"}
    talk = new_talk(mode, script="acts_without_asking")
    assert marks(talk, {**RUN, "status": "completed"}, looks) == marked


def test_tool_call_with_a_permission_request_is_not_marked(new_talk: NewTalk, work: Path) -> None:
    """Denied requests, commands and files: the user was asked."""
    talk = new_talk("deny")
    request = permission("p", title="touch a", kind="execute", rawInput={"command": "touch a"})
    turn = talk.prompt(request, run("touch b"), write(work / "c"))
    talk.done(turn)
    assert {call.ran_without_asking for call in turn.tool_calls} == {False}
