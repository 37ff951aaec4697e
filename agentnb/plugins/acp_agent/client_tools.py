"""The tool calls that an agent makes through its client: files, commands in terminals, tools of MCP servers."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.content import ImageContent
from agentnb.plugins.acp_agent.mcp import McpTrouble
from agentnb.plugins.acp_agent.updates import shown_content, shown_diff, shown_text
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentnb.plugins.acp_agent.client import TerminalExit
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.acp_agent.reply import AcpReply, AcpToolCall

LONGEST_OUTPUT = 64 * 1024


def can_read(reply: AcpReply) -> bool:
    return bool(reply.capabilities.fs and reply.capabilities.fs.read_text_file)


def can_write(reply: AcpReply) -> bool:
    return bool(reply.capabilities.fs and reply.capabilities.fs.write_text_file)


async def read_file(
    reply: AcpReply,
    path: Path,
    name: str,
    *,
    raw_input: object = None,
    line: int | None = None,
    limit: int | None = None,
) -> str:
    """Read a file, or *limit* lines of it from *line* on, and show that in a tool call."""
    call = await reply.start_tool(f"Read `{name}`", "read", raw_input=raw_input, path=path, line=line)
    await call.update("in_progress")
    async with reply.asking("fs/read_text_file", call):
        text = await reply.client.read_text_file(reply.session.session_id, str(path), line=line, limit=limit)
    await call.update("completed", content=[shown_text(text)])
    return text


async def text_before(reply: AcpReply, path: Path) -> str | None:
    """Returns the text of a file before it is written; None if there is none yet, or the client does not show it."""
    if can_read(reply):
        with contextlib.suppress(RpcError, msgspec.ValidationError):
            return await reply.client.read_text_file(reply.session.session_id, str(path))
    return None


async def write_file(reply: AcpReply, call: AcpToolCall, path: Path, before: str | None, after: str) -> None:
    await call.update("in_progress", content=[shown_diff(path, before, after)])
    async with reply.asking("fs/write_text_file", call):
        await reply.client.write_text_file(reply.session.session_id, str(path), after)
    await call.update("completed")


async def run_command(
    reply: AcpReply,
    line: str,
    *,
    kept: Callable[[str], str] = lambda output: output,
    raw_output: Callable[[TerminalExit, str], object] = lambda _ended, _output: None,
) -> tuple[str, str]:
    """Run a shell command in a client's terminal; returns how it ended, in words, and its output."""
    client, session_id = reply.client, reply.session.session_id
    call = await reply.start_tool(f"`{line}`", "execute", raw_input={"command": line})
    program, *args = ["cmd", "/d", "/c", line] if sys.platform == "win32" else ["/bin/sh", "-c", line]
    async with reply.asking("terminal/create", call):
        terminal = await client.create_terminal(
            session_id, program, args, cwd=str(reply.session.cwd), output_byte_limit=LONGEST_OUTPUT
        )
    content = [{"terminalId": terminal, "type": "terminal"}]
    try:
        await call.update("in_progress", content=content, kept=[])
        async with reply.asking("terminal/wait_for_exit", call):
            ended = await client.wait_for_terminal_exit(session_id, terminal)
            output = await client.terminal_output(session_id, terminal)
    except BaseException:
        reply.leave(_give_up(reply, terminal))
        raise
    await call.update(
        "completed" if ended.exit_code == 0 else "failed",
        content=content,
        kept=[shown_text(kept(output))],
        raw_output=raw_output(ended, output),
    )
    async with reply.asking("terminal/release", call):
        await client.terminal("release", session_id, terminal)
    return f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}", output


async def call_tool(
    call: AcpToolCall, client: McpClient, name: str, arguments: dict[str, Any], *, is_raw_shown: bool = False
) -> tuple[list[str | ImageContent], bool]:
    """Call an MCP server's tool, and show its result; returns texts and pictures, and whether it failed."""
    await call.update("in_progress")
    try:
        result = await client.call(name, arguments)
    except McpTrouble as trouble:
        await call.update("failed", content=[shown_text(str(trouble))])
        raise
    except BaseException:
        await call.update("failed")
        raise
    content, failed = result.get("content"), result.get("isError") is True
    blocks = [block for each in content if (block := _block(each)) is not None] if isinstance(content, list) else []
    contents = [shown_text(block) if isinstance(block, str) else shown_content(block) for block in blocks]
    raw = result if is_raw_shown and all(isinstance(block, str) for block in blocks) else None
    await call.update("failed" if failed else "completed", content=contents, raw_output=raw)
    return blocks, failed


def _block(block: object) -> str | ImageContent | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return ImageContent(data=data, mime_type=kind)
    return None


async def _give_up(reply: AcpReply, terminal: str) -> None:
    await reply.client.terminal("kill", reply.session.session_id, terminal)
    await reply.client.terminal("release", reply.session.session_id, terminal)
