"""The kernel tools as an MCP server on this machine: over a Unix socket, or over HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import shutil
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.agent.guard import GUARD
from agentnb.errors import NotOffered
from agentnb.kernel.bridge import SOCKET, TOKEN
from agentnb.kernel.server import connect
from agentnb.rpc_message import RpcError, RpcMessage, encode, read_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.server import ToolMcpServer


LONGEST_LINE = 16 * 1024 * 1024
GREETING_SECONDS = 10.0  # seconds that a new connection may take to send the token
LONGEST_HEAD = 64 * 1024
MOST_SESSIONS = 32
SESSION = "mcp-session-id"
PATH = "/mcp"
_NEVER = secrets.token_bytes(32)  # a separator that never occurs


class LocalServer:
    def __init__(self, server: Callable[[], ToolMcpServer]) -> None:
        self.make_server = server
        self.token: str = secrets.token_urlsafe(32)
        self.listening: asyncio.AbstractServer | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def is_secret(self, sent: str, secret: str) -> bool:
        """True if *sent* equals *secret*; compared in constant time, so that timing reveals nothing."""
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
        """Wait until all connections have ended; call :meth:`close` first."""
        while self._connections:
            await asyncio.wait([*self._connections])


class SocketServer(LocalServer):
    """Listens for bridges, once it is started (:meth:`started`)."""

    def __init__(self, server: Callable[[], ToolMcpServer]) -> None:
        super().__init__(server)
        self._folder: Path | None = None

    @classmethod
    async def started(cls, server: Callable[[], ToolMcpServer], within: Path | None = None) -> SocketServer:
        listening = cls(server)
        if not hasattr(socket, "AF_UNIX") or not hasattr(asyncio, "start_unix_server"):
            raise NotOffered(
                "This system has no Unix sockets.", hint="Kernel tools need an agent that supports MCP over ACP."
            )
        try:
            listening._folder = Path(tempfile.mkdtemp(prefix="agentnb-", dir=within))  # its mode is 0700
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
    """True if a Unix socket's peer is this user, or if the platform cannot tell; False if the query fails."""
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


def demand_loopback(title: str, *, reached: bool) -> None:
    """Check that an agent can reach an address of this machine."""
    if not reached:
        message = f"{title} takes tools over HTTP only, and its confinement does not lead to this machine."
        raise NotOffered(message, hint="Confine it without `network`, or start it with confine=False.")


class _Refused(Exception):
    """A request that is answered with a status."""


class _Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]


class HttpServer(LocalServer):
    """Listens for one agent, once it is started (:meth:`started`)."""

    def __init__(self, server: Callable[[], ToolMcpServer]) -> None:
        super().__init__(server)
        self._port = 0
        self._sessions: dict[str, _Session] = {}

    @classmethod
    async def started(cls, server: Callable[[], ToolMcpServer]) -> HttpServer:
        listening = cls(server)
        try:
            opened = await asyncio.start_server(listening.accept, "127.0.0.1", 0, limit=LONGEST_HEAD)
        except OSError as error:
            raise NotOffered(f"No port could be opened at 127.0.0.1: {error}.", hint="Close other programs.") from None
        listening.listening, listening._port = opened, opened.sockets[0].getsockname()[1]
        return listening

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}{PATH}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers that each request needs."""
        return {"Authorization": f"Bearer {self.token}"}

    def close(self, linger: float = 0.0) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        super().close(linger)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await self._served(reader, writer):
            await writer.drain()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False if the connection ends with it."""
        try:
            request = _read(await reader.readuntil(b"\r\n\r\n"))
            self._check(request)
            body = await reader.readexactly(_length(request))
            match request.method:
                case "POST":
                    await self._post(request, body, reader, writer)
                case "GET":
                    await self._stream(request, reader, writer)
                    return False
                case "DELETE":
                    session = self._session(request)
                    self._sessions.pop(session.id)
                    session.close()
                    _answer(writer, "200 OK")
                case _:
                    _answer(writer, "405 Method Not Allowed", {"Allow": "GET, POST, DELETE"})
        except asyncio.LimitOverrunError:
            _answer(writer, "431 Request Header Fields Too Large")
            return False
        except _Refused as refused:
            _answer(writer, str(refused))
            return False
        return request.headers.get("connection", "").lower() != "close"

    def _check(self, request: _Request) -> None:
        if not self.is_secret(request.headers.get("authorization", ""), self.headers["Authorization"]):
            raise _Refused("401 Unauthorized")
        if "origin" in request.headers or request.headers.get("host") != f"127.0.0.1:{self._port}":
            raise _Refused("403 Forbidden")
        if request.path != PATH:
            raise _Refused("404 Not Found")

    def _session(self, request: _Request) -> _Session:
        if SESSION not in request.headers:
            raise _Refused("400 Bad Request")
        session = self._sessions.get(request.headers[SESSION])
        if session is None:
            raise _Refused("404 Not Found")
        return session

    async def _post(
        self, request: _Request, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            message = read_message(body)  # MCP 2025-06-18 removed batches
        except RpcError:
            raise _Refused("400 Bad Request") from None
        if message.method == "initialize":
            while len(self._sessions) >= MOST_SESSIONS:
                self._sessions.pop(next(iter(self._sessions))).close()
            session = _Session(self.make_server)
            self._sessions[session.id] = session
        else:
            session = self._session(request)
        answer = await _unless_gone(session.answer(message), reader)
        headers = {"Mcp-Session-Id": session.id}
        if answer is None:
            _answer(writer, "202 Accepted", headers)
        else:
            _answer(writer, "200 OK", {**headers, "Content-Type": "application/json"}, answer)

    async def _stream(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = self._session(request)
        lines = ("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Cache-Control: no-store", "Connection: close")
        writer.write("\r\n".join((*lines, "", "")).encode())
        session.stream(writer)
        await reader.read(1)  # until the client closes the connection


class _Session:
    def __init__(self, make: Callable[[], ToolMcpServer]) -> None:
        self.id = secrets.token_urlsafe(16)
        self._server = make()
        self._connection = connect(self._server, self._send)
        self._streams: list[asyncio.StreamWriter] = []
        self._unsent: list[bytes] = []
        self._server.opened(self._connection, self.close)

    async def answer(self, message: RpcMessage) -> bytes | None:
        """The answer to *message*; None if it is not a request, or is cancelled."""
        if message.id is None or message.method is None:
            self._connection.handle([message])
            return None
        waiting: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

        def reply(answer: Any) -> None:
            if not waiting.done():
                waiting.set_result(None if answer is None else encode(answer))

        self._connection.serve(message, reply)
        return await waiting

    def stream(self, writer: asyncio.StreamWriter) -> None:
        """From now on, send the server's requests and notifications on *writer*."""
        self._streams = [each for each in self._streams if not each.is_closing()] + [writer]
        unsent, self._unsent = self._unsent, []
        for line in unsent:
            self._send(line)

    def close(self) -> None:
        self._connection.close()
        self._server.closed()
        for writer in self._streams:
            writer.close()

    def _send(self, line: bytes) -> None:
        writer = next((each for each in reversed(self._streams) if not each.is_closing()), None)
        if writer is None:
            self._unsent = [*self._unsent, line][-100:]
        else:
            writer.write(b"event: message\ndata: " + line.rstrip(b"\n") + b"\n\n")


async def _unless_gone(answering: Any, reader: asyncio.StreamReader) -> bytes | None:
    """The result of *answering*; raises EOFError if the client closes the connection first."""
    task = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(_closed(reader))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise EOFError
        result: bytes | None = task.result()
        return result
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.wait({task, gone})  # otherwise the reader is still in use


async def _closed(reader: asyncio.StreamReader) -> None:
    """Wait until the other end is closed; takes nothing from *reader*."""
    try:
        await reader.readuntil(_NEVER)
    except asyncio.IncompleteReadError:
        return
    except asyncio.LimitOverrunError:  # the peer has sent too much data: it is still connected
        await asyncio.Event().wait()


def _read(head: bytes) -> _Request:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, version = rest.partition(" ")
    pairs = [line.partition(":") for line in lines]
    if not version.startswith("HTTP/1.") or not all(colon for _, colon, _ in pairs):
        raise _Refused("400 Bad Request")
    return _Request(method, path, {name.strip().lower(): value.strip() for name, _, value in pairs})


def _length(request: _Request) -> int:
    length = request.headers.get("content-length", "0")
    if "transfer-encoding" in request.headers:
        raise _Refused("411 Length Required")
    if not (length.isascii() and length.isdigit()):
        raise _Refused("400 Bad Request")
    if int(length) > LONGEST_LINE:
        raise _Refused("413 Content Too Large")
    return int(length)


def _answer(
    writer: asyncio.StreamWriter, status: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> None:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Cache-Control: no-store"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join((*lines, "", "")).encode() + body)
