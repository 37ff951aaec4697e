"""Commands that use what the client brought: MCP servers, and extension methods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp import RequestError, text_block, tool_content

from agentnb.eliza.commands.registry import Misuse, command, counted, first_word, needed
from agentnb.eliza.mcp import McpTrouble, started
from agentnb.eliza.reply import Trouble

if TYPE_CHECKING:
    from agentnb.eliza.reply import Reply


@command("mcp", "[SERVER [TOOL [JSON]]]", group="Acting", example='/mcp files read {"path": "data.csv"}')
async def mcp(reply: Reply, rest: str) -> None:
    """Names the MCP servers that came with the session; starts SERVER and lists its tools, or calls TOOL.

    JSON is an object with the tool's arguments. The server runs in the session's folder and ends with the command. Only
    servers on stdio are known to eliza.
    """
    name, rest = first_word(rest)
    if not name:
        await reply.say(_servers(reply))
        return
    server = next((each for each in reply.session.mcp_servers if each.name == name), None)
    if server is None:
        raise Trouble(f"There is no MCP server `{name}`. {_servers(reply)}")
    tool, rest = first_word(rest)
    arguments = _object(rest)
    try:
        async with started(server, reply.session.cwd) as client:
            if tool:
                await _call(reply, client.call(tool, arguments), f"{name}: {tool}", arguments)
            else:
                about = " ".join(str(client.about[key]) for key in ("name", "version") if client.about.get(key))
                tools = [f"- `{each.get('name')}`: {each.get('description', '')}" for each in await client.tools()]
                await reply.say(f"`{name}` is {about or 'nameless'}, with {counted(len(tools), 'tool')}:\n\n")
                await reply.say("\n".join(tools) + "\n")
    except McpTrouble as trouble:
        raise Trouble(f"The MCP server `{name}` failed: {trouble}.") from None


@command("extend", "METHOD [JSON]", group="Asking", example='/extend _zoo/feed {"animal": "otter"}')
async def extend(reply: Reply, rest: str) -> None:
    """Calls an extension method of the client, and says its answer.

    METHOD begins with an underscore; JSON is an object with its parameters.
    """
    method, rest = first_word(rest)
    if not needed(method, "METHOD").startswith("_"):
        raise Misuse(f"METHOD begins with an underscore, not `{method}`.")
    params = {"sessionId": reply.session.session_id, **_object(rest)}
    try:
        answer = await reply.client.ext_method(method.removeprefix("_"), params)
    except RequestError as refused:
        raise Trouble(f"The client refused `{method}`: {refused} ({refused.code}).") from None
    await reply.say(f"The client answered:\n\n```json\n{json.dumps(answer, indent=2)}\n```\n")


async def _call(reply: Reply, calling: Any, title: str, arguments: dict[str, Any]) -> None:
    call = await reply.start_tool(title, "other", raw_input=arguments)
    await call.update("in_progress")
    try:
        result = await calling
    except BaseException:
        await call.update("failed")
        raise
    text = "\n".join(str(block.get("text", "")) for block in result.get("content") or [] if isinstance(block, dict))
    failed = bool(result.get("isError"))
    await call.update("failed" if failed else "completed", content=[tool_content(text_block(text))], raw_output=result)
    await reply.say(f"`{title}` {'failed' if failed else 'said'}: {text}")


def _servers(reply: Reply) -> str:
    names = ", ".join(f"`{server.name}`" for server in reply.session.mcp_servers)
    return f"These came with the session: {names}." if names else "None came with the session."


def _object(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Misuse(f"JSON is none: {error}.") from None
    if not isinstance(value, dict):
        raise Misuse("JSON must be an object.")
    return value
