"""Clicks on ipykernel 6 while a cell awaits.

ipykernel 6 handles one shell message at a time, so a comm message waits until the cell that awaits has ended.
The pump takes messages off the kernel's queue, handles all but requests to run code, and puts those back in their
order. They stay ordinary queued requests: when the cell fails, ipykernel aborts them as always. (jupyter-ui-poll keeps
them itself and runs them afterwards even then, and polls, where this waits.)
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def pumping(kernel: Any) -> AsyncIterator[None]:
    """Handle the kernel's messages while the body awaits; nothing to do on ipykernel 7, which does that itself."""
    if not _is_serial(kernel):
        yield
        return
    stop = asyncio.Event()
    task = asyncio.ensure_future(_Pump(kernel).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


def _is_serial(kernel: Any) -> bool:
    return all(hasattr(kernel, name) for name in ("msg_queue", "dispatch_shell", "session", "set_parent"))


class _Pump:
    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._held: list[Any] = []
        self._parent = kernel.get_parent("shell")
        self._ident = kernel._parent_ident["shell"]  # noqa: SLF001 - no public way to it

    async def run(self, stop: asyncio.Event) -> None:
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while not stopped.done():
                await self._next(stopped)
        finally:
            stopped.cancel()
            self._give_back()

    async def _next(self, stopped: asyncio.Future[Any]) -> None:
        arrival = asyncio.ensure_future(self._kernel.msg_queue.get())
        await asyncio.wait({arrival, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not arrival.done():
            arrival.cancel()
        else:
            await self._take(arrival.result())

    async def _take(self, queued: Any) -> None:
        _, dispatch, arguments = queued
        if dispatch != self._kernel.dispatch_shell or self._kind(arguments[0]) == "execute_request":
            self._held.append(queued)
            return
        try:
            await dispatch(*arguments)
        finally:
            # What the cell prints from here on is the cell's again, and the kernel is still busy with it.
            self._kernel.set_parent(self._ident, self._parent, channel="shell")
            self._kernel._publish_status("busy", "shell", parent=self._parent)  # noqa: SLF001

    def _kind(self, frames: list[Any]) -> str:
        """A message's type, without using up its signature."""
        session = self._kernel.session
        _, rest = session.feed_identities(frames, copy=False)
        return str(session.unpack(rest[1].bytes).get("msg_type"))

    def _give_back(self) -> None:
        queue = self._kernel.msg_queue
        while not queue.empty():
            self._held.append(queue.get_nowait())
        for queued in self._held:
            queue.put_nowait(queued)
