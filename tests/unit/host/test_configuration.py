"""Conversations share an agent's process only if their whole configuration is equal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil

import agentnb
from agentnb import Session
from agentnb.testing import Events
from tests.unit.api.conftest import AGENTS, PATIENCE, start
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["start", "tools"]  # the fixtures

FILES = {"files": {"command": "cat", "env": {"KEY": "one"}}}


def begun(kernel: Kernel, **options: Any) -> Session:
    """Returns a session whose agent runs."""
    session = kernel.start("echo", **{"env": {"LEVEL": "1"}, "mcp_servers": FILES, **options})
    session.open(PATIENCE)
    return session


def test_tabs_with_equal_configuration_share_a_process(kernel: Kernel) -> None:
    """Equal, not the same object; the last tab to close ends it."""
    tabs = [begun(kernel), begun(kernel)]
    (pid,) = {tab.health().pid for tab in tabs}
    process = psutil.Process(pid)
    assert [tab.health().tabs for tab in tabs] == [2, 2]
    tabs[0].close()
    assert process.is_running()
    tabs[1].close()
    assert not process.is_running()


def test_tabs_with_different_mcp_servers_do_not_share_a_process(kernel: Kernel) -> None:
    """Nor with other variables."""
    tabs = [begun(kernel), begun(kernel, mcp_servers={}), begun(kernel, env={})]
    assert len({tab.health().pid for tab in tabs}) == 3


def test_request_outside_a_session_reuses_a_running_process(start: Any, tmp_path: Path, agentnb_events: Events) -> None:
    """A list of sessions needs no servers or folders, but the same variables."""
    session = start("keeps", "list", agent="keeps", mcp_servers=FILES, env={"LEVEL": "1"})
    session.open(PATIENCE)
    asked: Any = {"kept_by": "keeps", "command": [sys.executable, str(AGENTS / "keeps.py"), "list"], "folder": tmp_path}
    agentnb.history(**asked, env={"LEVEL": "1"})
    assert len(agentnb_events.of("agent.spawned")) == 1
    agentnb.history(**asked)
    assert len(agentnb_events.of("agent.spawned")) == 2


def test_sessions_of_one_process_keep_separate_kernel_access(kernel: Kernel, tools: Tools) -> None:
    """The access of each conversation decides about its calls."""
    kernel.connect(shell=tools)
    run, off = (kernel.start(mode="allow", kernel_tools=access) for access in (True, False))
    texts = [session.prompt("/kernel run 6 * 7").wait(PATIENCE).text for session in (run, off, run)]
    assert (run.health().pid, run.health().tabs) == (off.health().pid, 2)
    assert ["42" in text for text in texts] == [True, False, True]
    assert "Off" in texts[1]


def test_agent_with_one_set_of_servers_has_a_process_per_tab(kernel: Kernel, tools: Tools) -> None:
    """So the kernel knows which tab's agent calls."""
    kernel.connect(shell=tools)
    tabs = [begun(kernel, kernel_tools=True) for _ in range(2)]
    assert [tab.health().tabs for tab in tabs] == [1, 1]
