"""MCP over ACP in a cassette: a replay calls the client's tools again, by today's ids, in their session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.unit.cassette.conversation import lines, recorded, sections, write_lines
from tests.unit.plugins.eliza.patient import environment

AGENTNB = (sys.executable, "-m", "agentnb")
AGENT = (sys.executable, str(ROOT / "tests/agents/uses_mcp.py"))


class Host:
    """A client that serves tools over ACP; its attributes record the agent's calls."""

    def __init__(self, process: subprocess.Popen[str], prefix: str, *, fails: bool = False) -> None:
        self.process = process
        self.prefix = prefix
        self.fails = fails
        self.texts: list[str] = []
        self.called: list[tuple[str, str, Any]] = []
        self.heard: list[Any] = []
        self.pings = False
        self._id = 0

    def open(self, *names: str) -> dict[str, Any]:
        """Opens a session with these servers and one that the agent reaches itself."""
        ours = [{"type": "acp", "name": name, "serverId": f"{self.prefix}{name}"} for name in names]
        apart = {"name": "apart", "command": "/bin/x", "args": [], "env": [{"name": "API_KEY", "value": "hush-hush-1"}]}
        self.request("initialize", protocolVersion=1)
        return self.request("session/new", cwd="/work", mcpServers=[*ours, apart])

    def prompt(self, opened: dict[str, Any], text: str) -> dict[str, Any]:
        session = opened["result"]["sessionId"]
        return self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request, and serves the agent until it answers."""
        self._id += 1
        wanted = f"host-{self._id}"
        self._send(id=wanted, method=method, params=params)
        while True:
            message = json.loads(self._read())
            if message.get("id") == wanted and "method" not in message:
                return dict(message)
            if "method" not in message:
                self.heard.append(message["result"])
            elif "id" in message:
                self._serve(message)
            elif message["method"] == "session/update":
                self.texts.append(message["params"]["update"]["content"]["text"])
            else:
                self.called.append((message["params"]["connectionId"], message["params"]["method"], None))

    def _serve(self, message: dict[str, Any]) -> None:
        params = message["params"]
        server = params.get("serverId", "")
        if message["method"] == "mcp/connect" and not server.startswith(self.prefix):
            self._send(id=message["id"], error={"code": -32602, "message": f"no server {server}"})
            return
        connection = params.get("connectionId") or f"connection-of-{server}"
        what = params.get("method", message["method"])
        self.called.append((connection, what, (params.get("params") or {}).get("arguments")))
        if what == "tools/call" and self.pings:
            self._id += 1
            self._send(
                id=f"host-{self._id}", method="mcp/message", params={"connectionId": connection, "method": "ping"}
            )
        answers = {
            "mcp/connect": {"connectionId": connection},
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
            "tools/call": {"content": [{"type": "text", "text": f"by {server or connection}"}], "isError": self.fails},
        }
        self._send(id=message["id"], result=answers.get(what, {}))

    def _send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the agent has ended"
        return line


@contextmanager
def host(*command: str, prefix: str, fails: bool = False) -> Iterator[Host]:
    """Runs a client."""
    env = {**os.environ, **environment(), "AGENTNB_CASSETTE_FILES": "off"}  # the folder is unknown
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT)
    with process:
        yield Host(process, prefix, fails=fails)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


@contextmanager
def recording(path: Path) -> Iterator[Host]:
    with host(*AGENTNB, "record", "--name", "tools", str(path), "--", *AGENT, prefix="then-") as client:
        yield client


@contextmanager
def replaying(path: Path, prefix: str = "7", *, fails: bool = False) -> Iterator[Host]:
    with host(*AGENTNB, "replay", str(path), prefix=prefix, fails=fails) as client:
        yield client


def test_replay_calls_mcp_tools_again_with_current_ids(tmp_path: Path) -> None:
    """In their session, in order, also while it is opened; the file has no old id and no key."""
    path = tmp_path / "a.cassette.jsonl"
    with recording(path) as then:
        opened = then.open("kernel", "docs")
        for prompt in ("kernel add 2 3", "docs find axolotl", "leave"):
            then.prompt(opened, prompt)
    text = path.read_text(encoding="utf-8")
    assert "then-" not in text.replace("by connection-of-then-", "")
    assert "hush" not in text
    assert '"serverId": "⟦mcp server kernel⟧"' in text
    methods = {row["method"] for row in lines(path) if row.get("method", "").startswith("mcp/")}
    assert methods == {"mcp/connect", "mcp/message", "mcp/disconnect"}
    assert [section[0].get("session", 0) for section in sections(path)] == [0, 1]
    with replaying(path) as today:
        opened = today.open("docs", "kernel")
        for prompt in ("kernel add 2 3", "docs find axolotl", "leave"):
            assert today.prompt(opened, prompt)["result"]["stopReason"] == "end_turn"
    assert today.called == [(name.replace("then-", "7"), what, params) for name, what, params in then.called]
    assert ("connection-of-7kernel", "tools/call", {"words": ["add", "2", "3"]}) not in today.called
    assert ("connection-of-7kernel", "tools/call", {"words": ["2", "3"]}) in today.called
    assert ("connection-of-7docs", "notifications/initialized", None) in today.called
    assert today.texts == then.texts


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of an agent that adds two numbers with a tool of the server *kernel*."""
    path = tmp_path_factory.mktemp("added") / "a.cassette.jsonl"
    with recording(path) as then:
        then.prompt(then.open("kernel"), "kernel add 2 3")
    return path


def test_replay_fails_the_turn_when_a_tool_fails(added: Path) -> None:
    """The agent's next steps do not follow from it."""
    with replaying(added, fails=True) as today:
        error = today.prompt(today.open("kernel"), "kernel add 2 3")["error"]
    assert "MCP tools/call (add): recorded: `done`, now: `failed`." in error["message"]


def test_replay_fails_the_session_when_an_mcp_server_is_missing(added: Path) -> None:
    """The error names it."""
    with replaying(added) as today:
        error = today.open()["error"]
    assert "mcp/connect (⟦mcp server kernel⟧): recorded: `done`, now: `refused`." in error["message"]


def test_replay_answers_requests_of_an_mcp_server(tmp_path: Path) -> None:
    """On the connection that the server uses."""
    path = tmp_path / "a.cassette.jsonl"
    with recording(path) as then:
        then.pings = True
        then.prompt(then.open("kernel"), "kernel add 2 3")
    assert then.heard == [{"heard": "ping"}]
    with replaying(path) as today:
        today.pings = True
        today.prompt(today.open("kernel"), "kernel add 2 3")
    assert today.heard == [{"heard": "ping"}]


def test_replay_distinguishes_sessions_by_their_mcp_servers(added: Path, tmp_path: Path) -> None:
    """In any order: the agent connects before a prompt tells the sessions apart."""
    path = tmp_path / "a.cassette.jsonl"
    with recording(tmp_path / "b.cassette.jsonl") as then:
        then.prompt(then.open("docs"), "docs find axolotl")
    *first, last = lines(added)
    (head, *other) = sections(tmp_path / "b.cassette.jsonl")[1]
    write_lines(path, [*first, {**head, "session": 2}, *other, last])
    with replaying(path) as today:
        docs, kernel = today.open("docs"), today.open("kernel")
        assert today.prompt(kernel, "kernel add 2 3")["result"]["stopReason"] == "end_turn"
        assert today.prompt(docs, "docs find axolotl")["result"]["stopReason"] == "end_turn"


def test_kernel_mcp_server_is_recorded_without_local_paths(tmp_path: Path) -> None:
    """A cassette is the same on every machine; the user's own servers stay, but without secrets."""
    env = [
        {"name": "AGENTNB_KERNEL_SOCKET", "value": "/run/agentnb-x1/kernel"},
        {"name": "AGENTNB_KERNEL_TOKEN", "value": "hush"},
    ]
    ours = {"name": "bridge", "command": "/opt/python/bin/python3.12", "args": ["-I", "/opt/bridge.py"], "env": env}
    path = tmp_path / "a.cassette.jsonl"
    with recording(path) as then:
        then.request("initialize", protocolVersion=1)
        served = {"type": "acp", "name": "kernel", "serverId": f"{then.prefix}kernel"}
        servers = [served, ours, {**ours, "name": "apart", "env": []}]
        then.prompt(then.request("session/new", cwd="/work", mcpServers=servers), "kernel add 2 3")
    text = path.read_text(encoding="utf-8")
    assert json.dumps({"name": "bridge", "command": "python", "args": [], "env": []}) in text
    assert "agentnb-x1" not in text
    assert "hush" not in text
    assert json.dumps({**ours, "name": "apart", "env": []}) in text


def test_tool_call_outside_acp_is_recorded_in_its_turn(tmp_path: Path) -> None:
    """An agent may call kernel tools by a program on stdio: its turn has the call and the answer."""
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path, "eliza") as talk:
        session = talk.begin()
        request = talk.prompt(session, "Count.")
        call = {"serverId": "agentnb-kernel", "method": "tools/call", "params": {"name": "run_code"}}
        for result, error in (({"content": [], "isError": False}, None), (None, {"code": -32000, "message": "No."})):
            talk.tap.served(call)(result, error)
        talk.says(session, "Done.")
        talk.received(id=request, result={"stopReason": "end_turn"})
    rows = lines(path)
    begin = next(at for at, row in enumerate(rows) if row.get("method") == "mcp/message")
    started, first, again, refused = rows[begin : begin + 4]
    assert (started["method"], started["params"]) == ("mcp/message", call)
    assert (first["result"], first["id"]) == ({"content": [], "isError": False}, started["id"])
    assert (refused["error"]["message"], refused["id"]) == ("No.", again["id"])
    assert rows[begin - 1]["method"] == "session/prompt"
