"""A client of one MCP server: connects to it, lists and calls its tools, and disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client import ignoring_refusal
from agentnb.plugins.acp_agent.client_requests import StdioServer
from agentnb.rpc import MCP_CLIENT, Connection
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from agentnb.plugins.acp_agent.client import AcpClient
    from agentnb.plugins.acp_agent.client_requests import McpServer

PROTOCOL = "2025-06-18"
"""The supported version of the Model Context Protocol."""

PATIENCE = 20.0
"""Seconds that a server gets for one answer; a tool call may take longer, since it may wait for the user."""

FAREWELL = 2.0
LONGEST_LINE = 16 * 1024 * 1024


class McpTrouble(Exception):
    """The server cannot be started, does not answer, or refuses; the message is for people."""


class McpClient:
    """A connection to one MCP server."""

    def __init__(self, ask: Callable[[str, Any], Awaitable[Any]], tell: Callable[[str], Any]) -> None:
        self.about: dict[str, Any] = {}
        self._ask = ask
        self._tell = tell

    async def tools(self) -> list[dict[str, Any]]:
        """Returns every tool that the server offers, over as many pages as there are."""
        tools: list[dict[str, Any]] = []
        cursor: Any = None
        while True:
            page = await self.request("tools/list", {"cursor": cursor} if cursor else {})
            tools += [tool for tool in page.get("tools") or [] if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if not cursor:
                return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; returns the result as sent."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments}, None)

    async def request(self, method: str, params: dict[str, Any], patience: float | None = PATIENCE) -> dict[str, Any]:
        """Send a request, and wait *patience* seconds for the result."""
        try:
            result = await asyncio.wait_for(self._ask(method, params), patience)
        except asyncio.TimeoutError:
            raise McpTrouble(f"it did not answer `{method}` within {patience:g} s") from None
        except RpcError as refused:
            raise McpTrouble(f"it refused `{method}`: {refused}") from None
        return result if isinstance(result, dict) else {}

    async def greet(self, name: str) -> None:
        """Agree on the protocol with the server."""
        offer = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        answer = await self.request("initialize", offer)
        about = answer.get("serverInfo")
        self.about = about if isinstance(about, dict) else {}
        self._tell("notifications/initialized")


@contextlib.asynccontextmanager
async def reached(server: McpServer, cwd: Path, client: AcpClient) -> AsyncIterator[McpClient]:
    """Start *server* in *cwd*, or connect to the *client*'s own; either is ended after the block."""
    if isinstance(server, StdioServer):
        async with _started(server, cwd, client.name) as started:
            yield started
        return
    try:
        answer = await client.ask("mcp/connect", {"serverId": server.server_id})
    except RpcError as refused:
        raise McpTrouble(f"it cannot be connected to: {refused}") from None
    name = answer.get("connectionId") if isinstance(answer, dict) else None
    if not isinstance(name, str):
        raise McpTrouble("it cannot be connected to: the client names no connection")
    try:
        over_acp = _over_acp(client, name)
        await over_acp.greet(client.name)
        yield over_acp
    finally:
        disconnecting = ignoring_refusal(client.ask("mcp/disconnect", {"connectionId": name}))
        await asyncio.shield(asyncio.ensure_future(disconnecting))


def _over_acp(client: AcpClient, connection: str) -> McpClient:
    def message(method: str, **more: Any) -> dict[str, Any]:
        return {"connectionId": connection, "method": method, **more}

    return McpClient(
        lambda method, params: client.ask("mcp/message", message(method, params=params)),
        lambda method: client.notify("mcp/message", message(method)),
    )


@contextlib.asynccontextmanager
async def _started(server: StdioServer, cwd: Path, name: str) -> AsyncIterator[McpClient]:
    """Start *server* in *cwd*, as the client described it; it is ended after the block."""
    env = {**os.environ, **{each.name: each.value for each in server.env}}
    try:
        process = await asyncio.create_subprocess_exec(
            server.command,
            *server.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=env,
        )
    except OSError as error:
        raise McpTrouble(f"`{server.command}` cannot be started: {error.strerror or error}") from None
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise McpTrouble("it has no stdin or no stdout")
    connection = Connection(stdin.write, MCP_CLIENT, longest=LONGEST_LINE)
    reading = asyncio.ensure_future(_read(process, stdout, connection))
    try:
        client = McpClient(connection.request, lambda method: connection.notify(method, {}))
        await client.greet(name)
        yield client
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(process)))
        reading.cancel()  # the server's child processes may keep its stdout open
        with contextlib.suppress(asyncio.CancelledError):
            await reading


async def _read(process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, connection: Connection) -> None:
    await connection.read(stdout)
    connection.close(McpTrouble(f"it ended with exit code {await process.wait()}"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the process's stdin, and kill it if it does not end then."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), FAREWELL)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
