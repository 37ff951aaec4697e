"""JSON-RPC 2.0 between the bridge and the MCP server: each line is one message or a batch of messages."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.failure import answered
from agentnb.credentials import logger
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

    class Answers(Protocol):
        """Answers requests (:class:`agentnb.kernel.server.McpServer`)."""

        async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            """Answer one request, or raise RpcError."""
            ...


log = logger("agentnb.kernel")

CANCELLED = "notifications/cancelled"
_NOT_A_MESSAGE = "The line is not a JSON-RPC 2.0 message."


class JsonRpcConnection:
    """One connection to the MCP server.

    Requests are answered in the order in which they finish; a cancelled one gets no answer (MCP
    ``notifications/cancelled``).
    """

    def __init__(self, server: Answers, write: Callable[[bytes], None]) -> None:
        self._server = server
        self._write = write
        self._serving: dict[str, asyncio.Task[None]] = {}
        self.on_notification: Callable[[str, Any], None] = lambda _method, _params: None
        self._asked: dict[str, Callable[[dict[str, Any]], None]] = {}

    def receive(self, line: bytes) -> None:
        """Take one line from the bridge."""
        try:
            said = read_json(line)
        except ValueError:
            self._send(_error(None, RpcError(PARSE_ERROR, "The line is not JSON.")))
            return
        if isinstance(said, list) and said:
            self._keep("batch", self._batch(said))
        elif not _is_message(said):
            self._send(_error(None, RpcError(INVALID_REQUEST, _NOT_A_MESSAGE)))
        elif "id" in said and "method" in said:
            self._keep(repr(said["id"]), self._single(said))
        elif said.get("method") == CANCELLED:
            self._cancel(said.get("params"))
        elif "method" in said:
            self.on_notification(said["method"], said.get("params"))
        elif (done := self._asked.pop(repr(said.get("id")), None)) is not None:
            done(said)

    def ask(self, request: int | str, method: str, params: Any, done: Callable[[dict[str, Any]], None]) -> None:
        """Send a request; *done* gets the answer as it comes."""
        self._asked[repr(request)] = done
        self._send({"jsonrpc": "2.0", "id": request, "method": method, "params": params})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        """The other end is gone: cancel the requests that are still running for it."""
        for task in [*self._serving.values()]:
            task.cancel()

    async def _single(self, message: dict[str, Any]) -> None:
        self._send(await self._answer(message))

    async def _batch(self, messages: list[Any]) -> None:
        asked = [each for each in messages if not _is_message(each) or ("id" in each and "method" in each)]
        answers = [await self._answer(each) for each in asked]
        if answers:
            self._send(answers)

    async def _answer(self, message: Any) -> dict[str, Any]:
        if not _is_message(message):
            return _error(None, RpcError(INVALID_REQUEST, _NOT_A_MESSAGE))
        params = message.get("params")
        try:
            result = await self._server.request(message["method"], params if isinstance(params, dict) else {})
        except Exception as error:
            if not isinstance(error, RpcError):
                log.exception("serving %s failed", message["method"])
            return _error(message["id"], answered(error))
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _cancel(self, params: Any) -> None:
        task = self._serving.get(repr(params.get("requestId"))) if isinstance(params, dict) else None
        if task is not None:
            task.cancel()

    def _keep(self, key: str, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._serving[key] = task
        task.add_done_callback(lambda _: self._serving.pop(key, None))

    def _send(self, message: Any) -> None:
        try:
            data = json.dumps(message, ensure_ascii=True).encode()
        except Exception:
            log.exception("an answer cannot be written as JSON")
            request = message.get("id") if isinstance(message, dict) else None
            data = json.dumps(_error(request, RpcError(INTERNAL_ERROR, "no JSON"))).encode()
        self._write(data + b"\n")


def _is_message(said: Any) -> bool:
    return isinstance(said, dict) and said.get("jsonrpc") == "2.0" and isinstance(said.get("method", ""), str)


def _error(request: Any, error: RpcError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request, "error": error.to_json()}
