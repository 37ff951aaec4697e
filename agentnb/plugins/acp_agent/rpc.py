"""JSON-RPC 2.0 with one client, a message a line.

Each message is served by a task of its own, and tasks start in the order of the lines. What a method sends goes out
before its answer, and what a task started by the method sends goes out behind it. A line that is no message costs
nothing but itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agentnb.rpc_message import INTERNAL_ERROR, METHOD_NOT_FOUND
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Method = Callable[[Any], Awaitable[object]]

CANCEL = "$/cancel_request"
"""Ignored: the only request of the client's that takes long is a turn, and that has `session/cancel`."""

# ASCII, so that every text can be written, also one with half a surrogate pair.
_encode = json.JSONEncoder(separators=(",", ":")).encode


class RequestError(Exception):
    """A JSON-RPC error, received or to be sent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @classmethod
    def received(cls, error: Any) -> RequestError:
        """Read the ``error`` of an answer, however it is made."""
        known = error if isinstance(error, dict) else {"message": str(error)}
        code, message = known.get("code"), known.get("message")
        return cls(
            code if isinstance(code, int) else INTERNAL_ERROR,
            message if isinstance(message, str) else "Error",
            known.get("data"),
        )

    def to_json(self) -> dict[str, Any]:
        """The ``error`` of an answer."""
        return {"code": self.code, "message": str(self), "data": self.data}


class Writer(Protocol):
    """What a connection needs of an `asyncio.StreamWriter`."""

    def write(self, data: bytes, /) -> None:
        """Write, now or soon."""

    async def drain(self) -> None:
        """Come back when little is left to write."""

    def is_closing(self) -> bool:
        """Whether nobody reads any more."""


class Connection:
    """The conversation with one client."""

    def __init__(self, reader: asyncio.StreamReader, writer: Writer, name: str) -> None:
        self.name = name
        self._reader = reader
        self._writer = writer
        self._draining = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0
        self._closed = False

    async def serve(self, methods: Mapping[str, Method], notifications: Mapping[str, Method]) -> None:
        """Serve the client until it closes its end; what is not answered then is given up."""
        tasks: set[asyncio.Task[None]] = set()
        try:
            while line := await self._line():
                message = self._message(line)
                name = message.get("method")
                if name is None:
                    self._resolve(message)
                    continue
                known = isinstance(name, str)
                if "id" in message:
                    task = asyncio.create_task(self._answer(message, methods.get(name) if known else None))
                elif known and name in notifications:
                    task = asyncio.create_task(self._notify(notifications[name], message))
                else:
                    continue
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            self._close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, method: str, params: object, *, take_back: bool = False) -> Any:
        """Ask the client, and wait for its answer."""
        number, self._next = self._next, self._next + 1
        answer = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        self._waiting[number] = answer
        try:
            return await answer
        except asyncio.CancelledError:
            if take_back and not self._gone:
                self._send({"method": CANCEL, "params": {"requestId": number}})
            raise
        finally:
            self._waiting.pop(number, None)

    async def tell(self, method: str, params: object) -> None:
        """Tell the client something; comes back when it has read most of what was sent before."""
        self._send({"method": method, "params": params})
        async with self._draining:  # before Python 3.10.5 only one may wait
            await self._writer.drain()
        await asyncio.sleep(0)  # whoever tells much lets others have their turn

    def write(self, data: bytes) -> None:
        """Write raw bytes, between two messages."""
        if self._gone:
            raise ConnectionError("The client is gone.")
        self._writer.write(data)

    @property
    def _gone(self) -> bool:
        return self._closed or self._writer.is_closing()

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ValueError as error:  # over the reader's limit: there is no finding the next line
            self._complain(f"a message is too long: {error}")
            return b""

    async def _answer(self, message: dict[str, Any], method: Method | None) -> None:
        answer: dict[str, Any] = {"id": message["id"]}
        try:
            if method is None:
                raise RequestError(METHOD_NOT_FOUND, "Method not found", {"method": message["method"]})
            answer["result"] = await method(message.get("params"))
        except RequestError as refused:
            answer["error"] = refused.to_json()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, the client gets an answer
            if self._gone:
                return
            traceback.print_exc()
            answer["error"] = RequestError(INTERNAL_ERROR, "Internal error", {"details": str(error)}).to_json()
        if not self._gone:
            self._send(answer)

    def _resolve(self, message: dict[str, Any]) -> None:
        number: Any = message.get("id")
        own = isinstance(number, int) and not isinstance(number, bool)
        waiting = self._waiting.pop(number, None) if own else None
        if waiting is None or waiting.done():
            return
        if "error" in message and "result" not in message:
            waiting.set_exception(RequestError.received(message["error"]))
        else:
            waiting.set_result(message.get("result"))

    def _send(self, message: dict[str, Any]) -> None:
        self.write(_encode(msgspec.to_builtins({"jsonrpc": "2.0", **message})).encode() + b"\n")

    def _close(self) -> None:
        self._closed = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("The client is gone."))

    async def _notify(self, take: Method, message: dict[str, Any]) -> None:
        try:
            await take(message.get("params"))
        except RequestError as error:
            self._complain(f"{message['method']} is ignored: {error}: {error.data}")

    def _message(self, line: bytes) -> dict[str, Any]:
        """The message in a line; an empty one if there is none."""
        if line.isspace():
            return {}
        try:
            message = read_json(line)
        except ValueError as error:
            self._complain(f"a line of {len(line)} bytes is no message: {error}")
            return {}
        if isinstance(message, dict):
            return message
        self._complain(f"a line of {len(line)} bytes is no message: it holds no object")
        return {}

    def _complain(self, what: str) -> None:
        sys.stderr.write(f"{self.name}: {what}\n")
        sys.stderr.flush()
