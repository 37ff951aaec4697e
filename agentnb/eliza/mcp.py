"""A client of one MCP server on stdio: started, asked a few things, ended.

Newline-delimited JSON-RPC 2.0, one request at a time: no more than `/mcp` needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from acp.schema import McpServerStdio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

PROTOCOL = "2025-06-18"
"""The version of the Model Context Protocol that is spoken."""

PATIENCE = 20.0
"""Seconds that a server gets for one answer."""

FAREWELL = 2.0
LONGEST_LINE = 16 * 1024 * 1024


class McpTrouble(Exception):
    """The server cannot be started, does not answer, or refuses; the message is for people."""


class McpClient:
    """One running server. Made by :func:`started`.

    Attributes:
        about: What the server says of itself: `name`, `version`.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.about: dict[str, Any] = {}
        self._process = process
        self._last = 0

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
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            McpTrouble: It refuses, ends, or does not answer in time.
        """
        self._last += 1
        await self._send({"id": self._last, "method": method, "params": params})
        try:
            answer = await asyncio.wait_for(self._answer(self._last), PATIENCE)
        except asyncio.TimeoutError:
            raise McpTrouble(f"it did not answer `{method}` within {PATIENCE:g} s") from None
        error = answer.get("error")
        if error is not None:
            said = error.get("message") if isinstance(error, dict) else error
            raise McpTrouble(f"it refused `{method}`: {said}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    async def greet(self) -> None:
        """Agree on the protocol."""
        offer = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "eliza", "version": "1"}}
        answer = await self.request("initialize", offer)
        about = answer.get("serverInfo")
        self.about = about if isinstance(about, dict) else {}
        await self._send({"method": "notifications/initialized"})

    async def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin is None:
            raise McpTrouble("it has no stdin")
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # the answer that does not come says so
            await self._process.stdin.drain()

    async def _answer(self, number: int) -> dict[str, Any]:
        while self._process.stdout is not None and (line := await self._process.stdout.readline()):
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                    return message
        raise McpTrouble(f"it ended with exit code {await self._process.wait()}")


def on_stdio(servers: Iterable[Any] | None) -> tuple[McpServerStdio, ...]:
    """Those of the client's *servers* that are reached over stdio."""
    return tuple(server for server in servers or () if isinstance(server, McpServerStdio))


@contextlib.asynccontextmanager
async def started(server: McpServerStdio, cwd: Path) -> AsyncIterator[McpClient]:
    """Start *server* in *cwd*, as the client described it; it is ended behind the block.

    Raises:
        McpTrouble: It cannot be started, or does not speak the protocol.
    """
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
        client = McpClient(process)
        await client.greet()
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
