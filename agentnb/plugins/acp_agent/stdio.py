"""An agent as a program: ACP over stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO

from agentnb.plugins.acp_agent.agent import taking
from agentnb.plugins.acp_agent.client import AcpClient
from agentnb.plugins.acp_agent.content import SessionParams

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, StreamReader
    from collections.abc import Callable

    from agentnb.plugins.acp_agent.agent import AcpAgent
    from agentnb.plugins.acp_agent.client import ClientOutput


def serve(name: str, make: Callable[[AcpClient], AcpAgent[Any]]) -> None:
    """Serve one client until it closes stdin."""
    for stream in (sys.stdin, sys.stdout):
        _check(stream)
    asyncio.run(_serve(name, make))


async def _serve(name: str, make: Callable[[AcpClient], AcpAgent[Any]]) -> None:
    reader, writer = await _streams()
    client = AcpClient(name, writer)
    agent = make(client)
    with contextlib.redirect_stdout(sys.stderr):  # printed text must not reach the protocol stream
        await client.serve(reader, agent.methods, {"session/cancel": taking(SessionParams, agent.cancel)})


def _check(stream: TextIO) -> None:
    """Refuse a stream that the event loop cannot wait for: it would hang or print a traceback."""
    mode = os.fstat(stream.fileno()).st_mode
    if sys.platform != "win32" and not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()):
        raise OSError(f"{stream.name.strip('<>')} is not a pipe")


async def _streams() -> tuple[StreamReader, ClientOutput]:
    """Returns stdin and stdout, set up so that neither blocks the event loop."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    if sys.platform == "win32":  # its event loop cannot wait for such a pipe
        threading.Thread(target=_feed, args=(loop, reader), daemon=True).start()
        return reader, _BlockingWriter()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sys.stdout
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


def _feed(loop: AbstractEventLoop, reader: StreamReader) -> None:
    while data := os.read(0, 2**16):
        loop.call_soon_threadsafe(reader.feed_data, data)
    loop.call_soon_threadsafe(reader.feed_eof)


class _BlockingWriter:
    """Stdout where asyncio cannot write to it: each write blocks the loop."""

    def __init__(self) -> None:
        self._stdout = sys.stdout.buffer
        self._gone = False

    def write(self, data: bytes) -> None:
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except OSError:
            self._gone = True

    async def drain(self) -> None:
        """Nothing is left to write."""

    def is_closing(self) -> bool:
        """True if nobody reads any more."""
        return self._gone
