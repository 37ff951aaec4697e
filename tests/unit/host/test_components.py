"""MCP servers, which a real agent starts, and folders of a session; each depends on a capability."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

import agentnb
from agentnb import Session
from agentnb.errors import UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.host.test_agent_lifecycle import notices

SERVER = str(AGENTS / "mcp_server.py")


def servers_sent(session: Session) -> dict[str, Any]:
    """Returns the parameters with which the agent `keeps` opened its session."""
    requests = [json.loads(line) for line in session.prompt("tell").wait(PATIENCE, check=False).text.splitlines()]
    return next(each["params"] for each in requests if each["method"] == "session/new")


def scripted(*args: str, **more: Any) -> dict[str, Any]:
    """Returns the server in tests/agents, as a user describes it."""
    return {"files": {"command": sys.executable, "args": [SERVER, *args], **more}}


def answer_to(session: Session, prompt: str) -> str:
    return session.prompt(prompt).wait(PATIENCE).text


def test_agent_starts_an_mcp_server_with_its_arguments(kernel: Kernel, tmp_path: Path) -> None:
    """The whole path: our call, ACP, the agent, the server, and back."""
    session = kernel.start(mcp_servers=scripted("--root", "a b", env={"LEVEL": "7"}))
    turn = session.prompt("/mcp files where").wait(PATIENCE)
    expected = {"args": ["--root", "a b"], "cwd": str(tmp_path), "level": "7"}
    assert json.loads(turn.text.partition("said: ")[2]) == expected
    (call,) = turn.tool_calls
    assert (call.title, call.status, call.raw_output["structuredContent"]) == ("files: where", "completed", expected)


def test_copied_and_restarted_sessions_keep_their_mcp_servers(kernel: Kernel) -> None:
    """The command lists and calls tools, and leaves nothing behind; each way of opening a session sends them again."""
    session = kernel.start(mcp_servers=scripted())
    assert answer_to(session, "/mcp") == "These came with the session: `files`."
    listed = [line[3:].partition("`")[0] for line in answer_to(session, "/mcp files").splitlines()[2:]]
    assert listed == ["where", "add", "fail", "die"]
    assert answer_to(session, '/mcp files add {"a": 2, "b": 3}') == "`files: add` said: 5"
    assert answer_to(session, "/mcp files fail") == "`files: fail` failed: it did not work"
    agent = psutil.Process(session.health().pid)
    assert [child for child in agent.children(recursive=True) if SERVER in child.cmdline()] == []
    assert answer_to(session.fork(), "/mcp") == "These came with the session: `files`."
    session.restart(PATIENCE)
    assert answer_to(session, "/mcp") == "These came with the session: `files`."


@pytest.mark.parametrize(
    ("server", "prompt", "expected"),
    [
        (scripted("mute"), "/mcp files", "it ended with exit code 6"),
        (scripted("rude"), "/mcp files", "it refused `initialize`: Unsupported protocol version"),
        (scripted(), "/mcp files die", "it ended with exit code 5"),
        ({"files": {"command": "no-such-server"}}, "/mcp files", "`no-such-server` cannot be started"),
    ],
    ids=["ends", "refuses", "dies", "missing"],
)
def test_failed_mcp_server_is_named_with_the_reason(
    kernel: Kernel, server: dict[str, Any], prompt: str, expected: str
) -> None:
    """A notice names the command that is missing."""
    session = kernel.start(mcp_servers=server)
    text = answer_to(session, prompt)
    assert text.startswith("The MCP server `files` failed: ")
    assert expected in text
    missing = "The MCP server files cannot start: there is no command 'no-such-server'."
    assert (missing in notices(session)) == ("cannot be started" in expected)
    assert answer_to(session, "/say and on") == "and on"


def test_http_and_sse_servers_go_to_agents_that_support_them(kernel: Kernel, tmp_path: Path) -> None:
    """With their headers; also further folders."""
    servers = {
        "docs": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer x"}},
        "feed": {"url": "https://x.test/sse", "type": "sse"},
    }
    session = kernel.start("keeps", "http", "sse", "directories", mcp_servers=servers, directories=(tmp_path,))
    sent = servers_sent(session)
    assert sent["mcpServers"] == [
        {
            "type": "http",
            "name": "docs",
            "url": "https://x.test/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer x"}],
        },
        {"type": "sse", "name": "feed", "url": "https://x.test/sse", "headers": []},
    ]
    assert sent["additionalDirectories"] == [str(tmp_path)]
    assert notices(session) == ""


@pytest.mark.parametrize(("able", "left"), [(["http"], "feed"), (["sse"], "docs"), ([], "docs, feed")])
def test_an_unreachable_mcp_server_is_left_out_with_a_notice(
    kernel: Kernel, tmp_path: Path, able: list[str], left: str
) -> None:
    """Also further folders; no notice has the secrets in an address."""
    servers = {"docs": {"url": "https://x.test/?key=secret"}, "feed": {"url": "https://x.test", "type": "sse"}}
    session = kernel.start("keeps", *able, mcp_servers=servers, directories=(tmp_path,))
    assert [server["type"] for server in servers_sent(session)["mcpServers"]] == able
    assert f"cannot reach these MCP servers: {left}." in notices(session)
    assert "does not support additional folders" in notices(session)
    assert "secret" not in notices(session)


def test_agent_gets_the_full_path_of_an_mcp_program(kernel: Kernel, tmp_path: Path) -> None:
    """ACP wants it: found on the agent's search path or in the session's folder; otherwise unchanged."""
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    servers = {"a": {"command": "tool"}, "b": {"command": "bin/tool"}, "c": {"command": "nothing"}}
    session = kernel.start("keeps", mcp_servers=servers, env={"PATH": f"{tool.parent}:/usr/bin:/bin"})
    sent = [server["command"] for server in servers_sent(session)["mcpServers"]]
    assert sent == [str(tool), str(tool), "nothing"]
    assert "The MCP server c cannot start" in notices(session)


def test_agents_own_mcp_servers_go_to_each_of_its_sessions(kernel: Kernel) -> None:
    """A server given for the session wins where the names are equal."""
    own = {"docs": {"command": "docs"}, "files": {"command": "mcp-files"}}
    session = kernel.start("keeps", spec={"mcp_servers": own}, mcp_servers={"files": {"command": "other"}})
    sent = [(server["name"], server["command"]) for server in servers_sent(session)["mcpServers"]]
    assert sent == [("docs", "docs"), ("files", "other")]


def test_mcp_servers_are_read_from_a_json_file(kernel: Kernel, tmp_path: Path) -> None:
    """``mcp.json``; the error names a bad entry."""
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"files": {"command": "mcp-files"}}}))
    for name in (file, str(file)):
        (server,) = servers_sent(kernel.start("keeps", mcp_servers=name))["mcpServers"]
        assert (server["name"], server["command"]) == ("files", "mcp-files")
    for text, expected in (("{", "is not JSON"), ("3", "contains no MCP servers")):
        file.write_text(text)
        with pytest.raises(UsageError, match=expected):
            agentnb.start("eliza", mcp_servers=file)
