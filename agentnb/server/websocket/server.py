"""The WebSocket server: accepts connections, limits how much a client may send, and writes to clients.

Not checked: who uses a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import logging
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from agentnb.clock import now_ms
from agentnb.server.websocket.access import SUBPROTOCOL, ClientGrants, digest, token_of
from agentnb.server.websocket.connection import POLICY_VIOLATION, AhpConnection
from agentnb.server.websocket.feed import Feed, Notice
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from websockets.asyncio.server import Server as WebSocketServer
    from websockets.http11 import Request, Response

    from agentnb.host.host import Host
    from agentnb.server.service import Service
    from agentnb.server.websocket.access import Grant, ServedPage

WRONG_KIND = 1003
"""The WebSocket close code for an unaccepted kind of data (RFC 6455)."""
NOT_SERVED = 4001
"""agentnb's close code for the end of serving: reconnecting is useless."""

_numbers = count(1)
"""Numbers of connections, unique in this process: a number identifies the actions that a client dispatched."""


class ServingLimits(NamedTuple):
    clients: int = 64
    handshakes: int = 128
    client_connections: int = 4
    message_bytes: int = 4 * 1024 * 1024
    messages: int = 400
    messages_per_second: float = 100.0
    bytes: int = 16 * 1024 * 1024
    bytes_per_second: float = 2.0 * 1024 * 1024
    write_seconds: float = 20.0
    ping_seconds: float = 20.0
    entries: int = 5_000


class Budget:
    """The amount that a client may still send (a token bucket)."""

    def __init__(self, most: float, per_second: float, now: float) -> None:
        self._left, self._most, self._per_second, self._then = most, most, per_second, now

    def take(self, amount: float, now: float) -> bool:
        """Take *amount*; returns False if that much is not left."""
        self._left = min(self._most, self._left + (now - self._then) * self._per_second) - amount
        self._then = now
        return self._left >= 0


class ConnectedClient(NamedTuple):
    name: str
    rights: tuple[str, ...]
    client_id: str
    since: int


class _Socket(NamedTuple):
    connection: AhpConnection
    websocket: ServerConnection
    wake: asyncio.Event
    since: int


class WebSocketListener:
    """Accepts clients. On the host's thread."""

    def __init__(
        self,
        host: Host,
        service: Service,
        *,
        hosts: frozenset[str] = frozenset(),
        origins: frozenset[str] = frozenset(),
        limits: ServingLimits | None = None,
        changed: Callable[[Grant, bool], None] = lambda _grant, _came: None,
        page: ServedPage | None = None,
    ) -> None:
        self.grants: ClientGrants = ClientGrants()
        self.limits: ServingLimits = limits or ServingLimits()
        self._host, self._service = host, service
        self._hosts, self._origins = {each.lower() for each in hosts}, {each.lower() for each in origins}
        self._changed = changed
        self._page = page
        self._first: dict[bytes, str] = {}
        self._sockets: dict[AhpConnection, _Socket] = {}
        self._endings: dict[AhpConnection, asyncio.Task[None]] = {}
        self._beginning: set[_Counted] = set()
        self._admitted: set[_Counted] = set()
        self._feed: Feed | None = None
        self._server: WebSocketServer | None = None

    # --- open and close ---

    async def open(self, address: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to listen; returns the port."""
        self._feed = Feed(self._host, self._notice, max_entries=self.limits.entries)
        try:
            self._server = await serve(
                self._serve,
                address,
                port,
                ssl=tls,
                process_request=self._check,
                create_connection=type("_Counted", (_Counted,), {"listener": self}),
                select_subprotocol=lambda _, offered: SUBPROTOCOL if SUBPROTOCOL in offered else None,
                compression=None,
                max_size=self.limits.message_bytes,
                max_queue=4,
                ping_interval=self.limits.ping_seconds,
                ping_timeout=self.limits.ping_seconds,
                open_timeout=10,
                close_timeout=2,
                server_header=None,
                logger=silent_logger(),
            )
        except BaseException:
            self._feed.close()
            raise
        port = int(next(iter(self._server.sockets)).getsockname()[1])
        bracketed = f"[{address}]" if ":" in address else address
        own = {f"{name}:{port}" for name in (bracketed.lower(), "localhost", "127.0.0.1", "[::1]")}
        self._hosts |= own
        if self._page is not None:
            self._origins |= {f"{'http' if tls is None else 'https'}://{each}" for each in own}
        return port

    async def close(self) -> None:
        """End every connection and stop listening."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close(close_connections=False)
        open_sockets = tuple(self._sockets.values())
        for socket in open_sockets:
            self._forget(socket.connection)
        for beginning in tuple(self._beginning):
            beginning.transport.abort()
        why = "This kernel is no longer served."
        await asyncio.gather(*(each.websocket.close(NOT_SERVED, why) for each in open_sockets), return_exceptions=True)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.wait_closed(), 5)
        if self._feed is not None:
            self._feed.close()

    @property
    def clients(self) -> tuple[ConnectedClient, ...]:
        """Returns the clients that are connected and have introduced themselves."""
        return tuple(
            ConnectedClient(client.grant.name, tuple(sorted(client.grant.rights)), client.own_id, each.since)
            for each in self._sockets.values()
            if (client := each.connection.client) is not None
        )

    def revoke(self, name: str) -> bool:
        """Stop letting that client connect, and end its connections; returns False if it had no grant."""
        grant = self.grants.remove(name)
        for socket in tuple(self._sockets.values()):
            if socket.connection.grant.name == name:
                self._end(socket, POLICY_VIOLATION, "The access was revoked.")
        return grant

    def is_used(self, token: str) -> bool:
        """True if a client has used that token, which only one client may use."""
        return digest(token) in self._first

    # --- before a connection is open ---

    def begins(self, connection: _Counted) -> bool:
        """Note a new connection; returns False if too many are in the handshake already."""
        if len(self._beginning) >= self.limits.handshakes:
            return False
        self._beginning.add(connection)
        return True

    def has_opened(self, connection: _Counted) -> None:
        """Note that the connection's handshake has ended and it is open."""
        self._beginning.discard(connection)

    def is_lost(self, connection: _Counted) -> None:
        self._beginning.discard(connection)
        self._admitted.discard(connection)

    def _check(self, websocket: ServerConnection, request: Request) -> Response | None:
        """Returns the refusal of a request; None if it may go on."""
        if any(len(request.headers.get_all(name)) > 1 for name in ("Host", "Origin", "Authorization")):
            return _refusal(websocket, http.HTTPStatus.BAD_REQUEST, "A header comes twice.")
        if request.headers.get("Host", "").lower() not in self._hosts:
            return _refusal(websocket, http.HTTPStatus.FORBIDDEN, "This server is not called by that name.")
        if self._page is not None and "Upgrade" not in request.headers:
            return self._page.answer(request.path)
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in self._origins:
            return _refusal(websocket, http.HTTPStatus.FORBIDDEN, "Pages of this origin may not connect.")
        token = token_of(request, has_page=self._page is not None)
        grant = None if token is None else self.grants.find(token)
        off = site_policy().why_off("serve")
        if off is not None or grant is None:
            status = http.HTTPStatus.UNAUTHORIZED if off is None else http.HTTPStatus.FORBIDDEN
            return _refusal(websocket, status, off or "The token is missing, wrong or has expired.")
        if len(self._admitted) >= self.limits.clients:
            return _refusal(websocket, http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many clients are connected.")
        own = sum(each.grant is not None and each.grant.name == grant.name for each in self._admitted)
        if own >= self.limits.client_connections:
            return _refusal(websocket, http.HTTPStatus.SERVICE_UNAVAILABLE, "This client has too many connections.")
        assert isinstance(websocket, _Counted)  # noqa: S101 - `open` says what connections are
        websocket.grant = grant
        self._admitted.add(websocket)
        return None

    # --- an open connection ---

    async def _serve(self, websocket: ServerConnection) -> None:
        assert self._feed is not None  # noqa: S101 - made before the server
        assert isinstance(websocket, _Counted)  # noqa: S101
        assert websocket.grant is not None  # noqa: S101 - `_check` gave it
        wake = asyncio.Event()
        connection = AhpConnection(
            self._host,
            self._service,
            self._feed,
            websocket.grant,
            next(_numbers),
            wake=wake.set,
            close=lambda code, reason: self._end(socket, code, reason),
            join=self._join,
            came=lambda: self._changed(socket.connection.grant, True),
        )
        socket = _Socket(connection, websocket, wake, now_ms())
        self._sockets[connection] = socket
        writer = asyncio.ensure_future(self._write(socket))
        left = websocket.grant.seconds_left
        why = "The token has expired."
        end = None if left is None else self._host.loop.later(left, self._end, socket, POLICY_VIOLATION, why)
        try:
            await self._read(socket)
        finally:
            if end is not None:
                end.cancel()
            self._forget(connection)
            writer.cancel()
            if (ending := self._endings.pop(connection, None)) is not None:
                await ending

    async def _read(self, socket: _Socket) -> None:
        limits, now = self.limits, self._host.loop.time
        messages = Budget(limits.messages, limits.messages_per_second, now())
        size = Budget(limits.bytes, limits.bytes_per_second, now())
        with contextlib.suppress(ConnectionClosed):
            async for text in socket.websocket:
                if not isinstance(text, str):
                    self._end(socket, WRONG_KIND, "Messages are text.")
                    return
                if not messages.take(1, now()) or not size.take(len(text), now()):
                    self._end(socket, POLICY_VIOLATION, "Too many messages.")
                    return
                if socket.connection not in self._sockets:
                    return
                if (off := site_policy().why_off("serve")) is not None:
                    self._end(socket, POLICY_VIOLATION, off.partition(":")[0])
                    return
                socket.connection.receive(text)

    async def _write(self, socket: _Socket) -> None:
        connection, websocket = socket.connection, socket.websocket
        try:
            while True:
                await socket.wake.wait()
                socket.wake.clear()
                for text in connection.take_waiting():
                    await asyncio.wait_for(websocket.send(text), self.limits.write_seconds)
                connection.written()
        except asyncio.TimeoutError:
            websocket.transport.abort()  # a close frame would wait behind the unread data
        except ConnectionClosed:
            pass

    def _join(self, connection: AhpConnection, own_id: str) -> bool:
        """Admit a client; its older connection is ended, but another client's connection keeps the token."""
        grant = connection.grant
        if grant.is_single and self._first.setdefault(grant.digest, own_id) != own_id:
            return False
        for socket in tuple(self._sockets.values()):
            other = socket.connection
            if other is connection or other.grant.name != connection.grant.name or other.client is None:
                continue
            if other.client.own_id != own_id:
                return False
            self._end(socket, POLICY_VIOLATION, "The same client connected again.")
        return True

    def _end(self, socket: _Socket, code: int, reason: str) -> None:
        """End a connection once everything waiting has been written."""
        last = socket.connection.take_waiting()
        if self._forget(socket.connection):
            ending = _close(socket.websocket, last, code, reason, self.limits.write_seconds)
            self._endings[socket.connection] = self._host.loop.spawn(ending)

    def _forget(self, connection: AhpConnection) -> bool:
        if self._sockets.pop(connection, None) is None:
            return False
        had_client = connection.client is not None
        connection.closed()
        if had_client:
            self._changed(connection.grant, False)
        return True

    def _notice(self, notice: Notice) -> None:
        for socket in tuple(self._sockets.values()):
            socket.connection.notice(notice)


class _Counted(ServerConnection):
    """A connection that begins only while few others are beginning."""

    listener: WebSocketListener
    grant: Grant | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self.listener.begins(self):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.listener.is_lost(self)
        super().connection_lost(exc)

    async def handshake(self, *args: Any, **kwargs: Any) -> None:
        await super().handshake(*args, **kwargs)
        if self.state is State.OPEN:
            self.listener.has_opened(self)


async def _close(websocket: ServerConnection, last: list[str], code: int, reason: str, seconds: float) -> None:
    async def finish() -> None:
        for text in last:
            await websocket.send(text)
        await websocket.close(code, reason)

    try:
        await asyncio.wait_for(finish(), seconds)
    except asyncio.TimeoutError:
        websocket.transport.abort()
    except ConnectionClosed:
        pass


def _refusal(websocket: ServerConnection, status: http.HTTPStatus, why: str) -> Response:
    return websocket.respond(status, f"{why}\n")


def silent_logger() -> logging.Logger:
    """Returns a silent logger for the WebSocket library, which would log URLs and the tokens in them."""
    logger = logging.getLogger("agentnb.server.websocket.websocket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
