"""The agent's process: shared, warmed, restarted with growing delays, and its session resumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentnb import Session
from agentnb.agent.catalog import custom
from agentnb.errors import AgentError
from agentnb.host import Host
from agentnb.host.agents.agent_pool import AgentPool, Backoff
from agentnb.state import SystemNotificationResponsePart
from agentnb.testing import Events
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import SOON, Open, configuration, hosted, until

SPAWNED = ("agent.spawned", "agent.initialized")
RESTART_NOTICE = "restarted and was given the conversation so far"


def process_state(session: Session) -> str:
    process = session.state.agent_process
    return process.state if process is not None else ""


def notices(session: Session) -> str:
    """Returns the system notifications of the last turn."""
    snapshot = session.turns[-1].snapshot
    parts = snapshot.response_parts if snapshot is not None else ()
    return " ".join(str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart))


@pytest.mark.parametrize(
    ("ways", "outcome"), [(["resume"], "resumed"), (["load"], "loaded"), (["load", "resume"], "resumed")]
)
def test_session_is_resumed_after_a_crash_if_the_agent_can(
    open_session: Open, agentnb_events: Events, ways: list[str], outcome: str
) -> None:
    """The chat shows nothing twice and sends no transcript."""
    session = open_session("remembers", *ways)
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.prompt("crash").wait(PATIENCE, check=False)
    turn = session.prompt("recall").wait(PATIENCE, check=False)
    assert turn.text == "s1 knows tulips"
    assert [event.data["how"] for event in agentnb_events.of("session.ready")] == ["new", outcome]
    assert [turn.text for turn in session.turns] == ["noted tulips", "", "s1 knows tulips"]
    assert RESTART_NOTICE not in notices(session)


def test_agent_that_cannot_resume_gets_the_transcript(open_session: Open) -> None:
    """A new session; the next turn begins with a notice."""
    session = open_session("remembers")
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.prompt("crash").wait(PATIENCE, check=False)
    assert session.prompt("recall").wait(PATIENCE, check=False).text == "s2 knows nothing"
    assert RESTART_NOTICE in notices(session)


def test_agent_restarts_after_a_crash_without_a_prompt(host: Host, open_session: Open, agentnb_events: Events) -> None:
    session = open_session("remembers", "resume")
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.prompt("crash").wait(PATIENCE, check=False)
    assert agentnb_events.wait_for("agent.restarted", timeout=PATIENCE).data["deaths"] == 1
    agentnb_events.wait_for("session.ready", session="s1", how="resumed", timeout=PATIENCE)
    until(host, session, lambda: process_state(session) == "running")


def test_crashing_agent_is_not_restarted_after_some_tries(host: Host, open_session: Open, tmp_path: Path) -> None:
    """The delays grow; then only a prompt starts the agent."""
    host.agents.backoff = lambda: Backoff(first=0.01, cap=0.05, tries=3)
    session = open_session("fails", "dies", "session/new")
    history = host.loop.call(host.agents.history, hosted(host, session).configuration)
    for _ in range(2):
        assert session.prompt("go").wait(PATIENCE, check=False).error is not None
    deaths = history.deaths
    assert (deaths, process_state(session)) == (2, "failed")
    assert session.prompt("go").wait(PATIENCE, check=False).error is not None
    assert (history.deaths, history.hopeless, history.seconds) == (3, True, 0.02)


def test_restart_by_the_user_keeps_session_and_transcript(open_session: Open, agentnb_events: Events) -> None:
    """``%agents restart`` and the button do this."""
    session = open_session("remembers", "load")
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.restart()
    names = [event.name for event in agentnb_events.of(category="agent")]
    assert names == [*SPAWNED, "agent.stopped", *SPAWNED, "agent.restarted"]
    assert session.prompt("recall").wait(PATIENCE, check=False).text == "s1 knows tulips"
    assert [turn.text for turn in session.turns] == ["noted tulips", "s1 knows tulips"]


def test_restart_cancels_the_turn_and_runs_the_queue(host: Host, open_session: Open) -> None:
    """The user stopped the misbehaving agent, so the turn is cancelled, not failed."""
    host.agents.stop_patience = SOON
    session = open_session("deaf")
    turn = session.prompt("first")
    next(iter(turn))
    waiting = session.prompt("second")
    stopped = session.health().pid
    session.restart()
    assert (turn.state, turn.text) == ("cancelled", "hm")
    assert next(iter(waiting)) == "hm"
    assert (waiting.state, session.health().pid != stopped) == ("running", True)


@pytest.mark.parametrize(("ways", "outcome"), [(["load", "resume"], "loaded"), (["resume"], "resumed"), ([], "new")])
def test_old_session_reopens_in_an_empty_conversation(
    host: Host, open_session: Open, ways: list[str], outcome: str
) -> None:
    """An agent that can load the session brings back the transcript."""
    first = open_session("remembers", *ways)
    first.prompt("tulips").wait(PATIENCE, check=False)
    first.close()
    second = open_session("remembers", *ways)
    assert host.loop.submit(hosted(host, second).lifecycle.reopen("s1")).result(PATIENCE) == outcome
    turns = [(turn.message.text, second.turns[at].text) for at, turn in enumerate(second.chat.turns)]
    assert turns == ([("tulips", "noted tulips")] if outcome == "loaded" else [])
    second.prompt("recall").wait(PATIENCE, check=False)
    knows = "s2 knows nothing" if outcome == "new" else "s1 knows tulips"
    assert second.turns[-1].text == knows
    assert RESTART_NOTICE not in notices(second)


def test_loaded_session_keeps_its_commands_after_a_restart(open_session: Open) -> None:
    session = open_session("remembers", "load")
    session.prompt("tulips").wait(PATIENCE, check=False)
    session.restart()
    assert [command.name for command in session.state.commands or ()] == ["recall"]


def test_next_session_uses_the_warmed_agent(host: Host, open_session: Open, tmp_path: Path) -> None:
    """The process ends with that session."""
    spec = custom([sys.executable, str(AGENTS / "echo.py")], name="echo")
    warm = host.loop.submit(host.agents.warm(configuration(spec, tmp_path))).result(PATIENCE)
    session = open_session("echo")
    session.prompt("hi").wait(PATIENCE, check=False)
    assert session.health().pid == warm.pid
    process = psutil.Process(warm.pid)
    session.close()
    assert not process.is_running()


def test_unused_warm_agent_is_stopped(host: Host, tmp_path: Path) -> None:
    pool = AgentPool(host.loop, host.environment, warm_seconds=0.05)
    spec = custom([sys.executable, str(AGENTS / "echo.py")], name="echo")
    warm = host.loop.submit(pool.warm(configuration(spec, tmp_path))).result(PATIENCE)
    host.loop.submit(warm.wait_closed()).result(PATIENCE)
    assert warm.closed


def test_notice_names_unsupported_mcp_servers_and_folders(open_session: Open, tmp_path: Path) -> None:
    """A notice names what is left out, without the secrets in an address."""
    from agentnb.agent.mcp import mcp_servers

    servers = mcp_servers({"docs": {"url": "https://x.test/?key=secret"}, "files": {"command": "mcp-files"}})
    session = open_session("echo", mcp_servers=servers, directories=(tmp_path,))
    session.prompt("hi").wait(PATIENCE, check=False)
    assert "cannot reach these MCP servers: docs." in notices(session)
    assert "does not support additional folders" in notices(session)
    assert "secret" not in notices(session)


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_agent_that_cannot_load_a_session_gets_a_new_one(
    host: Host, impatient: dict[str, Any], open_session: Open, agentnb_events: Events, how: str
) -> None:
    """Two attempts fail; then a new session is better than none."""
    session = open_session("fails", how, "session/load", spec=impatient)
    host.agents.backoff = lambda: Backoff(first=0.01, cap=0.01, tries=1)
    session.open(PATIENCE)
    for _ in range(2):
        with pytest.raises(AgentError):
            session.restart(PATIENCE)
    session.restart(PATIENCE)
    assert [event.data["how"] for event in agentnb_events.of("session.ready")] == ["new", "new"]
    assert process_state(session) == "running"


def test_restart_stops_an_agent_that_hangs_at_session_new(
    host: Host, impatient: dict[str, Any], open_session: Open
) -> None:
    session = open_session("fails", "hangs", "session/new", spec=impatient)
    for _ in range(2):
        with pytest.raises(AgentError, match="did not answer session/new"):
            session.restart(PATIENCE)
    assert len(host.agents.running(hosted(host, session).spec)) == 1
