"""MCP servers that an agent may use, read from the forms in which people write them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Union

import msgspec

from agentnb.errors import UsageError
from agentnb.safe_json import read_json

_HINT = 'For example: {"name": "files", "command": "mcp-files", "args": ["."]} or {"name": "docs", "url": "https://…"}.'

McpConfiguration = Union[Iterable[Any], Mapping[str, Any], str, "os.PathLike[str]", None]
"""The forms in which a user may give MCP servers."""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """One MCP server (ACP ``McpServer``)."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    def program(self, cwd: Path, path: str | None = None) -> str | None:
        """The program's absolute path, as ACP requires; None if it is not found."""
        where = str(cwd / Path(self.command).expanduser()) if "/" in self.command else self.command
        return shutil.which(where, path=self.env.get("PATH", path))

    def words(self, cwd: Path) -> tuple[str, ...]:
        """The program, with its absolute path if it is found, and its arguments."""
        return self.program(cwd) or self.command, *self.args


def mcp_servers(configured: McpConfiguration) -> tuple[McpServer, ...]:
    if isinstance(configured, (str, os.PathLike)):
        return mcp_servers(_from_file(Path(configured).expanduser()))
    if isinstance(configured, Mapping):
        inner = configured.get("mcpServers", configured)
        if not isinstance(inner, Mapping):
            raise UsageError("`mcpServers` must be a mapping of names to servers.", hint=_HINT)
        listed: list[Any] = [
            {**server, "name": name} if isinstance(server, Mapping) else server for name, server in inner.items()
        ]
    elif not isinstance(configured, (Iterable, type(None))):
        raise UsageError("mcp_servers must be a list of servers.", hint=_HINT)
    else:
        listed = list(configured or ())
    servers = tuple(server if isinstance(server, McpServer) else _server(server) for server in listed)
    names = [server.name for server in servers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Two MCP servers are called {twice[0]!r}.", hint="Give each a name of its own.")
    return servers


def together(own: Iterable[McpServer], extra: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """*own* and *extra*; if two have the same name, the one in *extra* counts."""
    return tuple({server.name: server for server in (*own, *extra)}.values())


def _from_file(path: Path) -> Any:
    try:
        content = read_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The MCP servers in {str(path)!r} cannot be read: {error.strerror}.", hint=_HINT) from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r} is not JSON: {error}.", hint=_HINT) from error
    if not isinstance(content, (dict, list)):
        raise UsageError(f"{str(path)!r} contains no MCP servers.", hint=_HINT)
    return content


def _server(entry: Any) -> McpServer:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise UsageError("An MCP server must be a mapping with a name.", hint=_HINT)
    name, command, url = entry["name"], entry.get("command"), entry.get("url")
    if isinstance(command, str) and command and url is None:
        args = entry.get("args", ())
        if not isinstance(args, (list, tuple)) or not all(isinstance(word, str) for word in args):
            raise UsageError(f"The arguments of the MCP server {name!r} must be a list of words.", hint=_HINT)
        env = _mapping(name, entry.get("env"))
        return McpServer(name=name, transport="stdio", command=command, args=tuple(args), env=env)
    if isinstance(url, str) and url.startswith(("http://", "https://")) and command is None:
        transport: Literal["http", "sse"] = "sse" if entry.get("type") == "sse" else "http"
        return McpServer(name=name, transport=transport, url=url, headers=_mapping(name, entry.get("headers")))
    raise UsageError(f"The MCP server {name!r} needs either a command or an http address.", hint=_HINT)


def _mapping(name: str, pairs: Any) -> dict[str, str]:
    if isinstance(pairs, (list, tuple)):
        pairs = {each.get("name"): each.get("value") for each in pairs if isinstance(each, Mapping)}
    values = dict(pairs or {}) if isinstance(pairs, Mapping) or pairs is None else None
    if values is None or not all(isinstance(word, str) for pair in values.items() for word in pair):
        raise UsageError(f"The variables or headers of the MCP server {name!r} must map names to text.", hint=_HINT)
    return values
