"""Ends everything that a program has started: its process group, what its subreaper knows, what carries its mark."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.agent.guard import GUARD
from agentnb.agent.watchdog import ROUNDS, STEP, group_alive, marked, signal_group, signal_marked

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.subreaper_link import SubreaperLink

T = TypeVar("T")

PROMPTLY = 0.05
"""Seconds in which the subreaper of a program that has ended, and has left nothing behind, ends as well."""


class GroupEnd:
    """The end of one program and of everything that it has started; on POSIX systems."""

    def __init__(self, pid: int, mark: str, link: SubreaperLink, is_over: Callable[[], bool]) -> None:
        self._pid = pid
        self._mark = mark
        self._link = link
        self._is_over = is_over

    async def end(self) -> None:
        """End it: terminate, then kill, each for a bounded time."""
        if self._is_over():  # left by itself: with nothing below it, the subreaper ends, too
            await self._link.wait_ended(PROMPTLY)
        if await self._left():
            await self._end_left()
        GUARD.discard(self._pid)

    async def _end_left(self) -> None:
        signal_group(self._pid, signal.SIGTERM)
        self._link.send(b"t")
        await _aside(signal_marked, self._mark, signal.SIGTERM)
        await self._until_gone(0.7)
        self._link.send(b"k")  # first: it still knows what it started
        await self._link.wait_ended(2.0)
        if await self._left():
            signal_group(self._pid, signal.SIGKILL)
        for _ in range(ROUNDS):  # some fork while they are killed
            if not await _aside(signal_marked, self._mark, signal.SIGKILL):
                break
            await asyncio.sleep(STEP)
        await self._until_gone(1.0)

    async def _until_gone(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while loop.time() < deadline and await self._left():  # noqa: ASYNC110 - as in _left
            await asyncio.sleep(STEP)

    async def _left(self) -> bool:
        """True if anything of it still runs: no system tells when a group ends, so one has to look."""
        if not self._is_over() or self._link.runs:
            return True
        return await _aside(lambda: group_alive(self._pid) or bool(marked(self._mark)))


async def _aside(function: Callable[..., T], *args: Any) -> T:
    """Returns what *function* returns, run on another thread."""
    try:
        return await asyncio.to_thread(function, *args)
    except RuntimeError:
        return function(*args)
