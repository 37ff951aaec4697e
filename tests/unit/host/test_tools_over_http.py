"""The kernel's tools for agents that take MCP servers over HTTP only, such as Copilot."""

from __future__ import annotations

import json

from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.host.test_agent_lifecycle import notices
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools"]  # a fixture

HTTP = {"mcp_transport": "http"}


def test_http_only_agent_runs_code_and_gets_an_object(kernel: Kernel, tools: Tools) -> None:
    """A number or a list is an object in `structuredContent`, because Gemini CLI fails otherwise."""
    kernel.connect(shell=tools)
    tools.shell.user_ns["x"] = 7
    session = kernel.start("http_mcp", spec=HTTP, mode="allow", kernel_tools=True)
    for code, value in (("x", 7), ("[x, x]", [7, 7]), ("None\nprint(0)", 0)):
        result = json.loads(session.prompt(f"run_code {json.dumps({'code': code})}").wait(PATIENCE).text)
        assert (result["structuredContent"], result["isError"]) == ({"result": value}, False)


def test_notice_names_stdio_servers_of_an_http_only_agent(kernel: Kernel) -> None:
    """The agent would ignore them silently."""
    session = kernel.start("http_mcp", spec=HTTP, mcp_servers={"files": {"command": "true"}})
    assert session.prompt("x {}").wait(PATIENCE).text.endswith("no servers")
    assert "cannot reach these MCP servers: files." in notices(session)
