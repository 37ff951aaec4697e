"""The inside: moments between a page that comes, a waiting cell, other threads, and a blocked kernel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from agentnb.host import Host
from agentnb.server.comm import frontend as frontend_module
from agentnb.server.comm.frontend import ASK_SECONDS, BlockedTime, Frontend
from tests.unit.forked import run_script
from tests.unit.interleaving import Step, every_step, interrupted_at
from tests.unit.running import run
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.message_cases import CLIENT

LONG = 120.0


def arrive(host: Host, frontend: Frontend) -> None:
    """Sends a page's hello; waits until the host has taken it, or the host's thread waits for this one."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "v": 3, "clientId": CLIENT, "id": 1, "method": "initialize"}
    hello = {"protocolVersions": [3], "visible": True}
    content = {"data": {"method": "custom", "content": {**message, "params": hello}}}
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


ASKING = """
import sys, threading
from agentnb.server.comm.frontend import current_frontend

sys.setswitchinterval(1e-6)
together, got = threading.Barrier(16), []

def ask():
    together.wait()
    got.append(current_frontend())

threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(got), len({id(each) for each in got}))
"""


def test_concurrent_threads_share_one_front_end() -> None:
    """Cells and the sidebar's second shell ask at once; a second front end would have a model that no page knows."""
    done = run_script(ASKING)
    assert (done.stdout.split(), done.stderr) == (["16", "1"], "")


class Kept(ManualLoop):
    """Runs posted functions at once."""

    def post(self, function: Callable[..., object], *args: object) -> None:
        function(*args)


def test_blocked_time_counts_while_the_loop_does_not_run() -> None:
    """The blocked time runs from the probe to its answer; a prompt answer, or no loop at all, means none."""
    clock, seen = Kept(), []
    blocked = BlockedTime(clock)
    blocked.record_message()  # without a loop
    clock.advance(100_000)
    seen.append(blocked.blocked_seconds())

    async def block() -> None:
        blocked.record_message()
        await asyncio.sleep(0)
        seen.append(blocked.blocked_seconds())
        clock.advance(round(ASK_SECONDS * 1000))  # sends the probe while this test blocks the loop
        clock.advance(300_000)
        seen.append(blocked.blocked_seconds())
        await asyncio.sleep(0)
        clock.advance(5_000)
        seen.append(blocked.blocked_seconds())

    run(block())
    assert seen == [0.0, 0.0, 300.0, 300.0]


def test_blocked_time_ignores_a_closed_loop_and_uses_the_next() -> None:
    """A subshell's loop closes when the subshell ends."""
    clock = Kept()
    blocked = BlockedTime(clock)

    async def speak() -> None:
        blocked.record_message()

    run(speak())
    clock.advance(100_000)
    closed = blocked.blocked_seconds()

    async def speak_and_block() -> float:
        blocked.record_message()
        await asyncio.sleep(0)
        clock.advance(round(ASK_SECONDS * 1000))
        clock.advance(7_000)
        return blocked.blocked_seconds()

    assert (closed, run(speak_and_block())) == (0.0, 7.0)
