"""OpenCode from npm by *Install* in the chat, on a machine without it, and a turn with it, in JupyterLab."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import chromium, kept, lab, profile, server
from tests.browser.lab import Lab, notebook
from tests.browser.side import Side
from tests.peers import model
from tests.peers.agents import PEERS

__all__ = ["chromium", "kept", "lab", "profile", "server"]

INSTALL_MS = 900_000

pytestmark = pytest.mark.peers


@pytest.fixture
def side(lab: Lab, kernelspecs: Path) -> Side:
    return Side(lab.page)


def test_opencode_installs_from_npm_and_completes_a_turn(lab: Lab, side: Side, tmp_path: Path) -> None:
    """Three clicks without a terminal; the prefix is not on the PATH, and the model is the scripted one."""
    if not model.SCRIPT.exists():
        pytest.skip(f"no scripted model server at {model.SCRIPT}")
    if shutil.which("npm") is None or shutil.which("opencode") is not None:
        pytest.skip("npm is not on the PATH, or OpenCode is already")
    work = tmp_path / "work"
    work.mkdir()
    with model.served(tmp_path / "model.log", work) as address:
        environment = {
            **PEERS["opencode"].at_home(tmp_path / "home", address),
            "AGENTNB_DATA_DIR": str(tmp_path / "data"),
            "NPM_CONFIG_PREFIX": str(tmp_path / "prefix"),
            "NPM_CONFIG_USERCONFIG": os.environ.get("NPM_CONFIG_USERCONFIG", str(Path.home() / ".npmrc")),
        }
        code = f"import os\nos.environ.update({environment!r})\nos.chdir({str(work)!r})"
        lab.open("install-opencode.ipynb", notebook(code, kernel="ipykernel7"))
        lab.cell(0).run()
        lab.cell(0).expect_done(1)
        side.open()
        side.expect_chat()
        side.pill.click()
        side.agents.get_by_role("button", name="More agents").click()
        agent = side.chat.get_by_role("group", name="OpenCode", exact=True)
        agent.get_by_role("button", name="Install OpenCode").click()
        agent.get_by_role("button", name="Run").click()
        expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("OpenCode", timeout=INSTALL_MS)
        side.say("[[write text]] Please do it.")
        expect(side.chat.get_by_role("button", name="Allow once")).to_be_visible(timeout=INSTALL_MS)
        side.chat.get_by_role("button", name="Allow once").click()
        assert 'print("hello")' in Chat(side.session).answer()
        assert (work / "hello.txt").read_text(encoding="utf-8").startswith("hello from the fake model")
        assert list((tmp_path / "prefix/bin").iterdir()) == [tmp_path / "prefix/bin/opencode"]
        lab.picture("install-opencode")
