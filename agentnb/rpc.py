"""JSON-RPC 2.0: one end of a connection, for every protocol that is spoken here (ACP, MCP, AHP, LSP)."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from agentnb.credentials import logger
from agentnb.errors import AgentnbError, ProtocolError
from agentnb.rpc_message import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LONGEST_MESSAGE,
    METHOD_NOT_FOUND,
    Headers,
    Lines,
    RpcError,
    RpcMessage,
    Whole,
    as_message,
    encode,
    error_answer,
    notification,
    read_batch,
    read_message,
    repair_message,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from logging import Logger

    Notifications = Callable[[list[tuple[str, Any]]], None]
    Requests = Callable[[str, Any], Any]
    Done = Callable[[Any, Exception | None], None]
    Reply = Callable[[Any], object]

log: Logger = logger("agentnb.rpc")

_CHUNK = 256 * 1024
_LONGEST_ID = 20  # digits; agentnb's own ids count from 1


class Dialect(NamedTuple):
    """The differences between protocols that use JSON-RPC."""

    framing: type[Lines | Headers] = Lines
    cancel: str = ""
    answers_cancelled: bool = False
    repairs: bool = False
    batches: bool = False


ACP = Dialect(cancel="$/cancel_request", answers_cancelled=True, repairs=True)
MCP = Dialect(cancel="notifications/cancelled", batches=True)
MCP_CLIENT = Dialect(cancel="notifications/cancelled", repairs=True)
AHP = Dialect(framing=Whole)
LSP = Dialect(framing=Headers)


def to_error(error: Exception) -> RpcError:
    return error if isinstance(error, RpcError) else RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def answer_nothing(method: str, _params: Any) -> NoReturn:
    """Reject every request, for a connection that has no methods."""
    raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:100]}", {"method": method[:100]})


class Connection:
    """One end of a connection."""

    def __init__(
        self,
        write: Callable[[bytes], object],
        dialect: Dialect,
        *,
        on_request: Requests = answer_nothing,
        on_notifications: Notifications = lambda _: None,
        on_invalid: Callable[[RpcError], None] | None = None,
        on_closed: Callable[[Exception | None], None] = lambda _: None,
        to_error: Callable[[Exception], RpcError] = to_error,
        longest: int = LONGEST_MESSAGE,
        start: Callable[[Any], asyncio.Future[Any]] = asyncio.ensure_future,
    ) -> None:
        self.stray: int = 0
        self.closed: bool = False
        self._write = write
        self._dialect = dialect
        self._on_request = on_request
        self._on_notifications = on_notifications
        self._on_invalid = on_invalid or self._refuse
        self._on_closed = on_closed
        self._to_error = to_error
        self._start = start
        self._framing = dialect.framing(longest)
        self._waiting: dict[int, Done] = {}
        self._serving: dict[str, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._last_id = 0
        self._reason: Exception | None = None

    def notify(self, method: str, params: Any) -> None:
        self._send(notification(method, params))

    def call(self, method: str, params: Any, done: Done) -> int:
        """Send a request; *done* is called with ``(result, error)`` in the order of the wire."""
        self._last_id += 1
        request = self._last_id
        if self.closed:
            self._safely(done, None, self._over())
        else:
            self._waiting[request] = done
            self._send({"jsonrpc": "2.0", "id": request, **notification(method, params)})
        return request

    async def request(
        self, method: str, params: Any, timeout: float | None = None, heard: Callable[[Any], None] | None = None
    ) -> Any:
        """Send a request and wait for its result; the request is cancelled if nobody waits any more.

        *heard* gets the result before any later message; the caller may get it later.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(result: Any, error: Exception | None) -> None:
            if error is None and heard is not None:
                heard(result)
            if not answer.done():
                answer.set_result(result) if error is None else answer.set_exception(error)

        request = self.call(method, params, done)
        try:
            await asyncio.wait([answer], timeout=timeout)
            if not answer.done():
                raise TimeoutError(f"no answer to {method} in {timeout:g} s")
            return answer.result()
        finally:
            self.take_back(request)

    def take_back(self, request: int) -> None:
        """Ignore the answer to *request* from now on; the other end is notified if it still owes one."""
        if self._waiting.pop(request, None) is not None and self._dialect.cancel:
            self.notify(self._dialect.cancel, {"requestId": request})

    def feed(self, data: bytes) -> None:
        try:
            if not self.closed:
                self.receive(*self._framing.feed(data))
        except ProtocolError as error:
            self.close(error)

    async def read(self, stream: asyncio.StreamReader, drain: Callable[[], Awaitable[None]] | None = None) -> None:
        """Process all data read from *stream*, until it or the connection ends, as fast as *drain* allows."""
        while not self.closed and (data := await stream.read(_CHUNK)):
            self.feed(data)
            if drain is not None:
                await drain()

    def receive(self, *messages: bytes) -> None:
        """Process complete messages."""
        self.handle(message for data in messages if (message := self._read(data)) is not None)

    def handle(self, messages: Iterable[RpcMessage]) -> None:
        """Process messages that are already decoded, in order."""
        batch: list[tuple[str, Any]] = []
        for message in messages:
            if message.id is None and isinstance(message.method, str) and message.method != self._dialect.cancel:
                batch.append((message.method, message.params))
                continue
            if batch:
                self._safely(self._on_notifications, batch)
                batch = []
            self._safely(self._take, message)
        if batch:
            self._safely(self._on_notifications, batch)

    def serve(self, message: RpcMessage, reply: Reply) -> None:
        """Answer a request; *reply* is called with the answer, or None if there is none."""
        try:
            if not isinstance(message.method, str):
                raise RpcError(INVALID_REQUEST, "The method is not text.")
            result = self._on_request(message.method, message.params)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered
            reply(self._failed(message, error))
            return
        if inspect.isawaitable(result):
            task, key = self.spawn(self._answer(message, result, reply)), repr(message.id)
            self._serving[key] = task
            task.add_done_callback(lambda _: self._served(message, result, key, task, reply))
        else:
            reply({"jsonrpc": "2.0", "id": message.id, "result": result})

    def spawn(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        """Run *work* as a task that is cancelled when the connection ends."""
        task = self._start(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self, reason: Exception | None = None) -> None:
        """End the connection: unanswered requests fail with *reason*, and those being served are cancelled."""
        if self.closed:
            return
        if rest := self._framing.rest():
            self.receive(*rest)
            self.close(reason)  # if the last message has not closed it
            return
        self.closed, self._reason = True, reason
        for task in tuple(self._tasks):
            task.cancel()
        waiting, self._waiting = self._waiting, {}
        for done in waiting.values():
            self._safely(done, None, self._over())
        self._safely(self._on_closed, reason)

    async def wait_closed(self) -> None:
        """Wait until the tasks of a closed connection have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- inside: what comes ---

    def _read(self, data: bytes) -> RpcMessage | None:
        """Returns one message; None if it is invalid, or a batch, which is answered."""
        try:
            if self._dialect.repairs:
                return repair_message(data)
            if not self._dialect.batches or data.lstrip()[:1] != b"[":
                return read_message(data)
            self.spawn(self._batch(read_batch(data)))
        except RpcError as error:
            self.stray += 1
            self._on_invalid(error)
        return None

    def _take(self, message: RpcMessage) -> None:
        """Dispatch a message: a request, an answer, a cancellation, or a stray one."""
        if message.id is not None and message.method is not None:
            self.serve(message, self._send)
        elif message.method is not None and message.method == self._dialect.cancel:
            self._cancel(message.params)
        elif message.id is not None and (message.has_answer or not self._dialect.repairs):
            self._resolve(message)
        else:
            self.stray += 1

    def _resolve(self, message: RpcMessage) -> None:
        done = self._waiting.pop(_own_id(message.id), None)
        if done is None:
            self.stray += 1
        elif message.error is not None:
            done(None, RpcError.received(message.error))
        else:
            done(message.value, None)

    def _cancel(self, params: Any) -> None:
        task = self._serving.get(repr(params.get("requestId"))) if isinstance(params, dict) else None
        if task is not None:
            task.cancel()

    async def _batch(self, items: list[Any]) -> None:
        answers: list[Any] = []
        for item in items:
            try:
                message = as_message(item)
            except RpcError as error:
                answers.append(error_answer(None, error))
                continue
            if message.id is None or message.method is None:
                self.handle([message])
                continue
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self.serve(message, answer.set_result)
            answers.append(await answer)
        self._send([answer for answer in answers if answer is not None] or None)

    # --- inside: what is answered ---

    async def _answer(self, message: RpcMessage, result: Awaitable[Any], reply: Reply) -> None:
        """Answer before any task that the handler started gets its turn."""
        try:
            answer = {"jsonrpc": "2.0", "id": message.id, "result": await result}
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered
            answer = self._failed(message, error)
        reply(answer)

    def _served(
        self, message: RpcMessage, result: Awaitable[Any], key: str, task: asyncio.Future[Any], reply: Reply
    ) -> None:
        if self._serving.get(key) is task:
            del self._serving[key]
        if task.cancelled():
            if inspect.iscoroutine(result):
                result.close()  # the coroutine may not have started
            cancelled = error_answer(message.id, RpcError(CANCELLED, "Request cancelled"))
            reply(cancelled if self._dialect.answers_cancelled else None)

    def _failed(self, message: RpcMessage, error: Exception) -> dict[str, Any]:
        answer = self._to_error(error)
        if answer.code == INTERNAL_ERROR and not isinstance(error, (RpcError, AgentnbError)):
            log.error("serving %s failed", message.method, exc_info=error)
        return error_answer(message.id, answer)

    def _refuse(self, error: RpcError) -> None:
        if self._dialect.repairs:
            log.warning("%s", error)
        else:
            self._send(error_answer(None, error))

    def _send(self, message: Any) -> None:
        if self.closed or message is None:
            return
        try:
            data = encode(message)
        except Exception:
            log.exception("a message cannot be written as JSON")
            if "method" in message:
                raise
            request = message.get("id") if isinstance(message, dict) else None
            data = encode(error_answer(request, RpcError(INTERNAL_ERROR, "no JSON")))
        self._write(self._framing.frame(data))

    def _over(self) -> Exception:
        return self._reason or ProtocolError("The connection has ended.")

    def _safely(self, callback: Callable[..., None], *args: Any) -> None:
        """Call *callback*; an error in it is logged, since it must not stop the reader."""
        try:
            callback(*args)
        except Exception:
            log.exception("a callback of the connection failed")


def _own_id(received: Any) -> int:
    """Convert an id: ours are numbers, but some agents send them back as text."""
    if isinstance(received, str) and len(received) <= _LONGEST_ID and received.isascii() and received.isdigit():
        return int(received)
    return received if isinstance(received, int) and not isinstance(received, bool) else -1
