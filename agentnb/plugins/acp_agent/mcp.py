"""A client of one MCP server: reached, asked a few things, left.

On stdio it is started, and spoken to in newline-delimited JSON-RPC 2.0; over ACP it is the client's own, and spoken to
on the client's wire. One request at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client_requests import StdioServer
from agentnb.plugins.acp_agent.rpc import RequestError
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.rpc import Connection

PROTOCOL = "2025-06-18"
"""The version of the Model Context Protocol that is spoken."""

PATIENCE = 20.0
"""Seconds that a server gets for one answer; a tool may take longer, somebody may have to be asked."""

FAREWELL = 2.0
LONGEST_LINE = 16 * 1024 * 1024


class McpTrouble(Exception):
    """The server cannot be started, does not answer, or refuses; the message is for people."""


class McpClient:
    """One server that is reached. Made by :func:`reached`."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}

    async def tools(self) -> list[dict[str, Any]]:
        """Every tool that it offers, over as many pages as there are."""
        found: list[dict[str, Any]] = []
        cursor: Any = None
        while True:
            page = await self.request("tools/list", {"cursor": cursor} if cursor else {})
            found += [tool for tool in page.get("tools") or [] if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; returns the result as sent."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments}, None)

    async def request(self, method: str, params: dict[str, Any], patience: float | None = PATIENCE) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        try:
            answer = await asyncio.wait_for(self._asked(method, params), patience)
        except asyncio.TimeoutError:
            raise McpTrouble(f"it did not answer `{method}` within {patience:g} s") from None
        error = answer.get("error")
        if error is not None:
            said = error.get("message") if isinstance(error, dict) else error
            raise McpTrouble(f"it refused `{method}`: {said}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    async def greet(self, name: str) -> None:
        """Agree on the protocol."""
        offer = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        answer = await self.request("initialize", offer)
        about = answer.get("serverInfo")
        self.about = about if isinstance(about, dict) else {}
        await self._tell("notifications/initialized")

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer, as sent."""
        raise NotImplementedError

    async def _tell(self, method: str) -> None:
        raise NotImplementedError


class _OnStdio(McpClient):
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self._process = process
        self._last = 0

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        await self._send({"id": self._last, "method": method, "params": params})
        return await self._answer(self._last)

    async def _tell(self, method: str) -> None:
        await self._send({"method": method})

    async def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin is None:
            raise McpTrouble("it has no stdin")
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # the answer that does not come says so
            await self._process.stdin.drain()

    async def _answer(self, number: int) -> dict[str, Any]:
        while self._process.stdout is not None and (line := await self._process.stdout.readline()):
            with contextlib.suppress(ValueError):
                message = read_json(line)
                if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                    return message
        raise McpTrouble(f"it ended with exit code {await self._process.wait()}")


class _OverAcp(McpClient):
    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__()
        self._connection = connection
        self._name = name

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"connectionId": self._name, "method": method, "params": params}
        try:
            return {"result": await self._connection.ask("mcp/message", message, take_back=True)}
        except RequestError as refused:
            return {"error": {"message": str(refused)}}

    async def _tell(self, method: str) -> None:
        await self._connection.tell("mcp/message", {"connectionId": self._name, "method": method})


@contextlib.asynccontextmanager
async def reached(server: McpServer, cwd: Path, connection: Connection) -> AsyncIterator[McpClient]:
    """Start *server* in *cwd*, or connect to the client's own on *connection*; that is ended behind the block."""
    if isinstance(server, StdioServer):
        async with _started(server, cwd, connection.name) as client:
            yield client
        return
    try:
        answer = await connection.ask("mcp/connect", {"serverId": server.server_id}, take_back=True)
    except RequestError as refused:
        raise McpTrouble(f"it cannot be connected to: {refused}") from None
    name = answer.get("connectionId") if isinstance(answer, dict) else None
    if not isinstance(name, str):
        raise McpTrouble("it cannot be connected to: the client names no connection")
    try:
        over_acp = _OverAcp(connection, name)
        await over_acp.greet(connection.name)
        yield over_acp
    finally:
        await asyncio.shield(asyncio.ensure_future(_disconnect(connection, name)))


async def _disconnect(connection: Connection, name: str) -> None:
    with contextlib.suppress(RequestError, ConnectionError):
        await connection.ask("mcp/disconnect", {"connectionId": name})


@contextlib.asynccontextmanager
async def _started(server: StdioServer, cwd: Path, name: str) -> AsyncIterator[McpClient]:
    """Start *server* in *cwd*, as the client described it; it is ended behind the block."""
    env = {**os.environ, **{each.name: each.value for each in server.env}}
    try:
        process = await asyncio.create_subprocess_exec(
            server.command,
            *server.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=env,
            limit=LONGEST_LINE,
        )
    except OSError as error:
        raise McpTrouble(f"`{server.command}` cannot be started: {error.strerror or error}") from None
    try:
        client = _OnStdio(process)
        await client.greet(name)
        yield client
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(process)))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its stdin; what does not end then is killed."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), FAREWELL)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
