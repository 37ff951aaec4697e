"""The Unix socket on which one tab's MCP server listens; an agent's bridge (:mod:`agentnb.kernel.bridge`) connects."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.guard import GUARD
from agentnb.errors import NotOffered
from agentnb.kernel.bridge import SOCKET, TOKEN
from agentnb.kernel.local_server import LONGEST_LINE, LocalServer
from agentnb.kernel.server import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.server import ToolMcpServer

GREETING_SECONDS = 10.0
"""How long a new connection may take to send the token."""


class SocketServer(LocalServer):
    """Listens for bridges, once it is started (:meth:`started`)."""

    def __init__(self, server: Callable[[], ToolMcpServer]) -> None:
        super().__init__(server)
        self._folder: Path | None = None

    @classmethod
    async def started(cls, server: Callable[[], ToolMcpServer], within: Path | None = None) -> SocketServer:
        """A server that listens."""
        listening = cls(server)
        if not hasattr(socket, "AF_UNIX") or not hasattr(asyncio, "start_unix_server"):
            raise NotOffered(
                "This system has no Unix sockets.", hint="Kernel tools need an agent that supports MCP over ACP."
            )
        try:
            listening._folder = Path(tempfile.mkdtemp(prefix="agentnb-", dir=within))  # 0700
            GUARD.sweep(listening._folder)
            listening.listening = await asyncio.start_unix_server(
                listening.accept, str(listening._path), limit=LONGEST_LINE
            )
            listening._path.chmod(0o600)
        except OSError as error:
            listening.close()
            raise NotOffered(
                f"No socket could be made: {error}.",
                hint="Set TMPDIR to a writable folder with a short path (under 90 characters).",
            ) from None
        return listening

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that a bridge needs to connect."""
        return {SOCKET: str(self._path), TOKEN: self.token}

    @property
    def address(self) -> tuple[str, str]:
        """The socket's path, and the token that a connection sends first."""
        return str(self._path), self.token

    def close(self, linger: float = 0.0) -> None:
        """Stop listening, end all connections and remove the socket's folder."""
        super().close(linger)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            GUARD.sweep_no_more(self._folder)

    @property
    def _path(self) -> Path:
        if self._folder is None:
            raise RuntimeError("the server is not started")
        return self._folder / "kernel"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a bridge that sends the token."""
        if not is_of_this_user(writer.get_extra_info("socket")):
            return
        token = await asyncio.wait_for(reader.readline(), GREETING_SECONDS)
        if not self.is_secret(token.strip().decode("latin-1"), self.token):
            return
        server, task = self.make_server(), asyncio.current_task()
        connection = connect(server, writer.write, LONGEST_LINE)
        if task is not None:
            server.opened(connection, task.cancel)
        try:
            await connection.read(reader, writer.drain)
        finally:
            connection.close()
            server.closed()


def is_of_this_user(connection: socket.socket) -> bool:
    """True if the process at the other end of a Unix socket is this user's; True where the system does not say."""
    try:
        if hasattr(socket, "SO_PEERCRED"):  # Linux: struct ucred
            _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        elif sys.platform == "darwin":  # struct xucred, by LOCAL_PEERCRED of SOL_LOCAL; never run on macOS
            _, user = struct.unpack_from("2I", connection.getsockopt(0, 1, 76))
        else:
            return True
    except (OSError, struct.error):
        return False
    return bool(user == os.getuid())
