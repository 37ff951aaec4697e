"""Whole turns of real agents that are confined: an edit and a command, as when they are free."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentnb.agent import AgentSpec
from agentnb.agent.confinement import way_here
from agentnb.api.session import Session
from agentnb.host import Host
from tests.peers.test_turns import SECONDS

WAY, WHY = way_here()
pytestmark = [pytest.mark.peers, pytest.mark.skipif(WAY is None, reason=WHY)]


def test_a_confined_agent_does_a_whole_turn(
    host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It edits a file and runs a command in the workspace; health says to what it is confined."""
    if spec.confinement is None:
        pytest.skip(f"the catalogue does not know what {spec.name} needs")
    began = time.monotonic()
    open_ = host.loop.call(lambda: host.open(spec, cwd=workspace, env=environment, mode="allow", network="all"))
    session = Session(open_)
    turn = session.prompt("[[write shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    with capsys.disabled():
        print(f"\n{spec.name}: {time.monotonic() - began:.1f} s, {session.health().confined}")  # noqa: T201
    assert [call.status for call in turn.tool_calls] == ["completed", "completed"]
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
    assert session.health().confined.startswith(f"by {WAY}")
