"""Tool calls that an agent runs without asking, and which of them are marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.host import Host
from agentnb.ipython.transcript import plain_text, transcript
from tests.unit.host.test_permissions import Talk, environment, host, permission, run, work, write

__all__ = ["environment", "host", "work"]  # the fixtures

RUN = {"toolCallId": "c", "title": "touch a", "kind": "execute", "rawInput": {"command": "touch a"}}


def acted(host: Host, work: Path, *updates: dict[str, Any], mode: Any = "deny") -> list[bool]:
    """Returns for each tool call whether it is marked; the agent sends *updates* and asks nothing."""
    talk = Talk(host, work, mode, script="acts_without_asking")
    return [call.ran_without_asking for call in talk.session.prompt(json.dumps(updates)).wait(30).tool_calls]


@pytest.mark.parametrize(
    ("call", "marked"),
    [
        ({**RUN, "status": "completed"}, True),
        ({**RUN, "status": "in_progress"}, True),
        ({**RUN, "status": "failed"}, False),
        ({**RUN, "status": "pending"}, False),
        ({**RUN, "kind": "edit", "rawInput": None, "locations": [{"path": "a.py"}], "status": "completed"}, True),
        ({**RUN, "kind": "delete", "rawInput": None, "locations": [{"path": "a.py"}], "status": "completed"}, True),
        ({**RUN, "kind": "move", "rawInput": None, "locations": [{"path": "a.py"}], "status": "completed"}, True),
        ({**RUN, "kind": "read", "rawInput": None, "locations": [{"path": "a.py"}], "status": "completed"}, False),
        ({**RUN, "kind": "search", "rawInput": None, "status": "completed"}, False),
        ({**RUN, "kind": "think", "rawInput": None, "status": "completed"}, False),
    ],
)
def test_tool_call_that_ran_unasked_under_deny_is_marked(
    host: Host, work: Path, call: dict[str, Any], marked: bool
) -> None:
    """An edit, delete, move or execution that succeeded or still ran when the turn ended."""
    assert acted(host, work, call) == [marked]


def test_updated_tool_call_is_marked_once(host: Host, work: Path) -> None:
    """The audit log has one line with the command."""
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
    assert acted(host, work, {**RUN, "status": "pending"}, {**done, "status": "in_progress"}, done, done) == [True]
    assert [(each.what, each.by, each.reason) for each in host.policy.audit.records] == [
        ("touch a", "agent", "ran without asking")
    ]


def test_tool_call_under_ask_is_marked_unless_read_only(host: Host, work: Path) -> None:
    """An agent that asks may run read-only calls by itself."""
    looks = {**RUN, "toolCallId": "d", "title": "ls", "rawInput": {"command": "ls"}, "status": "completed"}
    assert acted(host, work, {**RUN, "status": "completed"}, looks, mode="ask") == [True, False]


def test_a_tool_call_under_allow_is_not_marked(host: Host, work: Path) -> None:
    assert acted(host, work, {**RUN, "status": "completed"}, mode="allow") == [False]


def test_tool_call_with_a_permission_request_is_not_marked(host: Host, work: Path) -> None:
    """Denied requests, commands and files: the user was asked."""
    talk = Talk(host, work, "deny")
    request = permission("p", title="touch a", kind="execute", rawInput={"command": "touch a"})
    turn = talk.prompt(request, run("touch b"), write(work / "c"))
    talk.done(turn)
    assert {call.ran_without_asking for call in turn.tool_calls} == {False}


def test_transcript_marks_a_tool_call_that_ran_unasked(host: Host, work: Path) -> None:
    """In Markdown and in text."""
    talk = Talk(host, work, "deny", script="acts_without_asking")
    turn = talk.session.prompt(json.dumps([{**RUN, "status": "completed"}])).wait(30)
    for text in (transcript(turn.snapshot), plain_text(turn.snapshot)):
        assert "touch a · done · ran without asking" in text
