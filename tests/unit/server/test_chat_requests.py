"""The chat's requests to the kernel: agents, tabs and their agents, copies, drafts and files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.state import SessionStatus
from tests.unit.api.conftest import AGENTS, PATIENCE, KernelSettings
from tests.unit.host.conftest import until
from tests.unit.server.asking_page import MakeHost, Page, channel_of, idle_session, page_of


def test_refresh_finds_an_agent_installed_meanwhile(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page learns of it: installed agents come first, by rank, without an install command."""
    before = page.host.root.state.agents
    assert [each.provider for each in before if each.missing][:3] == ["claude", "codex", "gemini"]
    assert before[-1].install is not None
    assert "codex" not in page.ask("refreshAgents", {})["result"]["installed"]
    assert page.host.root.state.agents is before
    program = tmp_path / ("codex-acp.cmd" if os.name == "nt" else "codex-acp")
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "codex" in page.ask("refreshAgents", {})["result"]["installed"]
    first = page.host.root.state.agents[0]
    assert (first.provider, first.missing, first.install) == ("codex", None, None)


def test_open_tab_starts_its_agent_before_the_first_prompt(page: Page, idle: Session) -> None:
    """Several views open one session; the mode chosen in it holds for the first prompt."""
    state = idle.state
    assert (state.lifecycle, state.modes, state.agent_process) == ("creating", None, None)
    for view in ("page-1", "page-2"):
        page.say("openSession", {"channel": idle.chat.resource}, id=view)
        assert page.hear("id")["result"] == {}
    until(page.host, idle, lambda: idle.state.lifecycle == "ready")
    pid = idle.health().pid
    until(page.host, idle, lambda: bool(idle.state.commands))
    page.dispatch(channel_of(idle), {"type": "x-agentnb/modeChanged", "modeId": "plain"})
    until(page.host, idle, lambda: idle.state.modes is not None and idle.state.modes.current_mode_id == "plain")
    page.ask("openSession", {"channel": channel_of(idle)})
    idle.open(PATIENCE)
    assert idle.prompt("Just as I say.").wait(PATIENCE).text == "Just as I say."
    assert idle.health().pid == pid


def test_tab_says_how_to_install_an_agent_that_cannot_start(page: Page, tmp_path: Path) -> None:
    """The error is in the session's state and its tab is marked; the transcript stays empty."""
    missing = idle_session(page.host, tmp_path, "no-such-agent", name="missing")
    assert page.ask("openSession", {"channel": channel_of(missing)})["result"] == {}
    until(page.host, missing, lambda: missing.state.lifecycle == "failed")
    error = missing.state.creation_error
    assert error is not None
    assert "no-such-agent" in error.message
    assert (missing.chat.active_turn, missing.chat.turns) == (None, ())
    (tab,) = page.host.root.state.sessions or ()
    assert tab.status == SessionStatus.ERROR | SessionStatus.IS_READ


def test_fork_copies_a_session_when_the_agent_supports_it(page: Page, idle: Session, tmp_path: Path) -> None:
    """The copy is a tab with the same turns. While a turn runs, or of other agents, the error says why not."""
    idle.prompt("/say my cat").wait(PATIENCE)
    assert idle.state.agent_process is not None
    assert idle.state.agent_process.fork is True
    result = page.ask("forkSession", {"channel": idle.chat.resource})["result"]
    copy = Session(page.host.find(result["channel"]))
    assert (result["chat"], copy.title) == (copy.chat.resource, "/say my cat (copy)")
    assert copy.chat.turns == idle.chat.turns
    running = idle.prompt("/hang")
    next(iter(running))
    error = page.ask("forkSession", {"channel": channel_of(idle)})["error"]
    assert (error["code"], "A turn runs in" in error["message"]) == (-32012, True)
    other = idle_session(page.host, tmp_path, sys.executable, str(AGENTS / "keeps.py"), "list", name="keeps")
    other.open(PATIENCE)
    assert other.state.agent_process is not None
    assert other.state.agent_process.fork is None
    assert "does not offer to copy a session" in page.refused("forkSession", channel=other.chat.resource)
    assert len(page.host.conversations) == 3


def test_tab_opened_in_the_chat_uses_configured_mcp_servers(kernel: MakeHost) -> None:
    """Both a new tab and one from the log; an error in the settings is reported, and no tab remains."""
    servers: dict[str, Any] = {"docs": {"url": "https://x.test/mcp"}}
    page = page_of(host := kernel())
    host.environment.connect(settings=KernelSettings(mcp_servers=servers))

    def named(session: Session) -> list[str]:
        return [server.name for server in host.find(channel_of(session)).configuration.components]

    opened = Session(host.find(page.ask("createSession", {"agent": "eliza"})["result"]["channel"]))
    assert named(opened) == ["docs"]
    opened.prompt("/say x").wait(PATIENCE)
    opened.close()
    servers["more"] = {"url": "https://y.test/mcp"}
    again = page.ask("resumeSession", {"channel": channel_of(opened)})["result"]["channel"]
    assert named(Session(host.find(again))) == ["docs", "more"]
    servers["bad"] = {}
    assert "bad" in page.refused("createSession", agent="eliza")
    assert len(host.conversations) == 1


def test_draft_reaches_other_and_later_windows(page: Page, idle: Session) -> None:
    """A later window gets it in its handshake, until it is sent; nothing else keeps it: it may hold a secret."""
    uri, host = idle.chat.resource, page.host

    def indexes() -> list[int]:
        return [host.channel(each).index for each in ("ahp-root://", uri, channel_of(idle))]

    before, other = indexes(), page.window("page-2")
    other.ready()
    page.say("draft", {"channel": uri, "text": "half a sen"})
    assert other.hear("draft")["params"] == {"channel": uri, "text": "half a sen"}
    page.say("draft", {"channel": uri, "text": "x" * 100_001})
    page.say("draft", {"channel": "eliza:/none", "text": "x"})
    assert page.window("page-3").ready()["result"]["drafts"] == {uri: "half a sen"}
    page.say("draft", {"channel": uri, "text": ""})
    assert other.hear("draft")["params"]["text"] == ""
    assert other.ready()["result"]["drafts"] == {}
    assert ([one for one in page.messages.queue if one["method"].endswith("draft")], indexes()) == ([], before)


def test_page_cannot_read_secret_or_outside_files(
    page: Page, idle: Session, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However the path is written; the error says what to do. Names that are not UTF-8 are listed as text."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("outside")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / os.fsdecode(b"a\xff")).touch()

    def refused(method: str, path: str) -> str:
        error = page.ask(method, {"channel": idle.chat.resource, "path": path})["error"]
        assert error["code"] == -32012
        return str(error["message"])

    for path in (".env", "notes.txt", "./x/../.env"):
        assert "'.env' may hold secrets: it matches **/.env*" in refused("readFile", path)
    for path in (str(outside / "a.txt"), "link/a.txt", "../a.txt"):
        assert "outside the workspace" in refused("readFile", path)
    for path in (str(outside), "link", ".."):
        assert "outside the workspace" in refused("listFiles", path)
    assert "There is no file 'none'" in refused("readFile", "none")
    listed = page.ask("listFiles", {"channel": idle.chat.resource})["result"]["entries"]
    kinds = {".env": "file", "a\ufffd": "file", "link": "link", "notes.txt": "link"}
    assert {entry["name"]: entry["kind"] for entry in listed} == kinds
