"""A missing agent: the chat shows the command, runs it in a terminal, checks it, and starts a conversation."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.chat import Chat
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.unit.agent.installers import make_installers


def test_agent_list_installs_an_agent_that_answers(lab: Lab, side: Side, tmp_path: Path) -> None:
    """By npm as a test program; nothing runs before the user has seen the command and agreed."""
    folder = make_installers(tmp_path / "path", "npm")
    environment = {"PATH": str(folder), "AGENTNB_DATA_DIR": str(tmp_path), "INSTALLER_PREFIX": str(tmp_path / "prefix")}
    lab.open("install.ipynb", notebook(f"import os\nos.environ.update({environment!r})", kernel="ipykernel7"))
    lab.run_cells(1)
    side.open()
    side.expect_chat()
    side.pill.click()
    side.agents.get_by_role("button", name="More agents").click()
    agent = side.chat.get_by_role("group", name="OpenCode", exact=True)
    agent.get_by_role("button", name="Install OpenCode").click()
    expect(agent.locator("pre")).to_have_text("npm install -g opencode-ai@1.18.33")
    assert (serious(lab.page), (tmp_path / "prefix").exists()) == ([], False)
    lab.picture("install-question")
    agent.get_by_role("button", name="Run").click()
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("OpenCode", timeout=PATIENCE_MS)
    side.say("Are you there?")
    assert Chat(side.session).answer() == "Are you there?"
