"""A connection to the socket of a paired kernel, from the program that a terminal agent starts (``agentnb mcp``)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.kernel.rpc import CANCELLED
from agentnb.rpc_message import RpcError
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

ENDED = "notifications/agentnb/ended"
"""What a kernel says before it ends a connection; ``reason`` says why.

The program then closes the connection. If the kernel closed it, a write of the program's would lose what it has not
read yet.
"""
LINGER_SECONDS = 2.0
"""How long the program may take for that."""
KERNEL_GONE = "The kernel has ended or was restarted."
PAIR_AGAIN = (
    "Ask the user to pair it again (`%agents pair` in a cell); then call `paired_notebooks` to see what there is."
)
_LONGEST_LINE = 16 * 1024 * 1024


class KernelGone(AgentnbError):
    """The connection has ended."""


class PairedConnection:
    """One connection; made by :meth:`opened`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.on_notification: Callable[[str, dict[str, Any]], object] = lambda _method, _params: None
        self._writer = writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ended: KernelGone | None = None
        self._reading = asyncio.ensure_future(self._read(reader))

    @classmethod
    async def opened(cls, path: str, token: str) -> PairedConnection:
        """Connect to the socket at *path* with its *token*."""
        reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)
        writer.write(token.encode() + b"\n")
        return cls(reader, writer)

    @property
    def ended(self) -> KernelGone | None:
        """Why the connection has ended; None while it is open."""
        return self._ended

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the kernel; where this is cancelled, the kernel is told so."""
        if self._ended is not None:
            raise self._ended
        number = next(self._ids)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self._send({"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": number}})
            raise
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End the connection; what is still asked fails."""
        self._end(KERNEL_GONE)
        self._reading.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        reason = KERNEL_GONE
        try:
            while line := await reader.readline():
                said = read_json(line)
                if isinstance(said, dict) and said.get("method") == ENDED:
                    reason = str(said.get("params", {}).get("reason"))
                    break
                if isinstance(said, dict):
                    self._take(said)
        except OSError:
            pass  # it is gone, whatever the system calls that
        except ValueError as error:
            reason = f"The kernel's answer could not be read: {error}."
        finally:
            self._end(reason)
            self._writer.close()

    def _take(self, said: dict[str, Any]) -> None:
        if isinstance(method := said.get("method"), str):
            params = said.get("params")
            self.on_notification(method, params if isinstance(params, dict) else {})
            return
        number = said.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        if "error" in said:
            answer.set_exception(RpcError.received(said["error"]))
        else:
            result = said.get("result")
            answer.set_result(result if isinstance(result, dict) else {})

    def _end(self, reason: str) -> None:
        if self._ended is None:
            self._ended = KernelGone(reason, hint=PAIR_AGAIN)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._ended)
