"""MCP servers as ACP describes them, and those that we serve ourselves on the agent's own wire (MCP over ACP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agentnb.acp.failure import answered
from agentnb.acp.fields import mapping
from agentnb.ids import new_id
from agentnb.rpc_message import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from agentnb.acp.peer import Tap
    from agentnb.agent.mcp import McpServer

METHODS = ("mcp/connect", "mcp/message", "mcp/disconnect")
MESSAGE = METHODS[1]


class ServedMcpServer(msgspec.Struct, frozen=True):
    """An MCP server that we serve on the agent's own wire."""

    name: str
    server_id: str


def described(
    servers: Iterable[McpServer | ServedMcpServer],
    capabilities: Mapping[str, Any],
    cwd: Path,
    path: str | None = None,
    *,
    on_stdio: bool = True,
) -> tuple[list[dict[str, Any]], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns *servers* in ACP's form, the names of those it cannot reach, and name and program of those not found."""
    descriptions: list[dict[str, Any]] = []
    unreachable: list[str] = []
    missing: list[tuple[str, str]] = []
    for server in servers:
        if isinstance(server, ServedMcpServer):
            descriptions.append({"type": "acp", "name": server.name, "serverId": server.server_id})
        elif server.transport == "stdio" and on_stdio:
            if (program := server.program(cwd, path)) is None:
                missing.append((server.name, server.command))
            command, env = program or server.command, _pairs(server.env)
            descriptions.append({"name": server.name, "command": command, "args": list(server.args), "env": env})
        elif capabilities.get(server.transport) is True:
            headers = _pairs(server.headers)
            descriptions.append({"type": server.transport, "name": server.name, "url": server.url, "headers": headers})
        else:
            unreachable.append(server.name)
    return descriptions, tuple(unreachable), tuple(missing)


def _pairs(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


class McpConnection(Protocol):
    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Answer one MCP request, or raise :class:`RpcError`."""


class Served:
    """The MCP servers that one agent's process can connect to on its wire, and its connections to them."""

    def __init__(self, tap: Tap | None = None) -> None:
        self._tap = tap
        self._servers: dict[str, Callable[[], McpConnection]] = {}
        self._connections: dict[str, tuple[str, McpConnection]] = {}

    def offer(self, server_id: str, make: Callable[[], McpConnection]) -> None:
        """Let the agent connect to *server_id* from now on; *make* creates the connection."""
        self._servers[server_id] = make

    def withdraw(self, server_id: str) -> None:
        """Stop serving *server_id*; its connections end."""
        self._servers.pop(server_id, None)
        self._connections = {name: held for name, held in self._connections.items() if held[0] != server_id}

    def asked_aside(
        self, server_id: str, method: str, params: dict[str, Any]
    ) -> Callable[[Any, BaseException | None], None]:
        """Record an MCP request that the agent made outside its wire as if on it; the result records the answer."""
        if self._tap is None:
            return lambda _result, _error: None
        record_answer = self._tap.served({"serverId": server_id, "method": method, "params": params})
        return lambda result, error: record_answer(result, None if error is None else answered(error).to_json())

    async def serve(self, method: str, params: dict[str, Any]) -> Any:
        """Answer one of :data:`METHODS`."""
        if method == METHODS[0]:
            return self._connect(params.get("serverId"))
        connection = params.get("connectionId")
        if connection is None and method == MESSAGE:  # a replay: the recorded connection's id is not valid here
            connection = self._connect(params.get("serverId"))["connectionId"]
        held = self._connections.get(connection) if isinstance(connection, str) else None
        if held is None:
            raise RpcError(INVALID_PARAMS, f"There is no MCP connection {connection!r}.")
        if method != MESSAGE:
            del self._connections[str(connection)]
            return {}
        wanted = params.get("method")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "`method` must be the MCP method's name.")
        return await held[1].request(wanted, mapping(params.get("params")))

    def _connect(self, server_id: Any) -> dict[str, str]:
        make = self._servers.get(server_id) if isinstance(server_id, str) else None
        if make is None:
            raise RpcError(INVALID_PARAMS, f"There is no MCP server {server_id!r}.")
        connection = new_id()
        self._connections[connection] = (str(server_id), make())
        return {"connectionId": connection}
