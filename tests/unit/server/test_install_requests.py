"""Installs and checks an agent from a page, with real processes in place of npm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentnb.state import AgentInfo, AgentSetup
from tests.unit.agent.installers import calls, make_installers
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.asking_page import Page

COMMAND = "npm install -g opencode-ai@1.18.33"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH; it has npm and npx."""
    folder = make_installers(tmp_path / "path", "npm", "npx")
    monkeypatch.setenv("PATH", str(folder))
    for name in ("DATA", "CONFIG"):
        monkeypatch.setenv(f"AGENTNB_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("INSTALLER_PREFIX", str(tmp_path / "prefix"))
    monkeypatch.setenv("INSTALLER_LOG", str(tmp_path / "calls.jsonl"))
    return folder


def until(page: Page, condition: Callable[[], object]) -> None:
    """Waits, change by change, until *condition* holds."""
    host, done = page.host, Event()

    def look(*_: object) -> None:
        if condition():
            done.set()

    host.loop.call(host.listen, look)
    try:
        host.loop.call(look)
        assert done.wait(PATIENCE), "it never came to that"
    finally:
        host.loop.call(host.listeners.remove, look)


def info(page: Page, name: str = "opencode") -> AgentInfo:
    """Returns the root channel's entry of an agent."""
    return next(each for each in page.host.root.state.agents if each.provider == name)


def setup(page: Page) -> AgentSetup:
    agent_setup = info(page).setup
    assert agent_setup is not None
    return agent_setup


def ended(page: Page) -> AgentSetup:
    """Waits until the install has ended."""
    until(page, lambda: setup(page).state not in {"running", "checking"})
    return setup(page)


def install(page: Page, command: str = COMMAND) -> dict[str, Any]:
    return page.ask("installAgent", {"agent": "opencode", "command": command})


def test_install_runs_the_shown_command_and_the_agent_starts(page: Page, tmp_path: Path) -> None:
    """Every page sees the terminal and the result; the log of decisions records it."""
    before = info(page)
    assert (before.missing, before.install, before.can_install) == (True, COMMAND, True)
    assert before.runner == "npx --yes opencode-ai@1.18.33 acp"
    assert install(page)["result"] == {}
    end = ended(page)
    assert (end.state, end.message, end.terminal.command) == ("done", "It answers.", COMMAND)
    assert (end.terminal.exit_code, "added 1 package" in end.terminal.output) == (0, True)
    assert (info(page).missing, info(page).install) == (None, None)
    assert calls(tmp_path / "calls.jsonl")[0] == COMMAND.split()
    (record,) = [json.loads(line) for line in (tmp_path / "data/audit.jsonl").read_text().splitlines()]
    assert (record["what"], record["outcome"], record["by"]) == (COMMAND, "allow", "user")
    checked = page.ask("checkAgent", {"agent": "opencode"})["result"]
    assert (checked["state"], checked["version"], checked["startMs"] >= 0) == ("ready", "1.0", True)


def test_install_can_be_stopped_and_blocks_a_second_one(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second install is refused with the name of the first."""
    monkeypatch.setenv("INSTALLER", "hangs")
    install(page)
    until(page, lambda: "fetching" in setup(page).terminal.output)
    refused = page.ask("installAgent", {"agent": "qwen", "command": "npm install -g @qwen-code/qwen-code"})
    assert refused["error"]["message"] == "OpenCode is being installed. Wait for it, or stop it."
    assert page.ask("stopInstall", {"agent": "qwen"})["result"] == {}
    assert page.ask("stopInstall", {"agent": "opencode"})["result"] == {}
    assert (ended(page).state, setup(page).message) == ("stopped", "The install of OpenCode was stopped.")
    monkeypatch.setenv("INSTALLER", "works")
    install(page)
    assert ended(page).state == "done"


def test_failed_install_says_why_and_leaves_the_agent_missing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output stays readable, without secrets."""
    monkeypatch.setenv("INSTALLER", "fails")
    monkeypatch.setenv("NPM_TOKEN", "opencode-ai")
    install(page)
    end = ended(page)
    assert (end.state, end.terminal.exit_code, info(page).missing) == ("failed", 243, True)
    assert end.message.startswith("npm ended with exit code 243.")
    assert ("EACCES" in end.terminal.output, "opencode-ai" in end.terminal.output) == (True, False)


def test_only_the_shown_command_is_run_and_only_if_allowed(page: Page, tmp_path: Path) -> None:
    """An outdated or malicious page installs nothing, a deny rule applies too, and a check only says what to type."""
    for command in ("npm install -g evil", f"{COMMAND}; id", f"{COMMAND} "):
        assert "is no longer the one that was shown" in install(page, command)["error"]["message"]
    checked = page.ask("checkAgent", {"agent": "opencode"})["result"]
    assert (checked["state"], checked["todo"]) == ("missing", COMMAND)
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config/policy.toml").write_text('[[rule]]\naction = "deny"\ncommand = "npm *"\n')
    assert f"`{COMMAND}` was not run" in install(page)["error"]["message"]
    assert (info(page).setup, calls(tmp_path / "calls.jsonl")) == (None, [])
