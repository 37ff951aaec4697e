"""The inside: an agent names MCP servers that are not its own; answers that no peer or tool of ours gives."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.mcp import Served
from agentnb.kernel.content import with_object
from agentnb.kernel.paired_kernels import KernelGone, PairedConnection
from agentnb.kernel.server import ToolMcpServer
from agentnb.rpc_message import RpcError
from tests.unit.api.conftest import PATIENCE
from tests.unit.kernel.shell_tools import Tools


def test_acp_finds_mcp_servers_by_id(tools: Tools) -> None:
    """Not other servers, nor connections of a server that was withdrawn."""
    served = Served()

    def ask(method: str, /, **params: Any) -> Any:
        return tools.during(served.serve(method, params))

    served.offer("one", lambda: ToolMcpServer(tools.tool_runner))
    connection = ask("mcp/connect", serverId="one")
    assert ask("mcp/message", **connection, method="ping") == {}
    for method, params, message in [
        ("mcp/connect", {"serverId": "two"}, "There is no MCP server 'two'."),
        ("mcp/connect", {}, "There is no MCP server None."),
        ("mcp/message", {"connectionId": "x", "method": "ping"}, "There is no MCP connection 'x'."),
        ("mcp/message", connection, "`method` must be the MCP method's name."),
    ]:
        with pytest.raises(RpcError, match=message):
            ask(method, **params)
    again = ask("mcp/connect", serverId="one")
    assert ask("mcp/disconnect", **again) == {}
    served.withdraw("one")
    for gone in (connection, again):
        with pytest.raises(RpcError, match="There is no MCP connection"):
            ask("mcp/message", **gone, method="ping")


def test_json_text_with_a_picture_comes_after_it() -> None:
    """Gemini CLI reads only the first block as JSON."""
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    texts = [{"type": "text", "text": text} for text in ("42", '{"a": 1}')]
    contents = [with_object({"content": [each, picture], "isError": False})["content"] for each in texts]
    assert contents == [[picture, texts[0]], [texts[1], picture]]


async def test_unreadable_answer_ends_the_connection_with_the_reason(tmp_path: Path) -> None:
    writers: list[asyncio.StreamWriter] = []

    def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"{not json}\n")
        writers.append(writer)

    path = str(tmp_path / "socket")
    async with await asyncio.start_unix_server(answer, path):
        connection = await PairedConnection.opened(path, "token")
        with pytest.raises(KernelGone, match="The kernel's answer could not be read"):
            await asyncio.wait_for(connection.request("tools/list", {}), PATIENCE)
        await connection.close()
        for each in writers:
            each.close()
