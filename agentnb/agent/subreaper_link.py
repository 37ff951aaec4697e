"""The socket to the subreaper of a program (:mod:`agentnb.agent.subreaper`)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class SubreaperLink:
    """Hears that the program runs, why it does not, or how it ended; tells the subreaper what to end."""

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
        """Open it; gives the descriptor of the subreaper's end, which is closed here at the end of the block."""
        loop = asyncio.get_running_loop()
        self._started = loop.create_future()
        self._socket, other = socket.socketpair()
        self._socket.setblocking(False)
        loop.add_reader(self._socket.fileno(), self._read)
        with other:
            yield other.fileno()

    async def started(self) -> int:
        """Wait until the program runs; gives 0, or the number of the error."""
        return 0 if self._started is None else await self._started

    def send(self, word: bytes) -> None:
        """Tell the subreaper to terminate (``t``) or kill (``k``) what is below it."""
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
        """Nobody waits for the start any more."""
        if self._started is not None and not self._started.cancel() and not self._started.cancelled():
            self._started.exception()

    async def wait_ended(self, seconds: float) -> None:
        """Wait for the subreaper's end, no longer than *seconds*."""
        if self.runs:
            await until_set(self.ended, seconds)

    def record_end(self) -> None:
        """The subreaper has ended: read its last words."""
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
