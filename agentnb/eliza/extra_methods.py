"""Methods of ACP that the official SDK (0.12) does not route to an agent yet.

The SDK has types for `session/delete` and `logout` but calls no method of the agent's for them; it answers
`$/cancel_request` with an error; and it cannot send the requests of MCP over ACP. :class:`MessageRouter` handles these
and passes everything else on to the SDK, untouched and in order.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from acp import RequestError
from pydantic import ValidationError

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Method = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

OWN = "eliza-"  # how the ids of requests begin that are not the SDK's
CANCEL = "$/cancel_request"
"""Ignored: the only request of eliza's that takes long is a turn, and that has `session/cancel`."""


class Wire:
    """Requests of eliza's own, beside those of the SDK.

    Args:
        write: Puts raw bytes on the wire, between two messages.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client; given up, it is told so.

        Returns:
            The answer, with its ``result`` or its ``error``.
        """
        self._last += 1
        name = f"{OWN}{self._last}"
        answer = self._waiting[name] = asyncio.get_running_loop().create_future()
        self._send({"id": name, "method": method, "params": params})
        try:
            said: dict[str, Any] = await answer
        except asyncio.CancelledError:
            self.tell(CANCEL, {"requestId": name})
            raise
        finally:
            self._waiting.pop(name, None)
        return said

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Tell the client something."""
        self._send({"method": method, "params": params})

    def receive(self, message: dict[str, Any]) -> bool:
        """Take *message* if it answers a request made here; says whether it did."""
        name = message.get("id")
        if "method" in message or not isinstance(name, str) or not name.startswith(OWN):
            return False
        waiting = self._waiting.get(name)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
        return True

    def _send(self, message: dict[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


class MessageRouter:
    """Reads the client's messages, answers those that the SDK does not route, and passes the others on.

    Args:
        reader: The stream from the client.
        write: Writes raw bytes to the client, between two messages.
        methods: The methods that are answered here.
        wire: Where eliza's own requests wait for their answers.
        limit: The largest size of one message, in bytes.

    Attributes:
        passed: The messages for the SDK.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        write: Callable[[bytes], None],
        methods: Mapping[str, Method],
        wire: Wire,
        *,
        limit: int,
    ) -> None:
        self.passed = asyncio.StreamReader(limit=limit)
        self._reader = reader
        self._write = write
        self._methods = methods
        self._wire = wire
        self._words = [*(json.dumps(name).encode() for name in (CANCEL, *methods)), f'"{OWN}'.encode()]

    async def run(self) -> None:
        """Route messages until the client closes its end."""
        try:
            while line := await self._reader.readline():
                if not await self._answered(line):
                    self.passed.feed_data(line)
        finally:
            self.passed.feed_eof()

    async def _answered(self, line: bytes) -> bool:
        if not any(word in line for word in self._words):
            return False
        try:
            message = read_json(line)
        except ValueError:
            return False
        if not isinstance(message, dict):
            return False
        method = message.get("method")
        if method == CANCEL or self._wire.receive(message):
            return True
        if not isinstance(method, str) or method not in self._methods or "id" not in message:
            return False
        answer = {"jsonrpc": "2.0", "id": message["id"], **await self._outcome(method, message.get("params"))}
        self._write(json.dumps(answer).encode() + b"\n")
        return True

    async def _outcome(self, method: str, params: Any) -> dict[str, Any]:
        try:
            return {"result": await self._methods[method](params if isinstance(params, dict) else {})}
        except RequestError as refused:
            return {"error": refused.to_error_obj()}
        except ValidationError as error:
            return {"error": RequestError.invalid_params({"details": str(error)}).to_error_obj()}
