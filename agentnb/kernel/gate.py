"""The gate: a Unix socket at which one tab's bridges come in.

It lies in a folder of its own that nobody else may enter, and who comes in says a random word first. The folder is
removed when the gate is closed; where the kernel is killed, by the watchdog (:mod:`agentnb.agent.guard`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import shutil
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.guard import GUARD
from agentnb.errors import NotOffered
from agentnb.kernel.bridge import SOCKET, TOKEN
from agentnb.kernel.rpc import Talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.server import McpServer

LONGEST_LINE = 16 * 1024 * 1024
GREETING_SECONDS = 10.0
"""How long who comes in may take to say the word."""


class Gate:
    """A gate, once it is open (:meth:`opened`). On the host's loop.

    Args:
        server: Makes the server for a bridge that comes in.
    """

    def __init__(self, server: Callable[[], McpServer]) -> None:
        self._make = server
        self._token = secrets.token_urlsafe(32)
        self._folder: Path | None = None
        self._listening: asyncio.AbstractServer | None = None
        self._inside: set[asyncio.Task[None]] = set()

    @classmethod
    async def opened(cls, server: Callable[[], McpServer], within: Path | None = None) -> Gate:
        """A gate that is open.

        Args:
            server: Makes the server of a connection.
            within: Where its folder is made; the system's place for temporary files by default.

        Raises:
            NotOffered: Where the system has no Unix sockets, or no room for one.
        """
        gate = cls(server)
        if not hasattr(socket, "AF_UNIX") or not hasattr(asyncio, "start_unix_server"):
            raise NotOffered(
                "This system has no Unix sockets.", hint="Kernel tools need an agent that does MCP over ACP."
            )
        try:
            gate._folder = Path(tempfile.mkdtemp(prefix="agentnb-", dir=within))  # 0700
            GUARD.sweep(gate._folder)
            gate._listening = await asyncio.start_unix_server(gate._come_in, str(gate._path), limit=LONGEST_LINE)
        except OSError as error:
            gate.close()
            raise NotOffered(
                f"No socket could be made: {error}.", hint="Is TMPDIR writable, and its path short?"
            ) from None
        return gate

    @property
    def environment(self) -> dict[str, str]:
        """What a bridge has to know."""
        return {SOCKET: str(self._path), TOKEN: self._token}

    def close(self) -> None:
        """Let nobody in any more, send away who is inside, and leave nothing behind."""
        if self._listening is not None:
            self._listening.close()
        for task in [*self._inside]:
            task.cancel()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            GUARD.sweep_no_more(self._folder)

    @property
    def _path(self) -> Path:
        if self._folder is None:
            raise RuntimeError("the gate is not open")
        return self._folder / "kernel"

    async def _come_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._inside.add(task)
            task.add_done_callback(self._inside.discard)
        with contextlib.suppress(OSError, ValueError, asyncio.TimeoutError, asyncio.CancelledError):
            try:
                word = await asyncio.wait_for(reader.readline(), GREETING_SECONDS)
                if hmac.compare_digest(word.strip(), self._token.encode()):
                    await self._serve(reader, writer)
            finally:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = Talk(self._make(), writer.write)
        try:
            while line := await reader.readline():
                talk.heard(line)
                await writer.drain()
        finally:
            talk.close()
