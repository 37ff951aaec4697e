"""Version 2 of ACP, a draft, with an agent built from its schema: users see the same as with version 1."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.state import (
    PlanResponsePart,
    RawResponsePart,
    SystemNotificationResponsePart,
    ToolTerminalContent,
    ToolTextContent,
)
from agentnb.testing import Events
from tests.unit.acp.conftest import Answer, Describe
from tests.unit.api.conftest import AGENTS, PATIENCE

Start = Callable[..., Session]


@pytest.fixture
def name(describe: Describe) -> str:
    """The agent that speaks version 2."""
    return describe("second_version", protocol=2)


def test_turn_of_version_2_shows_the_same_as_version_1(start: Start, name: str) -> None:
    """Whole messages, a growing call, a terminal, a diff, a plan, a notice, and unknown updates."""
    session = start(agent=name)
    turn = session.prompt("work").wait(PATIENCE)
    assert (turn.stop_reason, turn.text) == ("end_turn", "Working.")
    (call,) = turn.tool_calls
    assert call.status == "completed"
    assert call.content == (
        ToolTerminalContent(terminal_id="t1"), ToolTextContent(text="```diff\n-old\n+new\n```"),
    )  # fmt: skip
    (terminal,) = session.chat.terminals or ()
    assert (terminal.command, terminal.output, terminal.exit_code) == ("make", "built\n", 0)
    assert [entry.content for entry in turn.plan] == ["Build"]
    assert turn.snapshot is not None
    parts = turn.snapshot.response_parts
    assert len([part for part in parts if isinstance(part, PlanResponsePart)]) == 1
    notices = [part.content for part in parts if isinstance(part, SystemNotificationResponsePart)]
    assert "Warning: Fallback model\nThe first one is busy." in notices
    assert [part.name for part in parts if isinstance(part, RawResponsePart)] == ["_own_thing"]


def test_permission_request_for_a_command_has_the_command(start: Start, name: str) -> None:
    """The policy judges the command, not a title."""
    allow = Answer("allow")
    turn = start(agent=name, permissions=allow).prompt("ask").wait(PATIENCE)
    assert turn.text == "yes"
    assert [(request.title, request.command) for request in allow.requests] == [("List files", "ls -l")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fail", "returned an error: The model is gone."),
        ("refuse", "No more prompts"),
        ("die", "stopped unexpectedly"),
    ],
)
def test_failed_turn_ends_with_the_reason(start: Start, name: str, words: str, message: str) -> None:
    """By its state, by the prompt's response, or by the end of the process."""
    error = start(agent=name).prompt(words).wait(PATIENCE, check=False).error
    assert error is not None
    assert message in error.message


def test_cancelled_turn_ends_when_the_session_is_idle(start: Start, name: str, agentnb_events: Events) -> None:
    """The prompt's response came long before."""
    turn = start(agent=name).prompt("wait")
    agentnb_events.wait_for("turn.prompted", turn=turn.id, timeout=PATIENCE)
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).stop_reason == "cancelled"


def test_options_can_be_set_and_an_old_session_is_replayed(start: Start, name: str) -> None:
    """In it, `session/load` is `session/resume` from the start."""
    session = start(agent=name, session="old-1")
    (turn,) = session.turns
    assert turn.text == "Earlier."
    session.set_option("model", "large")
    (option,) = session.state.config_options or ()
    assert (option["id"], option["currentValue"]) == ("model", "large")


def test_agent_that_answers_with_version_1_is_used_with_it(start: Start, describe: Describe) -> None:
    """Trying the draft is safe with agents that lack it."""
    turn = start(agent=describe("second_version", "1", protocol=2)).prompt("hi").wait(PATIENCE)
    assert (turn.stop_reason, turn.text) == ("end_turn", "Of the first version.")


def test_agent_that_answers_with_version_2_unasked_is_refused(start: Start, tmp_path: Path) -> None:
    """Its description must set `protocol = 2`."""
    script = "import wire; wire.answer(wire.receive(), {'protocolVersion': 2}); wire.receive()"
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(AGENTS)!r}); {script}"]
    error = start(command=command).prompt("hi").wait(PATIENCE, check=False).error
    assert error is not None
    assert ("version 2 of" in error.message, "protocol = 2" in error.message) == (True, True)
