"""Starts a program repeatedly, kills its subreaper at once, and prints how many starts failed."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from agentnb.agent.child import Child

STARTS = 20


def children() -> set[int]:
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()))


async def start() -> None:
    """Starts a program and kills its subreaper before it reports the program's process id."""
    before = children()
    starting = asyncio.ensure_future(
        Child.spawn(
            ["sleep", "60"], cwd=Path.cwd(), env=dict(os.environ), on_output=lambda *_: None, on_end=lambda: None
        )
    )
    while not (started := children() - before):  # noqa: ASYNC110 - no system tells when a process starts
        await asyncio.sleep(0)
    for pid in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await starting


async def main() -> None:
    ends = [await asyncio.gather(start(), return_exceptions=True) for _ in range(STARTS)]
    sys.stdout.write(f"{sum(isinstance(end, OSError) for [end] in ends)} failed\n")


asyncio.run(main())
