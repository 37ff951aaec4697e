"""A connection to an agent over HTTP: it posts messages to the agent, and gets messages as events of streams.

It has one stream for the connection and one for each session, as in the protocol's proposal
(https://agentclientprotocol.com/rfds/streamable-http-websocket-transport).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import socket
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidHandshake, InvalidMessage, InvalidStatus

from agentnb.event_lines import LineTooLong, event_data
from agentnb.rpc_message import INTERNAL_ERROR, RpcError, RpcMessage, encode, error_answer, repair_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from websockets.asyncio.client import ClientConnection


LONGEST = 64 * 1024 * 1024
"""Bytes that a message from a remote agent may have."""
OPEN_SECONDS = 20.0
"""Seconds that connecting may take."""
_TOO_BIG, _NO_PONG = 1009, 1011
_REFUSED = (401, 403)
_REASONS: dict[type[OSError], str] = {ConnectionResetError: "it ended the connection"}
_CLEAN = 120  # characters of a reason from the other side


class LinkFailed(Exception):
    """The connection failed or was lost; the message says why, and the hint what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Failures:
    """Says what went wrong with the connection to one address."""

    def __init__(self, url: str, variable: str | None) -> None:
        self._host = urlsplit(url).netloc
        self._variable = variable

    def of(self, error: BaseException) -> LinkFailed:
        """Returns the failure that describes *error* in words."""
        if isinstance(error, LinkFailed):
            return error
        if isinstance(error, InvalidStatus):
            return self.status(error.response.status_code, error.response.headers.get("Location"))
        if isinstance(error, ConnectionClosed):
            return self._closed(error)
        if isinstance(error, LineTooLong):
            return self.too_long()
        if isinstance(error, InvalidHandshake | InvalidMessage):
            return LinkFailed(f"{self._host} does not speak WebSocket.", "Check the address.")
        return self._of_system(error)

    def status(self, code: int, location: str | None = None) -> LinkFailed:
        if code in _REFUSED and self._variable is None:
            hint = "Set a variable to the token, and name it with token_variable."
            return LinkFailed(f"{self._host} wants a token (HTTP {code}).", hint)
        if code in _REFUSED:
            return LinkFailed(f"{self._host} refused the token (HTTP {code}).", f"The token is in {self._variable}.")
        if 300 <= code < 400:  # noqa: PLR2004 - redirects
            place = urlunsplit((*urlsplit(location or "")[:3], "", ""))[:_CLEAN] or "another address"
            hint = (
                "The token is sent only to the address that you gave. If you trust the other address, use it "
                "as the agent's url."
            )
            return LinkFailed(f"{self._host} redirects to {place}.", hint)
        if code == 404:  # noqa: PLR2004
            return LinkFailed(f"There is no agent at this address of {self._host} (HTTP 404).", "Check the path.")
        return LinkFailed(f"{self._host} answered with HTTP {code}.", "Its log may say why.")

    def too_long(self) -> LinkFailed:
        return LinkFailed(f"{self._host} sent a message of more than {LONGEST >> 20} MiB.")

    def ended(self) -> LinkFailed:
        """Returns the failure for a connection that the other side ended without a reason."""
        return LinkFailed(f"{self._host} ended the connection.")

    def _closed(self, error: ConnectionClosed) -> LinkFailed:
        own, theirs = error.sent, error.rcvd
        if own is not None and own.code == _TOO_BIG and not error.rcvd_then_sent:
            return self.too_long()
        if own is not None and own.code == _NO_PONG and not error.rcvd_then_sent:
            return LinkFailed(f"{self._host} no longer answers.")
        if theirs is None:
            return LinkFailed(f"The connection to {self._host} was lost.")
        reason = "".join(each for each in theirs.reason if each.isprintable())[:_CLEAN]
        return LinkFailed(f"{self._host} closed the connection ({theirs.code}{' ' if reason else ''}{reason}).")

    def _of_system(self, error: BaseException) -> LinkFailed:
        causes = [*_causes(error)]
        for each in causes:
            if isinstance(each, ssl.SSLCertVerificationError):
                hint = "SSL_CERT_FILE can name a file with the certificate to trust."
                return LinkFailed(f"The certificate of {self._host} is not trusted: {each.verify_message}.", hint)
        for each in causes:
            if isinstance(each, ssl.SSLError):
                return LinkFailed(
                    f"There is no TLS connection to {self._host}: {each.reason}.", "Check that it supports TLS."
                )
        if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
            return LinkFailed(f"{self._host} did not answer within {OPEN_SECONDS:g} s.", "Check that it is running.")
        reasons = [each.strerror or _REASONS.get(type(each), "") for each in causes if isinstance(each, OSError)]
        words = f"{self._host} cannot be reached: {next(filter(None, reasons), 'the connection failed')}."
        return LinkFailed(words, "Check that it is running and that the address is right.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


PING_SECONDS = 20.0


class _Connect(connect):
    """Follows no redirect: it would take the token elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketLink:
    """A connection to an agent over WebSocket."""

    _socket: ClientConnection

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

    async def open(self) -> None:
        self._socket = await self._connect

    async def send(self, message: bytes) -> None:
        await self._socket.send(message, text=True)

    async def messages(self) -> AsyncIterator[bytes]:
        """Yields messages until the other side ends the connection. Binary frames are not part of the protocol."""
        try:
            while True:
                message = await self._socket.recv()
                if isinstance(message, str):
                    yield message.encode()
        except ConnectionClosedOK:
            return

    async def close(self) -> None:
        await self._socket.close()


CONNECTION, SESSION = "Acp-Connection-Id", "Acp-Session-Id"
ANSWER_SECONDS = 60.0
"""Seconds until the agent must have accepted a message."""
_GONE = frozenset({401, 403, 404, 410})
_OK, _TAKEN = 200, 202
_ENDS_SESSION = frozenset({"session/close", "session/delete"})
_KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
]


class HttpLink:
    """A connection to an agent over HTTP; see the module."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        context: ssl.SSLContext | None,
        failures: Failures,
        *,
        is_here: bool,
    ) -> None:
        self._url = url
        self._failures = failures
        has_http2 = importlib.util.find_spec("h2") is not None
        verify: Any = context if context is not None else True
        limits = httpx.Limits(max_connections=None)
        direct = httpx.AsyncHTTPTransport(verify=verify, http2=has_http2, limits=limits, socket_options=_KEEPALIVE)
        self._client = httpx.AsyncClient(
            headers=dict(headers),
            timeout=httpx.Timeout(None, connect=OPEN_SECONDS),
            verify=verify,
            http2=has_http2,
            limits=limits,
            transport=direct if is_here or not getproxies() else None,  # None: httpx uses the proxy of the environment
        )
        self._connection = ""
        self._incoming: asyncio.Queue[bytes | BaseException] = asyncio.Queue()
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._opened: dict[str, asyncio.Future[int]] = {}
        self._request_sessions: dict[str, str] = {}

    async def open(self) -> None:
        """Nothing is to be done before the first message, which opens the connection."""

    async def send(self, message: bytes) -> None:
        read = repair_message(message)
        if not self._connection:
            await self._initialize(message)
            return
        session = self._session_of(read)
        headers = {"Content-Type": "application/json", CONNECTION: self._connection}
        if session and await self._open(session) == _OK:
            headers[SESSION] = session
        if read.method in _ENDS_SESSION and session in self._streams:
            self._streams[session].cancel()  # the stream's end is not a failure
        response = await self._client.post(self._url, content=message, headers=headers, timeout=ANSWER_SECONDS)
        await self._posted(read, response)

    async def messages(self) -> AsyncIterator[bytes]:
        """Yields messages; raises the error that ends the connection."""
        while True:
            message = await self._incoming.get()
            if isinstance(message, BaseException):
                raise message
            yield message

    async def close(self) -> None:
        """Notify the other side that the connection ends, and end it."""
        for stream in self._streams.values():
            stream.cancel()
        await asyncio.gather(*self._streams.values(), return_exceptions=True)
        if self._connection:
            with contextlib.suppress(httpx.HTTPError):
                await self._client.delete(self._url, headers={CONNECTION: self._connection}, timeout=1.0)
        await self._client.aclose()

    async def _initialize(self, message: bytes) -> None:
        response = await self._client.post(self._url, content=message, headers={"Content-Type": "application/json"})
        if response.status_code != _OK:
            raise self._failures.status(response.status_code, response.headers.get("Location"))
        self._connection = response.headers.get(CONNECTION, "")
        if not self._connection:
            raise self._failures.status(404)
        self._incoming.put_nowait(response.content)
        if (status := await self._open("")) != _OK:
            raise self._failures.status(status)

    async def _posted(self, message: RpcMessage, response: httpx.Response) -> None:
        status = response.status_code
        if status == _TAKEN:
            return
        if status == _OK:
            if response.content.strip():
                self._incoming.put_nowait(response.content)
            return
        is_request = message.id is not None and message.method is not None
        if not is_request or status in _GONE or response.is_redirect:
            raise self._failures.status(status, response.headers.get("Location"))
        error = RpcError(INTERNAL_ERROR, str(self._failures.status(status)))
        self._incoming.put_nowait(encode(error_answer(message.id, error)))

    async def _open(self, session: str) -> int:
        """Open the stream of *session*, or of the connection if it is empty; returns the HTTP status."""
        if session not in self._streams or self._streams[session].done():
            self._opened[session] = asyncio.get_running_loop().create_future()
            self._streams[session] = asyncio.ensure_future(self._listen(session, self._opened[session]))
        return await asyncio.shield(self._opened[session])

    async def _listen(self, session: str, opened: asyncio.Future[int]) -> None:
        headers = {"Accept": "text/event-stream", CONNECTION: self._connection}
        if session:
            headers[SESSION] = session
        try:
            async with self._client.stream("GET", self._url, headers=headers) as response:
                opened.set_result(response.status_code)
                if response.status_code != _OK:
                    return
                async for data in event_data(response.aiter_bytes(), LONGEST):
                    self._took(data, session)
            raise self._failures.ended()
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the connection
            if not opened.done():
                opened.set_exception(error)
            self._incoming.put_nowait(error)

    def _took(self, data: bytes, session: str) -> None:
        with contextlib.suppress(RpcError):
            message = repair_message(data)
            if message.id is not None and message.method is not None and session:
                self._request_sessions[repr(message.id)] = session
            new = message.value.get("sessionId") if isinstance(message.value, dict) else None
            if isinstance(new, str) and new not in self._streams:
                asyncio.ensure_future(self._open(new)).add_done_callback(_seen)
        self._incoming.put_nowait(data)

    def _session_of(self, message: RpcMessage) -> str:
        if message.method is None:
            return self._request_sessions.pop(repr(message.id), "")
        session = message.params.get("sessionId") if isinstance(message.params, dict) else None
        return session if isinstance(session, str) else ""


def _seen(opening: asyncio.Future[int]) -> None:
    """Mark the exception as retrieved: the failure is reported by the messages."""
    if not opening.cancelled():
        opening.exception()
