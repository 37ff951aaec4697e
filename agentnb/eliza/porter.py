"""The porter: answers at the door what the SDK has words for and does not route to an agent yet.

The SDK (0.12) knows the forms of `session/delete` and `logout` and hands neither on; `$/cancel_request` it takes for an
error. Everything else goes past the porter untouched and in order.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from acp import RequestError
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Method = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

CANCEL = "$/cancel_request"
"""Nothing of eliza's takes long but a turn, and that has `session/cancel`: this may be passed over."""


class Porter:
    """Reads what a client writes, and lets through what is the SDK's.

    Args:
        reader: What the client writes.
        write: Puts raw bytes on the wire, between two messages.
        methods: What is answered here.
        limit: How many bytes one message may have.

    Attributes:
        passed: What is left for the SDK.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        write: Callable[[bytes], None],
        methods: Mapping[str, Method],
        *,
        limit: int,
    ) -> None:
        self.passed = asyncio.StreamReader(limit=limit)
        self._reader = reader
        self._write = write
        self._methods = methods
        self._words = [json.dumps(name).encode() for name in (CANCEL, *methods)]

    async def run(self) -> None:
        """Stand there until the client closes its end."""
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
            message = json.loads(line)
        except ValueError:
            return False
        method = message.get("method") if isinstance(message, dict) else None
        if method == CANCEL:
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
