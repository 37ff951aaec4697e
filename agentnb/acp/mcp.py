"""MCP over ACP: the MCP servers that we serve ourselves, on the agent's own wire (``mcp/connect``, ``mcp/message``).

These messages name no session: a server's id, which is told when a session is opened, leads to it, then the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.failure import INVALID_PARAMS, RpcError
from agentnb.acp.fields import mapping
from agentnb.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = ("mcp/connect", "mcp/message", "mcp/disconnect")
MESSAGE = METHODS[1]


class Server(Protocol):
    """What answers on one connection."""

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Answer one MCP request, or raise :class:`RpcError`."""


class Served:
    """The servers that one agent's process is served, and its connections to them."""

    def __init__(self) -> None:
        self._servers: dict[str, Callable[[], Server]] = {}
        self._connections: dict[str, tuple[str, Server]] = {}

    def offer(self, server_id: str, make: Callable[[], Server]) -> None:
        """From now on let the agent connect to *server_id*; *make* makes what answers on a connection."""
        self._servers[server_id] = make

    def withdraw(self, server_id: str) -> None:
        """Serve *server_id* no more; connections to it end."""
        self._servers.pop(server_id, None)
        self._connections = {name: held for name, held in self._connections.items() if held[0] != server_id}

    async def serve(self, method: str, params: dict[str, Any]) -> Any:
        """Answer one of :data:`METHODS`.

        Raises:
            RpcError: If there is no such server or connection, or the server refuses.
        """
        if method == METHODS[0]:
            return self._connect(params.get("serverId"))
        connection = params.get("connectionId")
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
