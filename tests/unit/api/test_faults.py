"""Agent failures: a clear message with the remedy; the session and the transcript survive."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from agentnb import Session
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("dies_at_start", r"stopped while starting \(exit code 3\).*Last output"),
        ("needs_login", r"(?i)log in"),
        ("refuses", r"(?i)returned an error"),
        ("dies_mid_turn", r"(?i)unexpectedly .*\. The agent restarts with your next message"),
        ("old_protocol", r"version .* of the Agent Client Protocol"),
    ],
)
def test_failing_agent_ends_the_turn_with_a_clear_error(start: Start, script: str, message: str) -> None:
    """The error names the cause; nothing hangs."""
    turn = start(script).prompt("hello").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert turn.state == "error"
    assert re.search(message, turn.error.message, re.DOTALL)


def test_agent_crash_fails_the_turns_of_all_its_sessions(start: Start) -> None:
    """One process, two tabs: both fail with the reason, keep their text, and can continue, as what waits does.

    The new process gets the transcript. A tab with another process is not affected.
    """
    session, other, apart = start(), start(), start(env={"AGENTNB_TEST": "another process"})
    apart.prompt("/say apart").wait(PATIENCE)
    before = [each.prompt("/say before").wait(PATIENCE, check=False).text for each in (session, other)]
    running = other.prompt("/hang")
    crashed, waiting = session.prompt("/crash"), session.prompt("/say still here")
    crashed.wait(PATIENCE, check=False)
    assert (before, crashed.state, running.wait(PATIENCE, check=False).state) == (["before"] * 2, "error", "error")
    assert [turn.error is not None and "unexpectedly" in turn.error.message for turn in (crashed, running)] == [
        True
    ] * 2
    still = waiting.wait(PATIENCE)
    notice = still.snapshot.response_parts[0] if still.snapshot else None
    assert still.text == "still here"
    assert "was given the conversation so far" in str(getattr(notice, "content", ""))
    assert [each.prompt("/say after").wait(PATIENCE).text for each in (session, other, apart)] == ["after"] * 3
    assert [each.turns[0].text for each in (session, other)] == ["before"] * 2
