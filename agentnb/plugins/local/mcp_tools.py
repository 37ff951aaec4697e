"""The tools of the client's MCP servers, as the model is offered them.

What the client serves itself, the kernel's tools, asks its policy by itself. A call of any other server is asked for
first (ACP `session/request_permission`).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client import Chosen, PermissionOption
from agentnb.plugins.acp_agent.client_requests import StdioServer
from agentnb.plugins.acp_agent.content import ImageContent
from agentnb.plugins.acp_agent.mcp import McpTrouble
from agentnb.plugins.acp_agent.reply import shown_text
from agentnb.plugins.acp_agent.updates import ShownContent
from agentnb.plugins.local.tools import OfferedTool, ToolFailed

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.acp_agent.reply import Reply, Tool
    from agentnb.plugins.acp_agent.updates import ToolContent

MOST_TOOLS = 64
"""How many tools of one server are offered."""
LONGEST_NAME = 64
"""How many characters the name of a tool may have in the OpenAI-compatible interface."""

_NO_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
_OPTIONS = (
    PermissionOption(option_id="allow", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="reject", name="Reject once", kind="reject_once"),
)


def offered_tools(
    server: McpServer, client: McpClient, described: list[dict[str, Any]], taken: set[str]
) -> list[OfferedTool]:
    """The tools of *server*."""
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
    reply: Reply, given: dict[str, Any], *, server: McpServer, client: McpClient, name: str, tool: dict[str, Any]
) -> str:
    title = tool.get("title")
    call = await reply.start_tool(title if isinstance(title, str) else name, "other", raw_input=given, name=name)
    if isinstance(server, StdioServer):
        await _ask(reply, call)
    await call.update("in_progress")
    try:
        result = await client.call(tool["name"], given)
    except McpTrouble as trouble:
        await call.update("failed", content=[shown_text(str(trouble))])
        raise ToolFailed(str(trouble)) from None
    except BaseException:
        await call.update("failed")
        raise
    texts, shown = _read(result)
    failed = result.get("isError") is True
    await call.update("failed" if failed else "completed", content=shown)
    text = "\n".join(texts) or "Done."
    if failed:
        raise ToolFailed(text)
    return text


async def _ask(reply: Reply, call: Tool) -> None:
    """Ask for permission."""
    async with reply.asking("session/request_permission", call):
        answer = await reply.client.request_permission(reply.session.session_id, call.described(), [*_OPTIONS])
    if not isinstance(answer, Chosen) or answer.option_id != _OPTIONS[0].option_id:
        await call.update("failed")
        raise ToolFailed("The user did not allow it.")


def _read(result: dict[str, Any]) -> tuple[list[str], list[ToolContent]]:
    """What the model gets of a result, and what is shown."""
    texts: list[str] = []
    shown: list[ToolContent] = []
    content = result.get("content")
    for each in content if isinstance(content, list) else ():
        match each:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
                shown.append(shown_text(text))
            case {"type": "image", "data": str(data), "mimeType": str(kind)}:
                texts.append("(A picture, which the user sees.)")
                shown.append(ShownContent(content=ImageContent(data=data, mime_type=kind)))
    return texts, shown
