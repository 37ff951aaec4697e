"""A relay of TCP connections that a test can cut: the network between two kernels."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

from agentnb.host.loop import HostLoop

BYTES = 65_536


class Relay:
    """Forwards bytes to a server, until it is cut."""

    def __init__(self, loop: HostLoop) -> None:
        self._loop = loop
        self._target = ("127.0.0.1", 0)
        self._is_open = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = loop.submit(asyncio.start_server(self._pass_on, "127.0.0.1", 0)).result(10)
        self.place = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def lead_to(self, address: str) -> None:
        """Forwards connections to the server at *address*."""
        parts = urlsplit(address)
        self._target = (parts.hostname or "", parts.port or 0)

    def cut(self) -> None:
        """Ends all connections and refuses new ones until :meth:`mend`."""
        self._loop.call(self._cut)

    def _cut(self) -> None:
        self._is_open = False
        for writer in tuple(self._writers):
            writer.transport.abort()

    def mend(self) -> None:
        """Accepts connections again."""
        self._is_open = True

    def close(self) -> None:
        self.cut()
        self._loop.call(self._server.close)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._is_open:
            writer.transport.abort()
            return
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection(*self._target)
            self._writers |= {writer, back}
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        self._writers.discard(writer)
        writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(BYTES):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
