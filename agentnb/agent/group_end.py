"""Ends everything that a program started: its process group, what its subreaper knows, what carries its mark."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.agent.guard import GUARD
from agentnb.agent.watchdog import ROUNDS, STEP, group_alive, marked, signal_group, signal_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class SubreaperLink:
    """Hears from the subreaper that the program runs, fails to start or has ended; tells the subreaper what to end."""

    def __init__(self, on_began: Callable[[int], None], on_end: Callable[[int], None]) -> None:
        self._on_began = on_began
        self._on_end = on_end
        self._socket: socket.socket | None = None
        self._started: asyncio.Future[int] | None = None
        self.ended: asyncio.Event = asyncio.Event()
        """Set when the subreaper has ended."""
        self.runs: bool = False
        self._pending = b""

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Open the link; yields the descriptor of the subreaper's end, which is closed at the end of the block."""
        loop = asyncio.get_running_loop()
        self._started = loop.create_future()
        self._socket, other = socket.socketpair()
        self._socket.setblocking(False)
        loop.add_reader(self._socket.fileno(), self._read)
        with other:
            yield other.fileno()

    async def started(self) -> int:
        """Wait until the program runs; returns 0, or the error number."""
        return 0 if self._started is None else await self._started

    def send(self, word: bytes) -> None:
        """Tell the subreaper to terminate (``t``) or kill (``k``) everything below it."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.send(word)

    def close(self) -> None:
        """Close the socket; a subreaper that still runs then ends everything below it, and itself."""
        link, self._socket = self._socket, None
        if link is not None:
            asyncio.get_running_loop().remove_reader(link.fileno())
            link.close()

    def give_up(self) -> None:
        """Give up the start: nobody waits for it any more."""
        if self._started is not None and not self._started.cancel() and not self._started.cancelled():
            self._started.exception()

    async def wait_ended(self, seconds: float) -> None:
        """Wait for the subreaper's end, no longer than *seconds*."""
        if self.runs:
            await until_set(self.ended, seconds)

    def record_end(self) -> None:
        """Note that the subreaper has ended, and read its last message."""
        self.runs = False
        self.ended.set()
        self._read()
        if self._started is not None and not self._started.done():
            self._started.set_exception(OSError("the program that starts it was killed"))

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = self._socket.recv(4096) if self._socket is not None else b""
        if not data:
            self.close()
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            word, _, value = line.decode().partition(" ")
            if word == "pid":
                self._on_began(int(value))
            if word == "status":
                self._on_end(int(value))
            elif self._started is not None and not self._started.done():
                self._started.set_result(int(value) if word == "error" else 0)


async def until_set(event: asyncio.Event, seconds: float) -> None:
    """Wait for *event*, no longer than *seconds*."""
    if seconds > 0:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)


T = TypeVar("T")

PROMPTLY = 0.05
"""Seconds within which the subreaper ends once its program has ended and left nothing behind."""


class GroupEnd:
    """Ends one program and everything that it has started, on POSIX systems."""

    def __init__(self, pid: int, mark: str, link: SubreaperLink, is_over: Callable[[], bool]) -> None:
        self._pid = pid
        self._mark = mark
        self._link = link
        self._is_over = is_over

    async def end(self) -> None:
        """End the group: terminate, then kill, each for a bounded time."""
        if self._is_over():  # it exited by itself: without child processes, the subreaper ends, too
            await self._link.wait_ended(PROMPTLY)
        if await self._left():
            await self._end_left()
        GUARD.discard(self._pid)

    async def _end_left(self) -> None:
        signal_group(self._pid, signal.SIGTERM)
        self._link.send(b"t")
        await _aside(signal_marked, self._mark, signal.SIGTERM)
        await self._until_gone(0.7)
        self._link.send(b"k")  # the subreaper first: it still knows its child processes
        await self._link.wait_ended(2.0)
        if await self._left():
            signal_group(self._pid, signal.SIGKILL)
        for _ in range(ROUNDS):  # some processes fork while they are killed
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
        """True if any of its processes still runs; it has to look, as no system reports the end of a group."""
        if not self._is_over() or self._link.runs:
            return True
        return await _aside(lambda: group_alive(self._pid) or bool(marked(self._mark)))


async def _aside(function: Callable[..., T], *args: Any) -> T:
    """Run *function* on another thread and return its result."""
    try:
        return await asyncio.to_thread(function, *args)
    except RuntimeError:
        return function(*args)
