"""A connection to an agent over WebSocket: a text frame for each message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedOK

from agentnb.plugins.remote.failure import LONGEST, OPEN_SECONDS

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

    from websockets.asyncio.client import ClientConnection

PING_SECONDS = 20.0


class _Connect(connect):
    """Follows no redirect: it would take the token elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketLink:
    """See :class:`agentnb.plugins.remote.bridge.Link`."""

    def __init__(self, url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, *, is_here: bool) -> None:
        self._connect = _Connect(
            url,
            additional_headers=headers,
            ssl=context,
            proxy=None if is_here else True,
            max_size=LONGEST,
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=1.0,
        )
        self._socket: ClientConnection | None = None

    async def open(self) -> None:
        """Connect."""
        self._socket = await self._connect

    async def send(self, message: bytes) -> None:
        """Send one message."""
        if self._socket is not None:
            await self._socket.send(message, text=True)

    async def messages(self) -> AsyncIterator[bytes]:
        """What comes, until the other side ends the connection. Binary frames are none of the protocol's."""
        try:
            while self._socket is not None:
                message = await self._socket.recv()
                if isinstance(message, str):
                    yield message.encode()
        except ConnectionClosedOK:
            return

    async def close(self) -> None:
        """Disconnect."""
        if self._socket is not None:
            await self._socket.close()
