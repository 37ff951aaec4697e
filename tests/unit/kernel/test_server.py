"""The MCP server as its clients see it: over ACP, and over the socket through the bridge program."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.mcp import Served
from agentnb.components import Tool
from agentnb.errors import NotOffered
from agentnb.kernel import bridge
from agentnb.kernel.content import with_object
from agentnb.kernel.local_server import SocketServer
from agentnb.kernel.server import VERSIONS, ToolMcpServer
from agentnb.kernel.tools import checked, kernel_tools
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from tests.unit.kernel.shell_tools import Tools, waited_for

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@contextmanager
def opened(tools: Tools, within: Path | None = None) -> Iterator[SocketServer]:
    """Starts a socket server for the tools."""
    socket_server = tools.loop.submit(SocketServer.started(lambda: ToolMcpServer(tools.tool_runner), within)).result(30)
    try:
        yield socket_server
    finally:
        tools.loop.call(socket_server.close)


class Client:
    """A client that starts a bridge and uses its stdio."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-I", "-S", bridge.__file__]
        self.process = subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, stderr=-1, text=True)

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline() or "null")

    def ask(self, method: str, **params: Any) -> Any:
        self.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        return self.read()

    def leave(self) -> tuple[int, str]:
        """Returns the exit status and the text on stderr."""
        _, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, stderr


def test_bridge_client_initializes_lists_and_calls_tools(tools: Tools) -> None:
    """Over the bridge, as a real agent starts it; it ends when the agent closes stdin."""
    tools.shell.user_ns["xs"] = [1, 2]
    with opened(tools) as socket_server:
        client = Client(socket_server.environment)
        hello = client.ask("initialize", **INITIALIZE)["result"]
        client.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        assert hello["protocolVersion"] == "2025-06-18"
        assert hello["capabilities"] == {"tools": {}}
        assert hello["serverInfo"]["name"] == "agentnb-kernel"
        assert client.ask("ping")["result"] == {}
        assert [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]] == list(kernel_tools())
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(client.ask, "tools/call", name="inspect", arguments={"path": "xs"})
            result = waited_for(tools.job_queue, answer)["result"]
        assert result == {"content": [{"type": "text", "text": "xs: list, length 2\n[1, 2]"}], "isError": False}
        assert client.leave() == (0, "")


@pytest.mark.parametrize("wanted", [*VERSIONS, "1999-01-01", None, 7])
def test_protocol_version_is_negotiated(tools: Tools, wanted: Any) -> None:
    """The client's version if known, otherwise the newest."""
    answer = tools.during(ToolMcpServer(tools.tool_runner).request("initialize", {"protocolVersion": wanted}))
    assert answer["protocolVersion"] == (wanted if wanted in VERSIONS else VERSIONS[0])


def test_invalid_requests_are_refused(tools: Tools) -> None:
    with opened(tools) as socket_server:
        client = Client(socket_server.environment)
        for line, code in [
            ("no json", -32700),
            ("[" * 100_000, -32700),
            ("7", -32600),
            ('{"id": 1}', -32600),
            ("[]", -32600),
            ('{"a":' * 5_000 + "1" + "}" * 5_000, -32700),
            ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + "[" * 900 + "]" * 900 + "}", -32700),
        ]:
            client.write(line)
            answer = client.read()
            assert (answer["id"], answer["error"]["code"]) == (None, code)
            assert client.ask("ping")["result"] == {}
        client.write('{"jsonrpc": "2.0", "id": 1, "method": "\\ud83d", "params": {"n": ' + "9" * 5_000 + "}}")
        assert client.read()["error"]["code"] == METHOD_NOT_FOUND
        assert client.ask("resources/list")["error"]["code"] == METHOD_NOT_FOUND
        refused = client.ask("tools/call", name="format_disk")["error"]
        assert (refused["code"], refused["message"]) == (INVALID_PARAMS, "Unknown tool: format_disk")
        client.write('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, 7]')
        assert [answer["id"] for answer in client.read()] == [1, None]
        client.leave()


def test_connection_with_a_wrong_token_is_closed(tools: Tools) -> None:
    """Also with the token of another session; without any token the bridge says what it is."""
    with opened(tools) as socket_server, opened(tools) as other:
        for token in ("", "x", other.environment[bridge.TOKEN]):
            client = Client({**socket_server.environment, bridge.TOKEN: token})
            status, stderr = client.leave()
            assert (status, "the agent starts it" in stderr) == ((0, False) if token else (1, True))
            assert client.process.stdout is not None
        with Client(socket_server.environment).process as still:
            assert still.poll() is None
            still.communicate(timeout=30)
    assert tools.requests == []


def test_a_closed_socket_server_leaves_nothing_behind(tools: Tools) -> None:
    """No socket, folder or connection; the folder was private."""
    with opened(tools) as socket_server:
        folder = Path(socket_server.environment[bridge.SOCKET]).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        client = Client(socket_server.environment)
        assert client.ask("ping")["result"] == {}
    assert client.read() is None
    assert not folder.exists()
    status, stderr = Client(socket_server.environment).leave()
    assert status == 1
    assert stderr.startswith("The kernel has ended or has closed this conversation: ")
    client.leave()


def test_failed_socket_creation_is_reported(tools: Tools, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    deep.mkdir()
    with pytest.raises(NotOffered, match="No socket could be made"), opened(tools, deep):
        pass
    assert list(deep.iterdir()) == []


def test_client_can_cancel_a_tool_call(tools: Tools) -> None:
    with opened(tools) as socket_server:
        client = Client(socket_server.environment)
        tools.shell.user_ns["take_back"] = lambda: client.write(
            '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}'
        )
        code = "take_back()\nimport time\ntime.sleep(1000)"
        call = {"name": "run_code", "arguments": {"code": code}}
        client.write(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}))

        async def ping() -> Any:
            import asyncio

            return await asyncio.to_thread(client.ask, "ping")

        assert tools.during(ping())["id"] == "ping"
        client.leave()


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


def test_no_tool_has_an_argument_called_kind() -> None:
    """OpenHands has a field of that name in each action: each of its turns failed."""
    assert [name for name, tool in kernel_tools().items() if "kind" in tool["inputSchema"]["properties"]] == []
    assert checked("insert_cell", {"source": "x", "kind": "markdown"}) == {"source": "x", "cell_type": "markdown"}
    assert checked("set_cell_type", {"cell": "a", "kind": "raw"}) == {"cell": "a", "cell_type": "raw"}


PICTURE = {"type": "image", "data": "", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ("42", {"result": 42}),
        ("[1]", {"result": [1]}),
        ("null", {"result": None}),
        ("1" * 400, {"result": "1" * 400}),
        ('{"a": 1}', None),
        ("hello", None),
        ("", None),
    ],
)
def test_json_result_is_wrapped_in_an_object(text: str, structured: Any) -> None:
    """For tools of components and of the kernel; with a picture the text follows, where nobody reads JSON."""
    result = asyncio.run(Tool(name="t", description="", run=lambda: text).call({}))
    assert (result["content"], result.get("structuredContent")) == ([{"type": "text", "text": text}], structured)
    blocks = [{"type": "text", "text": text}, PICTURE]
    answer = with_object({"content": blocks, "isError": False})
    assert answer == {"content": blocks[::-1] if structured else blocks, "isError": False}
