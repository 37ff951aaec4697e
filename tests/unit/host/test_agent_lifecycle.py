"""The agent's process: shared, warmed, restarted with growing delays, and its session resumed."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from agentnb import Session
from agentnb.errors import AgentError
from agentnb.testing import Events
from tests.unit.api.conftest import PATIENCE
from tests.unit.host import conftest
from tests.unit.host.conftest import SOON
from tests.unit.host.kernels import Kernel

SPAWNED = ("agent.spawned", "agent.initialized")
RESTART_NOTICE = "restarted and was given the conversation so far"


def process_state(session: Session) -> str:
    process = session.state.agent_process
    return process.state if process is not None else ""


def notices(session: Session) -> str:
    """Returns the system notifications of all turns."""
    return " ".join(conftest.notices(session))


@pytest.mark.parametrize(
    ("ways", "outcome"),
    [(["resume"], "resumed"), (["load"], "loaded"), (["load", "resume"], "resumed"), ([], "new")],
)
def test_session_is_resumed_after_a_crash_if_the_agent_can(
    kernel: Kernel, agentnb_events: Events, ways: list[str], outcome: str
) -> None:
    """It restarts by itself. The chat shows nothing twice; only an agent that knows nothing gets the transcript."""
    session = kernel.start("remembers", *ways)
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.prompt("crash").wait(PATIENCE, check=False)
    assert agentnb_events.wait_for("agent.restarted", timeout=PATIENCE).data["deaths"] == 1
    kernel.until(session, lambda: process_state(session) == "running")
    turn = session.prompt("recall").wait(PATIENCE, check=False)
    assert turn.text == ("s2 knows nothing" if outcome == "new" else "s1 knows tulips")
    assert [event.data["how"] for event in agentnb_events.of("session.ready")] == ["new", outcome]
    assert [each.text for each in session.turns] == ["noted tulips", "", turn.text]
    assert (RESTART_NOTICE in notices(session)) == (outcome == "new")


def test_crashing_agent_is_not_restarted_after_some_tries(kernel: Kernel) -> None:
    """The delays grow; then only a prompt starts the agent."""
    kernel.restart_soon(tries=3)
    session = kernel.start("fails", "dies", "session/new")
    for _ in range(2):
        assert session.prompt("go").wait(PATIENCE, check=False).error is not None
    assert (session.health().deaths, process_state(session)) == (2, "failed")
    assert session.prompt("go").wait(PATIENCE, check=False).error is not None
    assert (session.health().deaths, process_state(session)) == (3, "failed")


def test_restart_by_the_user_keeps_session_and_transcript(kernel: Kernel, agentnb_events: Events) -> None:
    """``%agents restart`` and the button do this; also the session's commands stay."""
    session = kernel.start("remembers", "load")
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.restart()
    names = [event.name for event in agentnb_events.of(category="agent")]
    assert names == [*SPAWNED, "agent.stopped", *SPAWNED, "agent.restarted"]
    assert [command.name for command in session.state.commands or ()] == ["recall"]
    assert session.prompt("recall").wait(PATIENCE, check=False).text == "s1 knows tulips"
    assert [turn.text for turn in session.turns] == ["noted tulips", "s1 knows tulips"]


def test_restart_cancels_the_turn_and_runs_the_queue(kernel: Kernel) -> None:
    """The user stopped the misbehaving agent, so the turn is cancelled, not failed."""
    kernel.wait_less(stop=SOON)
    session = kernel.start("deaf")
    turn = session.prompt("first")
    next(iter(turn))
    waiting = session.prompt("second")
    stopped = session.health().pid
    session.restart()
    assert (turn.state, turn.text) == ("cancelled", "hm")
    assert next(iter(waiting)) == "hm"
    assert (waiting.state, session.health().pid != stopped) == ("running", True)


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_agent_that_cannot_load_a_session_gets_a_new_one(
    kernel: Kernel, impatient: dict[str, Any], agentnb_events: Events, how: str
) -> None:
    """Two attempts fail; then a new session is better than none."""
    session = kernel.start("fails", how, "session/load", spec=impatient)
    kernel.restart_soon(tries=1)
    session.open(PATIENCE)
    for _ in range(2):
        with pytest.raises(AgentError):
            session.restart(PATIENCE)
    session.restart(PATIENCE)
    assert [event.data["how"] for event in agentnb_events.of("session.ready")] == ["new", "new"]
    assert process_state(session) == "running"


def test_unused_warm_agent_is_stopped(kernel: Kernel) -> None:
    psutil.Process(kernel.warm("echo", seconds=0.05)).wait(PATIENCE)
