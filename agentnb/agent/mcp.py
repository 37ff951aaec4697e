"""MCP servers that the user lends to an agent: read from what people write, told in ACP's words.

Their environment and headers hold keys: only names and addresses are ever shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from agentnb.errors import UsageError

_HINT = 'For example: {"name": "files", "command": "mcp-files", "args": ["."]} or {"name": "docs", "url": "https://…"}.'


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """One MCP server (ACP ``McpServer``).

    Args:
        name: What the agent calls it.
        transport: How it is reached.
        command: The program, for ``stdio``.
        args: Its arguments.
        env: Its environment, on top of the agent's.
        url: The address, for ``http`` and ``sse``.
        headers: HTTP headers.
    """

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    def to_acp(self) -> dict[str, Any]:
        """As ACP wants it in ``session/new``."""
        if self.transport == "stdio":
            return {"name": self.name, "command": self.command, "args": list(self.args), "env": _pairs(self.env)}
        return {"type": self.transport, "name": self.name, "url": self.url, "headers": _pairs(self.headers)}


def mcp_servers(given: Iterable[Any] | Mapping[str, Any] | None) -> tuple[McpServer, ...]:
    """Read MCP servers from what a user gives.

    Args:
        given: A list of servers, or a mapping of names to servers as in other tools' ``mcp.json``. A server is a
            mapping with ``command`` (and ``args``, ``env``) or with ``url`` (and ``headers``; ``type`` is ``"http"``
            unless it says ``"sse"``), or an :class:`McpServer`. ``env`` and ``headers`` are mappings, or lists of
            ``name`` and ``value`` as in ACP.

    Raises:
        UsageError: If one makes no sense, or two have the same name.

    Example:
        >>> [server.transport for server in mcp_servers({"docs": {"url": "https://example.org/mcp"}})]
        ['http']
    """
    listed: list[Any]
    if isinstance(given, Mapping):
        inner = given.get("mcpServers", given)
        if not isinstance(inner, Mapping):
            raise UsageError("`mcpServers` is a mapping of names to servers.", hint=_HINT)
        listed = [{**server, "name": name} if isinstance(server, Mapping) else server for name, server in inner.items()]
    elif isinstance(given, str) or not isinstance(given, (Iterable, type(None))):
        raise UsageError("mcp_servers is a list of servers.", hint=_HINT)
    else:
        listed = list(given or ())
    servers = tuple(server if isinstance(server, McpServer) else _server(server) for server in listed)
    names = [server.name for server in servers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Two MCP servers are called {twice[0]!r}.", hint="Give each a name of its own.")
    return servers


def offered(servers: Iterable[McpServer], capabilities: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """What an agent can be given of *servers*.

    Args:
        servers: The servers.
        capabilities: The agent's ``mcpCapabilities``; every agent can do ``stdio``.

    Returns:
        The servers in ACP's words, and the names of those that the agent cannot reach.
    """
    able = [server for server in servers if server.transport == "stdio" or capabilities.get(server.transport) is True]
    return [server.to_acp() for server in able], [server.name for server in servers if server not in able]


def _server(given: Any) -> McpServer:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str) or not given["name"]:
        raise UsageError("An MCP server is a mapping with a name.", hint=_HINT)
    name, command, url = given["name"], given.get("command"), given.get("url")
    if isinstance(command, str) and command and url is None:
        args = given.get("args", ())
        if not isinstance(args, (list, tuple)) or not all(isinstance(word, str) for word in args):
            raise UsageError(f"The arguments of the MCP server {name!r} are a list of words.", hint=_HINT)
        env = _mapping(name, given.get("env"))
        return McpServer(name=name, transport="stdio", command=command, args=tuple(args), env=env)
    if isinstance(url, str) and url.startswith(("http://", "https://")) and command is None:
        transport: Literal["http", "sse"] = "sse" if given.get("type") == "sse" else "http"
        return McpServer(name=name, transport=transport, url=url, headers=_mapping(name, given.get("headers")))
    raise UsageError(f"The MCP server {name!r} wants either a command or an http address.", hint=_HINT)


def _mapping(name: str, given: Any) -> dict[str, str]:
    if isinstance(given, (list, tuple)):
        given = {each.get("name"): each.get("value") for each in given if isinstance(each, Mapping)}
    found = dict(given or {}) if isinstance(given, Mapping) or given is None else None
    if found is None or not all(isinstance(word, str) for pair in found.items() for word in pair):
        raise UsageError(f"The variables or headers of the MCP server {name!r} are texts by name.", hint=_HINT)
    return found


def _pairs(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]
