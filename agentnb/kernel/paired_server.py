"""The MCP server of a paired kernel, for one program that has connected to its socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agentnb.kernel.paired_connection import ENDED, LINGER_SECONDS
from agentnb.kernel.paired_kernels import DESCRIBE
from agentnb.kernel.server import ToolMcpServer
from agentnb.rpc_message import INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.rpc import Connection

_LONGEST_WORD = 40


class ClientInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The name that a program gives itself (MCP ``clientInfo``), short and on one line; it is not trusted."""

    name: str = ""
    title: str = ""
    version: str = ""

    @classmethod
    def read(cls, value: Any) -> ClientInfo:
        """Read what was sent, whatever it is."""
        fields = value if isinstance(value, dict) else {}
        return cls(**{key: _clean(fields.get(key)) for key in cls.__struct_fields__})


class Program(Protocol):
    """The host's side of the program."""

    end_connection: Callable[[str], object]
    """Ends the connection; called with the reason."""

    @property
    def progress_seconds(self) -> float:
        """Returns how often the program is told what its call waits for."""
        ...

    @property
    def waits_for(self) -> str:
        """The reason why its calls wait."""
        ...

    async def describe(self) -> dict[str, Any]:
        """The description of the kernel, from which a program chooses."""
        ...

    def introduce(self, info: ClientInfo) -> None:
        """The program says who it is; from now on it calls tools."""

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name*; the result is an MCP ``CallToolResult``."""
        ...

    def leave(self) -> None:
        """The connection has ended; no effect where that is known."""


class PairedServer(ToolMcpServer):
    """Serves one connection."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        program.end_connection = self._end
        self._program = program
        self._connection: Connection | None = None
        self._hang_up: Callable[[], object] = lambda: None
        self._introduced = False
        self._ended: str | None = None

    def opened(self, connection: Connection, hang_up: Callable[[], object]) -> None:
        """The connection is open; see :meth:`ToolMcpServer.opened`."""
        self._connection, self._hang_up = connection, hang_up

    def closed(self) -> None:
        """The connection has ended."""
        self._program.leave()

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer one request; see :meth:`ToolMcpServer.request`."""
        if self._ended is not None:
            raise RpcError(INVALID_REQUEST, self._ended)
        if method == DESCRIBE:
            return await self._program.describe()
        if method == "initialize":
            if self._introduced:
                raise RpcError(INVALID_REQUEST, "initialize was sent before.")
            self._program.introduce(ClientInfo.read(params.get("clientInfo")))
            self._introduced = True
        if method != "tools/call":
            return await super().request(method, params)
        if not self._introduced:
            raise RpcError(INVALID_REQUEST, "Send initialize first.")
        return await self._with_progress(params)

    async def _with_progress(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run a call; its program, if it wants that, hears what it waits for (MCP ``notifications/progress``)."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        call = asyncio.ensure_future(super().request("tools/call", params))
        times = 0
        try:
            while not (await asyncio.wait([call], timeout=None if token is None else self._program.progress_seconds))[
                0
            ]:
                times += 1
                if self._connection is not None:
                    progress = {"progressToken": token, "progress": times, "message": self._program.waits_for}
                    self._connection.notify("notifications/progress", progress)
            return call.result()
        except asyncio.CancelledError:
            call.cancel()
            raise

    def _end(self, reason: str) -> None:
        """Say why, and end the connection where the program does not."""
        if self._ended is None:
            self._ended = reason
            if self._connection is not None:
                self._connection.notify(ENDED, {"reason": reason})
                asyncio.get_running_loop().call_later(LINGER_SECONDS, self._hang_up)


def _clean(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    return " ".join("".join(each if each.isprintable() else " " for each in text[:_LONGEST_WORD]).split())
