"""A connection to an agent over HTTP: what is sent is posted, what comes are events of streams.

There is a stream for the connection and one for each session, as the protocol's proposal has it
(https://agentclientprotocol.com/rfds/streamable-http-websocket-transport).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import socket
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

import httpx

from agentnb.event_lines import event_data
from agentnb.plugins.remote.failure import LONGEST, OPEN_SECONDS, Failures
from agentnb.rpc_message import INTERNAL_ERROR, RpcError, RpcMessage, encode, error_answer, repair_message

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

CONNECTION, SESSION = "Acp-Connection-Id", "Acp-Session-Id"
ANSWER_SECONDS = 60.0
"""How long it may take until a message is taken."""
_GONE = frozenset({401, 403, 404, 410})
_OK, _TAKEN = 200, 202
_ENDS_SESSION = frozenset({"session/close", "session/delete"})
_KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
]


class HttpLink:
    """See :class:`agentnb.plugins.remote.bridge.Link`."""

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
            transport=direct if is_here or not getproxies() else None,  # else a proxy is used
        )
        self._connection = ""
        self._incoming: asyncio.Queue[bytes | BaseException] = asyncio.Queue()
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._opened: dict[str, asyncio.Future[int]] = {}
        self._asked: dict[str, str] = {}

    async def open(self) -> None:
        """Nothing is to be done before the first message, which opens the connection."""

    async def send(self, message: bytes) -> None:
        """Post one message."""
        read = repair_message(message)
        if not self._connection:
            await self._initialize(message)
            return
        session = self._session_of(read)
        headers = {"Content-Type": "application/json", CONNECTION: self._connection}
        if session and await self._open(session) == _OK:
            headers[SESSION] = session
        if read.method in _ENDS_SESSION and session in self._streams:
            self._streams[session].cancel()  # its end is no failure
        response = await self._client.post(self._url, content=message, headers=headers, timeout=ANSWER_SECONDS)
        await self._posted(read, response)

    async def messages(self) -> AsyncIterator[bytes]:
        """What comes; raises what ends the connection."""
        while True:
            message = await self._incoming.get()
            if isinstance(message, BaseException):
                raise message
            yield message

    async def close(self) -> None:
        """Say that the connection ends, and end it."""
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
        """Open the stream of *session*, of the connection where empty; returns the HTTP status."""
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
                self._asked[repr(message.id)] = session
            new = message.value.get("sessionId") if isinstance(message.value, dict) else None
            if isinstance(new, str) and new not in self._streams:
                asyncio.ensure_future(self._open(new)).add_done_callback(_seen)
        self._incoming.put_nowait(data)

    def _session_of(self, message: RpcMessage) -> str:
        if message.method is None:
            return self._asked.pop(repr(message.id), "")
        session = message.params.get("sessionId") if isinstance(message.params, dict) else None
        return session if isinstance(session, str) else ""


def _seen(opening: asyncio.Future[int]) -> None:
    """How it ended is told by what comes."""
    if not opening.cancelled():
        opening.exception()
