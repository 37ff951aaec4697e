"""Waiting until a page connects."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from agentnb.host import Host
from agentnb.server.comm import frontend as frontend_module
from agentnb.server.comm.frontend import Frontend
from tests.unit.interleaving import Step, every_step, interrupted_at
from tests.unit.running import run
from tests.unit.server.message_cases import CLIENT

HELLO = {"protocolVersions": [3], "visible": True}
LONG = 120.0


def arrive(host: Host, frontend: Frontend) -> None:
    """Sends a page's hello; waits until the host has taken it, or the host's thread waits for this one."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "v": 3, "clientId": CLIENT, "id": 1, "method": "initialize"}
    content = {"data": {"method": "custom", "content": {**message, "params": HELLO}}}
    frontend.model.comm.handle_msg({"content": content, "buffers": []})
    taken = threading.Event()
    host.loop.post(taken.set)
    taken.wait(0.3)


def test_waiter_wakes_whenever_the_page_arrives() -> None:
    """The page may arrive between any two steps of the wait; no waiter may miss it."""

    def at(number: int) -> Step:
        host = Host()
        frontend = Frontend(host)

        async def wait() -> tuple[Step, bool]:
            with interrupted_at(number, [frontend_module], lambda: arrive(host, frontend)) as step:
                waiting = asyncio.ensure_future(frontend.wait_attached(LONG))
                await asyncio.sleep(0)  # it runs until it waits
            if not step.reached:
                arrive(host, frontend)
            return step, await asyncio.wait_for(waiting, LONG / 4)

        try:
            step, there = run(wait())
            assert there
            return step
        finally:
            frontend.model.close()
            host.close()

    every_step(at)
