"""A connection to the socket of a paired kernel, from the program that a terminal agent starts (``agentnb mcp``)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.errors import AgentnbError
from agentnb.rpc import MCP_CLIENT, Connection

if TYPE_CHECKING:
    from collections.abc import Callable

ENDED = "notifications/agentnb/ended"
"""A kernel sends this before it ends a connection; ``reason`` says why.

The program then closes the connection. If the kernel closed it, a write of the program's would lose what it has not
read yet.
"""
LINGER_SECONDS = 2.0
"""How long the program may take for that."""
KERNEL_GONE = "The kernel has ended or was restarted."
PAIR_AGAIN = (
    "Ask the user to pair it again (`%agents pair` in a cell); then call `paired_notebooks` to see what there is."
)
_LONGEST_LINE = 16 * 1024 * 1024


class KernelGone(AgentnbError):
    """The connection has ended."""


class PairedConnection:
    """One connection; made by :meth:`opened`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.on_notification: Callable[[str, dict[str, Any]], object] = lambda _method, _params: None
        self.ended: KernelGone | None = None
        """Why the connection has ended; None while it is open."""
        self._writer = writer
        self._connection = Connection(
            writer.write,
            MCP_CLIENT,
            on_notifications=self._notified,
            on_invalid=lambda error: self._end(f"The kernel's answer could not be read: {error}."),
            longest=_LONGEST_LINE,
        )
        self._reading = asyncio.ensure_future(self._read(reader))

    @classmethod
    async def opened(cls, path: str, token: str) -> PairedConnection:
        """Connect to the socket at *path* with its *token*."""
        reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)
        writer.write(token.encode() + b"\n")
        return cls(reader, writer)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the kernel; where this is cancelled, the kernel is told so."""
        return mapping(await self._connection.request(method, params))

    async def close(self) -> None:
        """End the connection; what is still asked fails."""
        self._end(KERNEL_GONE)
        self._reading.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            await self._connection.read(reader)
        except OSError:
            pass  # it is gone, whatever the system calls that
        finally:
            self._end(KERNEL_GONE)
            self._writer.close()

    def _notified(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            if method == ENDED:
                self._end(str(mapping(params).get("reason")))
            else:
                self.on_notification(method, mapping(params))

    def _end(self, reason: str) -> None:
        if self.ended is None:
            self.ended = KernelGone(reason, hint=PAIR_AGAIN)
            self._connection.close(self.ended)
