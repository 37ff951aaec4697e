"""The tools of the client's MCP servers, as the model is offered them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client import PermissionOption
from agentnb.plugins.acp_agent.client_requests import StdioServer
from agentnb.plugins.acp_agent.client_tools import call_tool
from agentnb.plugins.acp_agent.mcp import McpTrouble
from agentnb.plugins.local.tools import OfferedTool, ToolFailed

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.acp_agent.reply import AcpReply, AcpToolCall

MOST_TOOLS = 64
"""How many tools of one server are offered."""
LONGEST_NAME = 64
"""How many characters the name of a tool may have in the OpenAI-compatible interface."""

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
    """Ask for permission."""
    async with reply.asking("session/request_permission", call):
        answer = await reply.client.request_permission(reply.session.session_id, call.described(), _OPTIONS)
    if answer != _OPTIONS[0].option_id:
        await call.update("failed")
        raise ToolFailed("The user did not allow it.")
