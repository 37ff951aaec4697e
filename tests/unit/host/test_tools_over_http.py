"""The kernel's tools for agents that take MCP servers over HTTP only, such as Copilot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.catalog import find
from agentnb.agent.mcp import mcp_servers
from agentnb.host import Host
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import Open
from tests.unit.host.test_agent_lifecycle import notices
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools"]  # a fixture

HTTP = {"mcp_transport": "http"}


def test_copilot_gets_the_tools_over_http() -> None:
    assert (find("copilot").mcp_transport, find("claude").mcp_transport) == ("http", "stdio")


@pytest.mark.parametrize(("code", "value"), [("x", 7), ("[x, x]", [7, 7]), ("None\nprint(0)", 0)])
def test_http_only_agent_runs_code_and_gets_an_object(
    host: Host, open_session: Open, tools: Tools, code: str, value: Any
) -> None:
    """A number or a list is an object in `structuredContent`, because Gemini CLI fails otherwise."""
    host.environment.connect(shell=tools)
    tools.shell.user_ns["x"] = 7
    session = open_session("http_mcp", spec=HTTP, mode="allow", kernel_tools=True)
    result = json.loads(session.prompt(f"run_code {json.dumps({'code': code})}").wait(PATIENCE).text)
    assert (result["structuredContent"], result["isError"]) == ({"result": value}, False)


def test_notice_names_stdio_servers_of_an_http_only_agent(open_session: Open, tmp_path: Path) -> None:
    """The agent would ignore them silently."""
    servers = mcp_servers({"files": {"command": "true"}})
    session = open_session("http_mcp", spec=HTTP, mcp_servers=servers)
    assert session.prompt("x {}").wait(PATIENCE).text.endswith("no servers")
    assert "cannot reach these MCP servers: files." in notices(session)
