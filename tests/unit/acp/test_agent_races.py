"""The inside: moments of an agent's start, its sessions and its commands that no program outside can choose."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest, SessionOpened
from agentnb.acp.terminals import Terminals
from agentnb.agent.catalog import find
from agentnb.agent.guard import GUARD
from agentnb.errors import AgentError, AgentRefused
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.state import XTerminalData
from tests.unit.acp.recording_listener import RecordingListener, Talk, scripted


async def test_old_session_id_that_another_session_uses_is_refused(tmp_path: Path) -> None:
    """A restarted agent may count its sessions from 1 again: no session may get another's text."""
    agent = await Agent.launch(find("eliza"), cwd=tmp_path)
    try:
        one, former, two = RecordingListener(), RecordingListener(), RecordingListener()
        new = OpenRequest(cwd=str(tmp_path))
        first = await agent.open_session(new, one)
        with pytest.raises(AgentRefused, match="another tab"):
            await agent.open_session(replace(new, way="resume", former=first.session_id), former)
        old, second = await asyncio.gather(
            agent.open_session(replace(new, way="resume", former="sess-2"), former),
            agent.open_session(new, two),
            return_exceptions=True,
        )
        assert isinstance(old, AgentRefused)
        assert isinstance(second, SessionOpened)
        assert second.session_id == "sess-2"
        for session, listener in ((first, one), (second, two)):
            await Talk(agent, session.session_id, listener).prompt(f"/say {session.session_id}")
            assert listener.text == session.session_id
        assert former.heard == []
    finally:
        await agent.stop()


async def test_session_that_opens_too_late_is_closed(tmp_path: Path) -> None:
    """The agent gets `$/cancel_request`; the session that it still opens is closed and ignored."""
    spec = scripted("keeps")
    spec = type(spec)(name="keeps", title="keeps", command=(*spec.command, "late", "close"))
    agent = await Agent.launch(spec, cwd=tmp_path)
    try:
        listener = RecordingListener()
        with pytest.raises(AgentError, match=r"did not answer session/new within 0\.1 s"):
            await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener, timeout=0.1)
        new = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
        await Talk(agent, new.session_id, listener).prompt("tell")
        requests = [json.loads(line) for line in listener.text.splitlines()]
        methods = [each["method"] for each in requests]
        opening = ["initialize", "session/new", "$/cancel_request", "session/new"]
        assert methods == [*opening, "session/close", "session/prompt"]
        assert next(each for each in requests if each["method"] == "session/close")["params"] == {
            "sessionId": "too-late"
        }
    finally:
        await agent.stop(patience=0.5)


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 30])
async def test_cancelled_launch_leaves_no_process_and_no_task(tmp_path: Path, turns: int) -> None:
    """At any moment: while the process starts, or during `initialize`."""
    before, guarded = asyncio.all_tasks(), GUARD.groups
    launch = asyncio.ensure_future(Agent.launch(scripted("silent"), cwd=tmp_path))
    for _ in range(turns):
        await asyncio.sleep(0)
    launch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await launch
    assert asyncio.all_tasks() == before
    assert guarded == GUARD.groups


MEGABYTE = 1024 * 1024


async def test_endless_output_does_not_starve_the_loop(tmp_path: Path) -> None:
    """Output is read no faster than it is shown: each piece is less than a burst plus one read."""
    listener = RecordingListener()
    terminals = Terminals(WorkspaceBoundary(tmp_path), listener)
    await terminals.create({"command": "yes", "outputByteLimit": 1000})
    most = seen = taken = 0
    while seen < MEGABYTE:
        await asyncio.sleep(0)
        new = sum(len(each.data) for each in listener.terminals[taken:] if isinstance(each, XTerminalData))
        most, seen, taken = max(most, new), seen + new, len(listener.terminals)
    await terminals.close()
    assert most < MEGABYTE // 2, most
