"""The connection: ordered JSON-RPC with one agent.

Bytes go in at :meth:`Connection.feed`; messages come out strictly in the order of the wire. Consecutive notifications
of one read are handed over as one list, and the answer to a :meth:`Connection.call` is handled inline between them, so
the end of a turn can neither overtake an update nor be overtaken by one. Only the agent's own requests run as tasks:
they wait for people.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp import wire
from agentnb.acp.failure import CANCELLED, RpcError, answered
from agentnb.credentials import logger
from agentnb.errors import AgentnbError, ProtocolError
from agentnb.json_rpc_codes import INTERNAL_ERROR

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Notifications = Callable[[list[tuple[str, Any]]], None]
    Requests = Callable[[str, dict[str, Any]], Awaitable[Any]]
    Closed = Callable[[Exception | None], None]
    Done = Callable[[Any, RpcError | AgentnbError | None], None]

log = logger("agentnb.acp")

_LONGEST_ID = 20  # digits; ours count from 1


class Connection:
    """One end of a JSON-RPC conversation over bytes; every method belongs to one loop."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        on_notifications: Notifications,
        on_request: Requests,
        on_closed: Closed,
    ) -> None:
        self.stray = 0
        self._write = write
        self._on_notifications = on_notifications
        self._on_request = on_request
        self._on_closed = on_closed
        self._lines = wire.Lines()
        self._waiting: dict[int, Done] = {}
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._closed = False
        self._reason: Exception | None = None

    @property
    def closed(self) -> bool:
        """Whether the conversation is over."""
        return self._closed

    def feed(self, data: bytes) -> None:
        """Take in what was read from the other end."""
        if self._closed:
            return
        try:
            block = self._lines.feed(data)
        except ProtocolError as error:
            self.close(error)
            return
        if block:
            self._take(block)

    def close(self, reason: Exception | None = None) -> None:
        """End the conversation: what is still unanswered fails with *reason*, what is being served is given up."""
        if self._closed:
            return
        if rest := self._lines.rest():
            self._take(rest)
        self._closed, self._reason = True, reason
        for task in tuple(self._tasks):
            task.cancel()
        waiting, self._waiting = self._waiting, {}
        for done in waiting.values():
            self._safely(done, None, self._over())
        self._safely(self._on_closed, reason)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, method: str, params: dict[str, Any], done: Done) -> int:
        """Send a request; *done* gets ``(result, error)`` inline, in the order of the wire."""
        self._last_id += 1
        request = self._last_id
        if self._closed:
            self._safely(done, None, self._over())
            return request
        self._waiting[request] = done
        self._send({"jsonrpc": "2.0", "id": request, "method": method, "params": params})
        return request

    async def request(self, method: str, params: dict[str, Any], timeout: float | None = None) -> Any:
        """Send a request and wait for its result."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def done(result: Any, error: RpcError | AgentnbError | None) -> None:
            if not answer.done():
                if error is None:
                    answer.set_result(result)
                else:
                    answer.set_exception(error)

        request = self.call(method, params, done)
        late = None if timeout is None else loop.call_later(timeout, done, None, _Late(method))
        try:
            return await answer
        except _Late as error:
            raise TimeoutError(f"no answer to {method} in {timeout:g} s") from error
        finally:
            self.take_back(request)
            if late is not None:
                late.cancel()

    def take_back(self, request: int) -> None:
        """Want no answer to *request* any more; the other end is told where it owes one (ACP ``$/cancel_request``)."""
        if self._waiting.pop(request, None) is not None:
            self.notify("$/cancel_request", {"requestId": request})

    def _take(self, block: bytes) -> None:
        messages, stray = wire.decode(block)
        self.stray += stray
        batch: list[tuple[str, Any]] = []
        for message in messages:
            method = message.method
            if isinstance(method, str) and message.id is None:
                if method == "$/cancel_request":
                    self._safely(self._give_up, message.params)
                else:
                    batch.append((method, message.params))
                continue
            batch = self._hand_over(batch)
            self._safely(self._take_one, message)
        self._hand_over(batch)

    def _take_one(self, message: wire.Message) -> None:
        """Take a request, an answer, or what is neither."""
        if isinstance(message.method, str):
            self._serve(message)
        elif message.id is not None and (message.error is not None or message.result is not msgspec.UNSET):
            self._resolve(message)
        else:
            self.stray += 1

    def _hand_over(self, batch: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        if batch:
            self._safely(self._on_notifications, batch)
        return []

    def _resolve(self, message: wire.Message) -> None:
        done = self._waiting.pop(_own_id(message.id), None)
        if done is None:
            self.stray += 1
        elif message.error is not None:
            self._safely(done, None, RpcError.received(message.error))
        else:
            self._safely(done, message.result, None)

    def _serve(self, message: wire.Message) -> None:
        key = repr(message.id)
        task = asyncio.ensure_future(self._answer(message))
        self._tasks.add(task)
        self._serving[key] = task
        task.add_done_callback(lambda _: self._served(message.id, key, task))

    def _served(self, request: Any, key: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            self._send({"jsonrpc": "2.0", "id": request, "error": RpcError(CANCELLED, "Request cancelled").to_json()})
        if self._serving.get(key) is task:
            del self._serving[key]

    def _give_up(self, params: Any) -> None:
        """The agent no longer wants an answer (ACP ``$/cancel_request``)."""
        task = self._serving.get(repr(params.get("requestId"))) if isinstance(params, dict) else None
        if task is not None:
            task.cancel()

    async def _answer(self, message: wire.Message) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.id}
        try:
            params = message.params if isinstance(message.params, dict) else {}
            answer["result"] = await self._on_request(message.method, params)
        except Exception as error:
            if not isinstance(error, (RpcError, AgentnbError)):
                log.exception("serving %s failed", message.method)
            answer["error"] = answered(error).to_json()
        self._send(answer)

    def _send(self, message: dict[str, Any]) -> None:
        if self._closed:
            return
        try:
            data = wire.encode(message)
        except Exception:
            log.exception("a message for the agent cannot be written as JSON")
            if "method" in message:
                raise
            data = wire.encode(
                {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": INTERNAL_ERROR, "message": "no JSON"}}
            )
        self._write(data)

    def _over(self) -> AgentnbError | RpcError:
        if isinstance(self._reason, (AgentnbError, RpcError)):
            return self._reason
        return ProtocolError("The conversation with the agent is over.")

    def _safely(self, callback: Callable[..., None], *args: Any) -> None:
        """A callback that fails must not stop the reader."""
        try:
            callback(*args)
        except Exception:
            log.exception("a callback of the connection failed")


class _Late(AgentnbError):
    """The answer did not come in time."""


def _own_id(received: Any) -> int:
    """Our ids are numbers; some agents send them back as strings."""
    if isinstance(received, str) and len(received) <= _LONGEST_ID and received.isascii() and received.isdigit():
        return int(received)
    return received if isinstance(received, int) and not isinstance(received, bool) else -1
