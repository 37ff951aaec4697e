"""The tools of a turn: which are offered, and the calls of the model."""

from __future__ import annotations

import contextlib
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client import PermissionOption
from agentnb.plugins.acp_agent.client_requests import StdioServer
from agentnb.plugins.acp_agent.client_tools import call_tool
from agentnb.plugins.acp_agent.mcp import McpTrouble, reached
from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.local.tools import OfferedTool, ToolFailed, own_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.acp_agent.reply import AcpReply, AcpToolCall
    from agentnb.plugins.local.completion import ModelToolCall


MOST_TOOLS = 64
"""Tools of one server that are offered."""
LONGEST_NAME = 64
"""Characters that a tool's name may have in the OpenAI-compatible API."""

_PICTURE = "(A picture, which the user sees.)"
_NO_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
_OPTIONS = (
    PermissionOption(option_id="allow", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="reject", name="Reject once", kind="reject_once"),
)


def offered_tools(
    server: McpServer, client: McpClient, described: list[dict[str, Any]], taken: set[str]
) -> list[OfferedTool]:
    tools: list[OfferedTool] = []
    for each in described[:MOST_TOOLS]:
        own_name = each.get("name")
        if not isinstance(own_name, str):
            continue
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server.name}_{own_name}")[:LONGEST_NAME]
        if name in taken or any(name == tool.name for tool in tools):
            continue
        schema, description = each.get("inputSchema"), each.get("description")
        run = partial(_call, server=server, client=client, name=name, tool=each)
        tools.append(
            OfferedTool(
                name,
                description if isinstance(description, str) else "",
                schema if isinstance(schema, dict) else _NO_SCHEMA,
                run,
            )
        )
    return tools


async def _call(
    reply: AcpReply, arguments: dict[str, Any], *, server: McpServer, client: McpClient, name: str, tool: dict[str, Any]
) -> str:
    title = tool.get("title")
    call = await reply.start_tool(title if isinstance(title, str) else name, "other", raw_input=arguments, name=name)
    if isinstance(server, StdioServer):
        await _ask(reply, call)
    try:
        blocks, failed = await call_tool(call, client, tool["name"], arguments)
    except McpTrouble as trouble:
        raise ToolFailed(str(trouble)) from None
    text = "\n".join(block if isinstance(block, str) else _PICTURE for block in blocks) or "Done."
    if failed:
        raise ToolFailed(text)
    return text


async def _ask(reply: AcpReply, call: AcpToolCall) -> None:
    async with reply.asking("session/request_permission", call):
        answer = await reply.client.request_permission(reply.session.session_id, call.described(), _OPTIONS)
    if answer != _OPTIONS[0].option_id:
        await call.update("failed")
        raise ToolFailed("The user did not allow it.")


LONGEST_RESULT = 24_000
"""Characters of a result that the model gets."""


class ToolSet:
    """The tools of one turn; falsy if there are none."""

    def __init__(self, reply: AcpReply, tools: list[OfferedTool], troubles: list[str]) -> None:
        self._reply = reply
        self._tools = {tool.name: tool for tool in tools}
        self.troubles = troubles

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, reply: AcpReply, *, enabled: bool) -> AsyncIterator[ToolSet]:
        """The agent's own tools and those of the session's MCP servers, which are closed after the block."""
        tools = own_tools(reply) if enabled else []
        troubles: list[str] = []
        async with contextlib.AsyncExitStack() as stack:
            for server in reply.session.mcp_servers if enabled else ():
                try:
                    client = await stack.enter_async_context(reached(server, reply.session.cwd, reply.client))
                    described = await client.tools()
                except McpTrouble as trouble:
                    troubles.append(f"The MCP server {server.name} cannot be used: {trouble}.")
                else:
                    tools += offered_tools(server, client, described, {tool.name for tool in tools})
            yield cls(reply, tools, troubles)

    def __bool__(self) -> bool:
        return bool(self._tools)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._tools)

    def disable(self) -> None:
        self._tools = {}

    @property
    def described(self) -> list[dict[str, Any]]:
        """Returns the tools in the form of a request to the model."""
        return [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in self._tools.values()
        ]

    async def call(self, call: ModelToolCall) -> str:
        """Run *call*; an error is reported to the model, which may then do better."""
        try:
            return _cut(await self._called(call))
        except (ToolFailed, Trouble) as failed:
            return f"Failed: {failed}"

    async def _called(self, call: ModelToolCall) -> str:
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                raise ValueError(f"There is no tool {call.name[:80]!r}. There are: {', '.join(self._tools)}.")
            arguments = call.read_arguments()
            _check(arguments, tool.parameters)
        except ValueError as wrong:
            title = "Tool not available" if tool is None else f"{call.name[:80]}: wrong arguments"
            tool_call = await self._reply.start_tool(
                title, "other", raw_input={"tool": call.name[:80], "arguments": call.arguments[:LONGEST_RESULT]}
            )
            await tool_call.update("failed")
            raise ToolFailed(str(wrong)) from None
        return await tool.run(self._reply, arguments)


_TYPES = {"string": str, "integer": int}


def _check(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    """Raise an error for arguments that one of our tools cannot take."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name in schema.get("required") or ():
        if arguments.get(name) is None:
            raise ValueError(f"The argument {name!r} is missing; the tool takes {', '.join(properties)}.")
    for name, value in arguments.items():
        described = properties.get(name)
        wanted = described.get("type") if isinstance(described, dict) else None
        kind = _TYPES.get(wanted) if isinstance(wanted, str) else None
        if kind is not None and value is not None and type(value) is not kind:
            raise ValueError(f"The argument {name!r} must be of type {wanted}.")


def _cut(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    head, tail = LONGEST_RESULT * 2 // 3, LONGEST_RESULT // 3
    return f"{text[:head]}\n[… {len(text) - LONGEST_RESULT} characters left out …]\n{text[-tail:]}"
