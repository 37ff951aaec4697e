"""MCP servers, which a real agent starts, and folders of a session; each depends on a capability."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentnb import Session
from agentnb.acp.mcp import described
from agentnb.agent.catalog import find
from agentnb.agent.mcp import mcp_servers
from agentnb.errors import UsageError
from agentnb.host import Host
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import Open
from tests.unit.host.test_agent_lifecycle import notices

SERVER = str(AGENTS / "mcp_server.py")


def requests(session: Session) -> list[dict[str, Any]]:
    """Returns all requests to the agent."""
    return [json.loads(line) for line in session.prompt("tell").wait(PATIENCE, check=False).text.splitlines()]


def scripted(*args: str, **more: Any) -> dict[str, Any]:
    """Returns the server in tests/agents, as a user describes it."""
    return {"files": {"command": sys.executable, "args": [SERVER, *args], **more}}


@pytest.fixture
def with_servers(host: Host, tmp_path: Path) -> Any:
    """Opens an eliza session with servers."""

    def begin(servers: dict[str, Any]) -> Session:
        parsed_servers = mcp_servers(servers)
        return Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, mcp_servers=parsed_servers)))

    return begin


def answer_to(session: Session, prompt: str) -> str:
    return session.prompt(prompt).wait(PATIENCE).text


def test_agent_starts_an_mcp_server_with_its_arguments(with_servers: Any, tmp_path: Path) -> None:
    """The whole path: our call, ACP, the agent, the server, and back."""
    session = with_servers(scripted("--root", "a b", env={"LEVEL": "7"}))
    turn = session.prompt("/mcp files where").wait(PATIENCE)
    expected = {"args": ["--root", "a b"], "cwd": str(tmp_path), "level": "7"}
    assert json.loads(turn.text.partition("said: ")[2]) == expected
    (call,) = turn.tool_calls
    assert (call.title, call.status, call.raw_output["structuredContent"]) == ("files: where", "completed", expected)


def test_mcp_command_lists_and_calls_the_servers_tools(with_servers: Any) -> None:
    """The command leaves nothing behind."""
    session = with_servers(scripted())
    assert answer_to(session, "/mcp") == "These came with the session: `files`."
    assert [line[3:].partition("`")[0] for line in answer_to(session, "/mcp files").splitlines()[2:]] == [
        "where",
        "add",
        "fail",
        "die",
    ]
    assert answer_to(session, '/mcp files add {"a": 2, "b": 3}') == "`files: add` said: 5"
    assert answer_to(session, "/mcp files fail") == "`files: fail` failed: it did not work"
    agent = psutil.Process(session.health().pid)
    assert [child for child in agent.children(recursive=True) if SERVER in child.cmdline()] == []


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
    with_servers: Any, server: dict[str, Any], prompt: str, expected: str
) -> None:
    session = with_servers(server)
    text = answer_to(session, prompt)
    assert text.startswith("The MCP server `files` failed: ")
    assert expected in text
    assert answer_to(session, "/say and on") == "and on"


def test_mcp_server_without_its_program_gets_a_notice(with_servers: Any) -> None:
    """The turn names the command."""
    session = with_servers({"files": {"command": "no-such-server"}})
    answer_to(session, "/say x")
    assert "The MCP server files cannot start: there is no command 'no-such-server'." in notices(session)


def test_copied_and_restarted_sessions_keep_their_mcp_servers(with_servers: Any) -> None:
    """Each way of opening a session sends them again."""
    session = with_servers(scripted())
    answer_to(session, "/say one")
    copy = session.fork()
    assert answer_to(copy, "/mcp") == "These came with the session: `files`."
    session.restart(PATIENCE)
    assert answer_to(session, "/mcp") == "These came with the session: `files`."


def test_http_and_sse_servers_go_to_agents_that_support_them(open_session: Open, tmp_path: Path) -> None:
    """With their headers; also further folders."""
    servers = mcp_servers(
        {
            "docs": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer x"}},
            "feed": {"url": "https://x.test/sse", "type": "sse"},
        }
    )
    session = open_session("keeps", "http", "sse", "directories", mcp_servers=servers, directories=[tmp_path])
    new = next(each for each in requests(session) if each["method"] == "session/new")
    assert new["params"]["mcpServers"] == [
        {
            "type": "http",
            "name": "docs",
            "url": "https://x.test/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer x"}],
        },
        {"type": "sse", "name": "feed", "url": "https://x.test/sse", "headers": []},
    ]
    assert new["params"]["additionalDirectories"] == [str(tmp_path)]
    assert notices(session) == ""


@pytest.mark.parametrize(("able", "left"), [(["http"], "feed"), (["sse"], "docs"), ([], "docs, feed")])
def test_an_unreachable_mcp_server_is_left_out_with_a_notice(open_session: Open, able: list[str], left: str) -> None:
    servers = mcp_servers({"docs": {"url": "https://x.test"}, "feed": {"url": "https://x.test", "type": "sse"}})
    session = open_session("keeps", *able, mcp_servers=servers)
    new = next(each for each in requests(session) if each["method"] == "session/new")
    assert [server["type"] for server in new["params"]["mcpServers"]] == able
    assert f"cannot reach these MCP servers: {left}." in notices(session)


def test_agent_gets_the_full_path_of_an_mcp_program(tmp_path: Path) -> None:
    """ACP wants it: found on the agent's search path or in the session's folder; otherwise unchanged."""
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    servers = mcp_servers(
        {"a": {"command": "tool"}, "b": {"command": "bin/tool"}, "c": {"command": "nothing"}, "d": {"command": "tool"}}
    )
    descriptions, unreachable, missing = described(servers, {}, tmp_path, str(tool.parent))
    assert [server["command"] for server in descriptions] == [str(tool), str(tool), "nothing", str(tool)]
    assert (unreachable, missing) == ((), (("c", "nothing"),))


def test_mcp_servers_are_read_from_a_json_file(tmp_path: Path) -> None:
    """``mcp.json``; the error names a bad entry."""
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"files": {"command": "mcp-files"}}}))
    assert [server.name for server in mcp_servers(file)] == ["files"]
    assert [server.command for server in mcp_servers(str(file))] == ["mcp-files"]
    for text, expected in (("{", "is not JSON"), ("3", "contains no MCP servers")):
        file.write_text(text)
        with pytest.raises(UsageError, match=expected):
            mcp_servers(file)
    with pytest.raises(UsageError, match="cannot be read"):
        mcp_servers(tmp_path / "nothing.json")
