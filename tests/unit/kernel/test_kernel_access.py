"""Access to the kernel: conversations without it, and a server of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentnb
from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.agent.mcp import mcp_servers
from agentnb.errors import UsageError
from agentnb.host import Host
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.test_agent_lifecycle import notices
from tests.unit.kernel.shell_tools import Tools


def test_kernel_access_is_refused_outside_of_ipython() -> None:
    with pytest.raises(UsageError, match="Agents cannot be given access to a kernel"):
        agentnb.start(kernel_tools=True)


def test_session_continues_without_a_missing_kernel(tmp_path: Path) -> None:
    host = Host()
    try:
        session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, kernel_tools=True)))
        turn = session.prompt("/mcp").wait(PATIENCE)
        assert turn.text == "None came with the session."
        assert "has no access to the kernel. There is no IPython kernel here." in notices(session)
    finally:
        host.close()


def test_users_mcp_server_keeps_its_name(tools: Tools, tmp_path: Path) -> None:
    """The kernel's server gets another name; a copy of the tab has the tools, and each closes its own."""
    host = Host()
    host.environment.connect(shell=tools)
    try:
        servers = mcp_servers({"kernel": {"command": "cat"}})
        opened = host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, mcp_servers=servers, kernel_tools=True))
        session = Session(opened)
        assert session.kernel_tools
        tools.shell.user_ns["xs"] = [1]
        named = "These came with the session: `kernel`, `agentnb-kernel`."
        assert session.prompt("/mcp").wait(PATIENCE).text == named
        copy = session.fork()
        session.close()
        assert "xs: list, length 1" in copy.prompt("/kernel variables").wait(PATIENCE).text
    finally:
        host.close()
