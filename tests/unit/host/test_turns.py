"""Turns on the host: an agent that does not stop, and one that answers a cancelled prompt late."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent.catalog import custom, find
from agentnb.clock import now_ms
from agentnb.host import Host
from agentnb.policy.keys import Mode
from agentnb.state.change import milliseconds
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import SOON


@pytest.fixture
def host() -> Iterator[Host]:
    """A new host, closed afterwards with its agents."""
    host = Host()
    yield host
    host.close()


def open_session(host: Host, script: str, cwd: Path, mode: Mode = "ask") -> Session:
    spec = custom([sys.executable, str(AGENTS / f"{script}.py")])
    return Session(host.loop.call(lambda: host.open(spec, cwd=cwd, mode=mode)))


def test_agent_that_never_stops_is_replaced_at_next_prompt(host: Host, tmp_path: Path) -> None:
    """Its process is ended after a delay; the waiting turn runs in a new one and says so."""
    host.agents.stop_patience = SOON
    session = open_session(host, "deaf", tmp_path)
    host.loop.call(host.find, session.chat.resource).turns.cancel_grace = 0.2
    first = session.prompt("hello")
    next(iter(first))
    first.cancel()
    second = session.prompt("again")
    text = next(iter(second))
    assert second.snapshot is not None
    notice = second.snapshot.response_parts[0]
    assert (first.state, text, second.state) == ("cancelled", "hm", "running")
    assert "was given the conversation so far" in str(getattr(notice, "content", ""))


@pytest.mark.parametrize("prompt", ["/say x", "/crash", "/hang"])
def test_turn_records_when_it_began_and_ended(host: Host, tmp_path: Path, prompt: str) -> None:
    """By the kernel's clock, for answered, failed and stopped turns; a running turn has no end."""
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path)))
    before = now_ms()
    turn = session.prompt(prompt)
    if prompt == "/hang":
        next(iter(turn))
        running = session.chat.active_turn
        assert running is not None
        assert before <= milliseconds(running.started_at or "") <= now_ms()
        turn.cancel()
    turn.wait(PATIENCE, check=False)
    ended = session.chat.turns[-1]
    began = milliseconds(ended.started_at or "")
    assert before <= began <= began + (ended.duration or 0) <= now_ms()
