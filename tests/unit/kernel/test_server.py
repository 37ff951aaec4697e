"""The MCP server of the kernel tools as its clients see it, over the socket and the bridge program."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import NotOffered
from tests.conftest import ROOT
from tests.unit.kernel.shell_tools import Tools, waited_for

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
TOKEN = "AGENTNB_KERNEL_TOKEN"
READING = {"variables", "inspect", "notebooks", "cells", "look_up_code", "read_skill", "research"}
UNKNOWN_METHOD, INVALID_PARAMS = -32601, -32602


class Client:
    """A client that starts a bridge and uses its stdio."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-I", "-S", str(ROOT / "agentnb/kernel/bridge.py")]
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
    """As a real agent starts it; it ends when the agent closes stdin. The client's version counts if it is known."""
    tools.shell.user_ns["xs"] = [1, 2]
    with tools.served() as environment:
        client = Client(environment)
        versions = [client.ask("initialize", protocolVersion=each)["result"] for each in ("1999-01-01", None, 7)]
        hello = client.ask("initialize", **INITIALIZE)["result"]
        client.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        assert hello["protocolVersion"] == "2025-06-18"
        assert {each["protocolVersion"] for each in versions} == {"2025-11-25"}
        assert hello["capabilities"] == {"tools": {}}
        assert hello["serverInfo"]["name"] == "agentnb-kernel"
        assert client.ask("ping")["result"] == {}
        listed = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(client.ask, "tools/call", name="inspect", arguments={"path": "xs"})
            result = waited_for(tools.job_queue, answer)["result"]
        assert result == {"content": [{"type": "text", "text": "xs: list, length 2\n[1, 2]"}], "isError": False}
        assert client.leave() == (0, "")
    assert listed == tools.offered()


def test_every_tool_has_a_complete_schema(tools: Tools) -> None:
    """Closed objects, every property described, and hints about read-only tools.

    None has an argument `kind`: OpenHands has a field of that name in each action, so each of its turns failed.
    """
    for name, tool in tools.offered().items():
        schema = tool["inputSchema"]
        assert schema["additionalProperties"] is False
        assert all(each["description"] for each in schema["properties"].values())
        assert set(schema["required"]) <= set(schema["properties"])
        assert tool["annotations"]["readOnlyHint"] is (name in READING)
        assert "kind" not in schema["properties"]
        assert ("notebook" in schema["properties"]) is ("cell" in name or name == "clear_outputs")


def test_invalid_requests_are_refused(tools: Tools) -> None:
    with tools.served() as environment:
        client = Client(environment)
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
        assert client.read()["error"]["code"] == UNKNOWN_METHOD
        assert client.ask("resources/list")["error"]["code"] == UNKNOWN_METHOD
        refused = client.ask("tools/call", name="format_disk")["error"]
        assert (refused["code"], refused["message"]) == (INVALID_PARAMS, "Unknown tool: format_disk")
        client.write('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, 7]')
        assert [answer["id"] for answer in client.read()] == [1, None]
        client.leave()


def test_connection_with_a_wrong_token_is_closed(tools: Tools) -> None:
    """Also with the token of another session; without any token the bridge says what it is."""
    with tools.served() as environment, tools.served() as other:
        for token in ("", "x", other[TOKEN]):
            client = Client({**environment, TOKEN: token})
            status, stderr = client.leave()
            assert (status, "the agent starts it" in stderr) == ((0, False) if token else (1, True))
            assert client.process.stdout is not None
        with Client(environment).process as still:
            assert still.poll() is None
            still.communicate(timeout=30)
    assert tools.requests == []


def test_a_closed_socket_server_leaves_nothing_behind(tools: Tools) -> None:
    """No socket, folder or connection; the folder was private."""
    with tools.served() as environment:
        folder = Path(environment["AGENTNB_KERNEL_SOCKET"]).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        client = Client(environment)
        assert client.ask("ping")["result"] == {}
    assert client.read() is None
    assert not folder.exists()
    status, stderr = Client(environment).leave()
    assert status == 1
    assert stderr.startswith("The kernel has ended or has closed this conversation: ")
    client.leave()


def test_failed_socket_creation_is_reported(tools: Tools, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    deep.mkdir()
    with pytest.raises(NotOffered, match="No socket could be made"), tools.served(deep):
        pass
    assert list(deep.iterdir()) == []


def test_client_can_cancel_a_tool_call(tools: Tools) -> None:
    with tools.served() as environment:
        client = Client(environment)
        tools.shell.user_ns["take_back"] = lambda: client.write(
            '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}'
        )
        code = "take_back()\nimport time\ntime.sleep(1000)"
        call = {"name": "run_code", "arguments": {"code": code}}
        client.write(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}))

        async def ping() -> Any:
            return await asyncio.to_thread(client.ask, "ping")

        assert tools.during(ping())["id"] == "ping"
        client.leave()


def test_json_result_is_wrapped_in_an_object(tools: Tools) -> None:
    """Gemini CLI takes a text that is JSON for an object, and fails if it is none."""
    wrapped = {"42": 42, "[1]": [1], "null": None, "1" * 400: "1" * 400}
    with tools.served() as environment, ThreadPoolExecutor(1) as thread:
        client = Client(environment)
        for text in (*wrapped, '{"a": 1}', "hello"):
            call = {"name": "run_code", "arguments": {"code": f"print({text!r})"}}
            result = waited_for(tools.job_queue, thread.submit(client.ask, "tools/call", **call))["result"]
            assert result["content"] == [{"type": "text", "text": text}]
            assert result.get("structuredContent") == ({"result": wrapped[text]} if text in wrapped else None)
        client.leave()
