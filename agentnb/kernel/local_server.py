"""The base of the servers of the kernel tools that listen on this machine: a secret token, and connections that end."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.server import ToolMcpServer

LONGEST_LINE = 16 * 1024 * 1024


class LocalServer:
    """Listens for one agent."""

    def __init__(self, server: Callable[[], ToolMcpServer]) -> None:
        self.make_server = server
        self.token: str = secrets.token_urlsafe(32)
        self.listening: asyncio.AbstractServer | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        raise NotImplementedError

    def is_secret(self, sent: str, secret: str) -> bool:
        """True if *sent* is the secret; in constant time, so that the time of the answer says nothing about it."""
        return hmac.compare_digest(sent.encode("utf-8", "replace"), secret.encode())

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection that was opened (``asyncio.start_server``)."""
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        with contextlib.suppress(OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.CancelledError):
            try:
                await self.serve(reader, writer)
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    def close(self, linger: float = 0.0) -> None:
        """Stop listening and end all connections, after *linger* seconds."""
        if self.listening is not None:
            self.listening.close()
        for task in [*self._connections]:
            if linger:
                task.get_loop().call_later(linger, task.cancel)
            else:
                task.cancel()

    async def wait_closed(self) -> None:
        """Wait until all connections have ended; first :meth:`close`."""
        while self._connections:
            await asyncio.wait([*self._connections])
