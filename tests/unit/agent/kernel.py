"""A stand-in for a kernel: starts the named scripted agents, prints their ids, and waits to be killed."""

import asyncio
import json
import os
import sys
from pathlib import Path

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest
from agentnb.agent.guard import GUARD
from tests.unit.acp.recording_listener import RecordingListener, Talk, scripted


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main() -> None:
    """Starts the agents, reports them, waits."""
    pids = []
    for name in sys.argv[2:]:
        agent = await Agent.launch(scripted(name), cwd=Path.cwd())
        pids.append(agent.pid)
        if name.startswith("leaves"):
            listener = RecordingListener()
            new = await agent.open_session(OpenRequest(cwd=str(Path.cwd())), listener)
            await Talk(agent, new.session_id, listener).prompt()
            pids += map(int, listener.text.split())
    say(json.dumps({"agents": pids, "watchdog": GUARD.watchdog}))
    if sys.argv[1] == "fork" and os.fork() == 0:
        say("forked")
    if sys.argv[1] != "exit":
        await asyncio.Event().wait()


asyncio.run(main())
