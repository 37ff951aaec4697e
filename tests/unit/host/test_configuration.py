"""Conversations share an agent's process only if their whole configuration is equal."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentnb import Session
from agentnb.agent.catalog import custom, find
from agentnb.agent.mcp import mcp_servers
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.host.session_options import Configuration
from agentnb.ids import new_id
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import configuration
from tests.unit.kernel.shell_tools import Tools

FILES = {"files": {"command": "cat", "env": {"KEY": "one"}}}


def made(usual_cwd: Path, **other: Any) -> Configuration:
    """Returns the configuration with *other*."""
    usual = {
        "spec": custom([sys.executable, str(AGENTS / "echo.py")], name="echo"),
        "cwd": usual_cwd,
        "env": {"LEVEL": "1"},
        "mcp_servers": mcp_servers(FILES),
        "directories": [],
    }
    every = {**usual, **other}
    spec, folder, env = every.pop("spec"), every.pop("cwd"), every.pop("env")
    return configuration(spec, folder, env, **every)


def opened(host: Host, configured: Configuration) -> Session:
    def open_it() -> Conversation:
        conversation = Conversation(host, configured, tab_id=new_id())
        host.adopt(conversation)
        return conversation

    return Session(host.loop.call(open_it))


def test_tabs_with_equal_configuration_share_a_process(host: Host, tmp_path: Path) -> None:
    """Equal, not the same object; the last tab to close ends it."""
    tabs = [opened(host, made(tmp_path)) for _ in range(2)]
    for tab in tabs:
        tab.prompt("hi").wait(PATIENCE)
    (agent,) = host.agents.running(made(tmp_path).spec)
    assert [(tab.health().pid, tab.health().tabs) for tab in tabs] == [(agent.pid, 2)] * 2
    tabs[0].close()
    assert not agent.closed
    tabs[1].close()
    assert agent.closed


def test_tabs_with_different_mcp_servers_do_not_share_a_process(host: Host, tmp_path: Path) -> None:
    """Nor does one warmed without them serve the tab that has some."""
    with_servers = opened(host, made(tmp_path))
    bare = opened(host, made(tmp_path, mcp_servers=()))
    for tab in (with_servers, bare):
        tab.prompt("hi").wait(PATIENCE)
    assert with_servers.health().pid != bare.health().pid
    warm = host.loop.submit(host.agents.warm(made(tmp_path, mcp_servers=()))).result(PATIENCE)
    assert warm.pid == bare.health().pid


def test_request_outside_a_session_reuses_a_running_process(host: Host, tmp_path: Path) -> None:
    """A list of sessions needs no servers or folders."""
    tab = opened(host, made(tmp_path))
    tab.prompt("hi").wait(PATIENCE)
    borrowed = host.loop.submit(host.agents.borrow(made(tmp_path, mcp_servers=()))).result(PATIENCE)
    assert borrowed.pid == tab.health().pid
    other = host.loop.submit(host.agents.borrow(made(tmp_path, env={}))).result(PATIENCE)
    assert other is not borrowed


def test_agents_own_mcp_servers_go_to_each_of_its_sessions(tmp_path: Path) -> None:
    """A server given for the session wins where the names are equal."""
    from agentnb.agent.catalog import read

    spec = read(
        'name = "x"\ntitle = "X"\ncommand = ["x"]\n'
        '[mcp_servers.docs]\nurl = "https://x.test"\n[mcp_servers.files]\ncommand = "mcp-files"\n'
    )
    made = configuration(spec, tmp_path, mcp_servers=mcp_servers({"files": {"command": "other"}}))
    assert [(server.name, server.command or server.url) for server in made.components] == [
        ("docs", "https://x.test"),
        ("files", "other"),
    ]
    assert made.bare.components == ()


def test_tabs_with_kernel_access_share_a_process_if_supported(tmp_path: Path) -> None:
    """Otherwise each tab has its own key; requests outside of sessions take any running process."""
    one, other = (made(tmp_path, kernel_tools=True) for _ in range(2))
    assert len({one.key, other.key, made(tmp_path).key}) == 3
    assert one.bare.key == other.bare.key == made(tmp_path).bare.key
    apart = replace(one.spec, mcp_per_session=True)
    assert len({made(tmp_path, spec=apart, kernel_tools=True).key for _ in range(2)}) == 1


def test_sessions_of_one_process_keep_separate_kernel_access(host: Host, tmp_path: Path) -> None:
    """The access of each conversation decides about its calls."""
    tools = Tools()
    host.environment.connect(shell=tools)
    open_one = partial(host.open, find("eliza"), cwd=tmp_path, mode="allow")
    run, off = (Session(host.loop.call(partial(open_one, kernel_tools=access))) for access in (True, False))
    texts = [session.prompt("/kernel run 6 * 7").wait(PATIENCE).text for session in (run, off, run)]
    assert (run.health().pid, run.health().tabs) == (off.health().pid, 2)
    assert ["42" in text for text in texts] == [True, False, True]
    assert "Off" in texts[1]
    tools.loop.stop()
