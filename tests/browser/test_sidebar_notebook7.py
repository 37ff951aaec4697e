"""The sidebar in a real Notebook 7: no icon bar there, a button in the notebook's toolbar instead."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.browser.side import Side


class Classic:
    """A page with Notebook 7 in it.

    Args:
        lab: What makes its page and knows its server.
    """

    def __init__(self, lab: Lab) -> None:
        self.page, self.server = lab.page, lab.server
        self.side = Side(lab.page)
        self.button: Locator = lab.page.locator("[data-jp-item-name='agentnb']").locator("button, jp-button").first

    def open(self, name: str, *cells: str) -> None:
        """Open a notebook."""
        nbformat.write(notebook(*cells, kernel="ipykernel7"), self.server.folder / name)
        self.page.goto(f"{self.server.url}/notebooks/{name}?token=browser-tests")
        expect(self.button).to_be_visible(timeout=PATIENCE_MS)

    def cell(self, index: int) -> Cell:
        """The code cell at an index, from 0."""
        return Cell(self.page.locator(".jp-CodeCell").nth(index))


@pytest.fixture
def classic(lab: Lab, kernelspecs: Path) -> Classic:
    """A page with Notebook 7."""
    return Classic(lab)


def test_one_click_opens_the_chat_and_a_reload_keeps_it(classic: Classic, lab: Lab) -> None:
    """The toolbar's button loads agentnb; after a reload the sidebar is open again; the button closes it."""
    classic.open("classic.ipynb", "x = 1")
    classic.button.click()
    classic.side.start()
    classic.side.say("/say in Notebook 7")
    classic.side.expect_text("in Notebook 7")
    lab.picture("sidebar-notebook7")
    classic.page.reload()
    classic.side.expect_chat()
    classic.side.expect_text("in Notebook 7")
    classic.button.click()
    expect(classic.side.panel).to_be_hidden(timeout=PATIENCE_MS)


def test_python_opens_the_sidebar(classic: Classic) -> None:
    """``%agents sidebar`` works as in JupyterLab."""
    classic.open("classic-python.ipynb", "%load_ext agentnb", "%agents sidebar")
    classic.cell(0).run()
    classic.cell(0).expect_done(1)
    classic.cell(1).run()
    classic.cell(1).expect_text("The chat is in the sidebar on the right.")
    classic.side.expect_chat()


def test_the_shortcut_goes_there_and_back(classic: Classic) -> None:
    """Ctrl+Shift+O, as in JupyterLab."""
    classic.open("classic-keys.ipynb", "x = 1")
    classic.cell(0).focus()
    classic.page.keyboard.press("Control+Shift+O")
    classic.side.start()
    classic.side.box.focus()
    classic.page.keyboard.press("Control+Shift+O")
    expect(classic.side.box).not_to_be_focused(timeout=PATIENCE_MS)
    classic.page.keyboard.press("Control+Shift+O")
    expect(classic.side.box).to_be_focused(timeout=PATIENCE_MS)


def test_the_chat_comes_back_after_a_restart_of_the_kernel(classic: Classic) -> None:
    """The restarted kernel gets agentnb again by itself."""
    classic.open("classic-restart.ipynb", "x = 1")
    classic.button.click()
    classic.side.start()
    classic.page.locator("[data-command='notebook:restart-kernel']").click()
    classic.page.locator(".jp-Dialog .jp-mod-accept").click()
    classic.side.start()
    classic.side.say("/say after the restart")
    classic.side.expect_text("after the restart")
