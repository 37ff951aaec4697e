"""MCP over ACP: tools that the client serves to the agent on the same wire (``mcp/connect``, ``mcp/message``)."""

from __future__ import annotations

import re
from typing import Any

from agentnb.acp.fields import mapping, objects

CONNECT, MESSAGE, DISCONNECT = "mcp/connect", "mcp/message", "mcp/disconnect"
CHANGED = "agentnb/changed"
"""The key, in the ``_meta`` of a kernel tool's answer, of the variables that the code changed."""
BRIDGE_VARIABLE = "AGENTNB_KERNEL_SOCKET"
"""The environment variable that identifies the program that connects an agent with the kernel's tools."""
FIELDS = ("serverId", "connectionId")


def served(params: Any) -> dict[str, str]:
    """Returns the names, by id, of the servers that the client itself provides to the session opened with *params*."""
    return {
        server["serverId"]: re.sub(r"[⟦⟧\s]+", " ", str(server.get("name")))
        for server in _servers(params)
        if server.get("type") == "acp" and isinstance(server.get("serverId"), str)
    }


def names(params: Any) -> list[str]:
    return sorted(str(server.get("name")) for server in _servers(params))


def addressed(method: Any, params: Any) -> tuple[str | None, str | None]:
    """Returns the server and the connection that a message is for; None for each that it does not name."""
    if method not in (CONNECT, MESSAGE, DISCONNECT) or not isinstance(params, dict):
        return None, None
    server, connection = (params.get(field) for field in FIELDS)
    return server if isinstance(server, str) else None, connection if isinstance(connection, str) else None


def connected(answer: Any) -> str | None:
    """Returns the connection in an answer to ``mcp/connect``."""
    connection = mapping(answer).get("connectionId")
    return connection if isinstance(connection, str) else None


def _servers(params: Any) -> list[dict[str, Any]]:
    return objects(mapping(params).get("mcpServers"))


def with_plain_bridge(params: Any) -> Any:
    """Remove this run's interpreter, folder and socket from the kernel tools' server in *params*: none is contacted."""
    if not any(_is_bridge(server) for server in _servers(params)):
        return params
    plain = {"command": "python", "args": [], "env": []}
    servers = [{**server, **plain} if _is_bridge(server) else server for server in params["mcpServers"]]
    return {**params, "mcpServers": servers}


def _is_bridge(server: Any) -> bool:
    """True if an entry of ``mcpServers`` is the program that connects an agent to the kernel's tools."""
    return any(each.get("name") == BRIDGE_VARIABLE for each in objects(mapping(server).get("env")))
