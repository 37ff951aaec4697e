"""The sidebar in a real Notebook 7: a button in the notebook's toolbar instead of an icon bar."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import CONNECTED, PATIENCE_MS, Lab, notebook
from tests.browser.side import NOTEBOOK, Side, install, sources
from tests.browser.test_features import HAND_OVER, PIXEL

PIXEL_TEXT = base64.b64encode(PIXEL).decode()
UNDO_CELLS = "notebook:undo-cell-action"

pytestmark = pytest.mark.notebook7


class Classic:
    """A page with Notebook 7."""

    def __init__(self, lab: Lab) -> None:
        self.page, self.server = lab.page, lab.server
        self.side = Side(lab.page)
        self.button: Locator = lab.page.locator("[data-jp-item-name='agentnb']").locator("button, jp-button").first

    def open(self, name: str, *cells: str, kernel: str = "ipykernel7") -> None:
        """Open a notebook and wait for its kernel."""
        nbformat.write(notebook(*cells, kernel=kernel), self.server.folder / name)
        self.page.goto(f"{self.server.url}/notebooks/{name}?token=browser-tests")
        self.button.wait_for(timeout=PATIENCE_MS)
        self.page.evaluate(CONNECTED)

    def restart(self) -> None:
        """Restart the kernel through the toolbar and its dialog."""
        self.page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:restart-kernel']").first.click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()


@pytest.fixture
def classic(lab: Lab, kernelspecs: Path) -> Classic:
    return Classic(lab)


def test_one_click_opens_the_chat_and_a_reload_keeps_it(classic: Classic, lab: Lab) -> None:
    """The toolbar's button loads agentnb; after a reload the sidebar is open again; the button closes it."""
    classic.open("classic.ipynb", "x = 1", "other = 2")
    classic.button.click()
    classic.side.start()
    classic.side.say("/say in Notebook 7")
    classic.side.expect_answer("in Notebook 7")
    lab.picture("sidebar-notebook7")
    _the_chats_own_items(classic.side)
    lab.cell(1).write("other = 'typed'")
    lab.expect_in_kernel(f"[c.source for c in {NOTEBOOK}.cells]", ["x = 1", "other = 'typed'"])
    lab.page.keyboard.press("Shift+Home")
    lab.expect_in_kernel(f"{NOTEBOOK}.selection", "other = 'typed'")
    lab.save()
    classic.page.reload()
    classic.side.expect_chat()
    classic.side.expect_text("seen")
    expect(classic.side.box).to_have_value("half a thought", timeout=PATIENCE_MS)
    lab.expect_in_kernel(f"{NOTEBOOK}.active_cell.source", "x = 1")
    classic.button.click()
    expect(classic.side.panel).to_be_hidden(timeout=PATIENCE_MS)


def _the_chats_own_items(side: Side) -> None:
    """A choice, a streamed answer, a question by keyboard, completion, a picture, find; leaves a draft."""
    side.pill.click()
    side.chat.get_by_role("combobox", name="Pieces").select_option("letter")
    side.page.keyboard.press("Escape")
    side.say("/hang")
    side.expect_text("I am silent until you cancel.")  # visible while the turn runs
    side.button("Stop").click()
    expect(side.button("Stop")).to_have_count(0)
    expect(side.box).to_be_focused()
    side.say("/ask edit")
    allow = side.button("Allow once")
    expect(allow).to_be_enabled(timeout=PATIENCE_MS)
    allow.press("Enter")
    expect(allow).to_have_count(0, timeout=PATIENCE_MS)
    side.box.press_sequentially("/sa")
    offer = side.chat.get_by_role("option", name="/say")
    offer.wait_for(timeout=PATIENCE_MS)
    side.box.press("Tab")
    expect(side.box).to_have_value("/say ")
    side.box.press_sequentially("seen")
    side.box.evaluate(HAND_OVER, ["paste", base64.b64encode(PIXEL).decode()])
    side.chat.get_by_role("img", name="paste.png").wait_for(timeout=PATIENCE_MS)
    side.box.press("Enter")
    expect(side.chat.locator(".answer").last).to_contain_text("seen", timeout=PATIENCE_MS)
    side.box.press("Control+f")
    field = side.chat.get_by_role("searchbox")
    field.fill("in Notebook 7")
    side.chat.get_by_text("1 of 1 turn").wait_for(timeout=PATIENCE_MS)
    field.press("Escape")
    side.box.press_sequentially("half a thought")


def test_python_and_the_palette_open_the_sidebar(classic: Classic, lab: Lab) -> None:
    """``%agents sidebar`` works as in JupyterLab, even if it is open; so do the palette and the View menu."""
    classic.open("classic-python.ipynb", "%load_ext agentnb", "%agents sidebar", "1 / 0")
    lab.run_cells(1)
    for count in (2, 3):
        lab.cell(1).run()
        lab.cell(1).expect_done(count)
        lab.cell(1).expect_text("The chat is in the sidebar on the right.")
        classic.side.expect_chat()
    lab.page.get_by_role("menuitem", name="View", exact=True).click()
    entry = lab.page.locator(".lm-Menu-item[data-command='agentnb:toggle']")
    expect(entry).to_have_class(re.compile("lm-mod-toggled"))
    entry.click()
    expect(classic.side.panel).to_be_hidden(timeout=PATIENCE_MS)
    lab.command("apputils:activate-command-palette")
    lab.page.keyboard.type("agent chat")
    lab.page.locator(".lm-CommandPalette-item[data-command='agentnb:toggle']").click()
    classic.side.expect_chat()
    lab.cell(2).run()
    lab.cell(2).button("Fix with agent").click(timeout=PATIENCE_MS)
    classic.side.start()
    classic.side.expect_text("Fix the error in In [4]: @error:4")


def test_shortcut_shows_install_command_when_agentnb_is_missing(classic: Classic, lab: Lab, bare: Path) -> None:
    """Ctrl+Shift+O, as in JupyterLab; the install command goes into a cell; after it the chat opens."""
    classic.open("classic-keys.ipynb", install(bare), kernel="bare")
    lab.cell(0).focus()
    lab.page.keyboard.press("Control+Shift+O")
    classic.side.expect_state("missing")
    assert classic.side.notice.locator("code").first.inner_text() == "%pip install jupyter-agentnb"
    classic.side.button("Insert in a cell").click()
    assert sources(lab) == [install(bare), "%pip install jupyter-agentnb"]
    expect(lab.cell(1).locator).to_have_class(re.compile("jp-mod-active"))
    lab.cell(0).run()
    classic.side.start()
    classic.side.box.focus()
    lab.page.keyboard.press("Control+Shift+O")
    expect(classic.side.box).not_to_be_focused(timeout=PATIENCE_MS)
    lab.page.keyboard.press("Control+Shift+O")
    expect(classic.side.box).to_be_focused(timeout=PATIENCE_MS)
    (bare / "agentnb").unlink()


def test_chat_returns_after_a_restart_and_inserts_code(classic: Classic, lab: Lab) -> None:
    """With its conversation; a code block is inserted, run, put in place, each undone."""
    classic.open("classic-restart.ipynb", "x = 1")
    classic.button.click()
    classic.side.start()
    classic.side.say("/say before")
    classic.side.expect_answer("before")
    classic.restart()
    classic.side.expect_answer("before")
    classic.side.say("/say ```python\nprint(6 * 7)\n```")
    classic.side.button("Insert below the active cell").click()
    assert sources(lab) == ["x = 1", "print(6 * 7)"]
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1"]
    classic.side.button("Run in a new cell below").click()
    lab.cell(1).expect_done(1)
    lab.cell(1).expect_text("42")
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1"]
    classic.side.button("Replace the active cell").click()
    assert sources(lab) == ["print(6 * 7)"]
    lab.cell(0).focus()
    lab.page.keyboard.press("Control+z")
    assert sources(lab) == ["x = 1"]


def test_selection_and_output_are_attached_in_notebook_7(classic: Classic) -> None:
    """The shortcut and the output's context menu write the mentions; the keyboard opens their chips."""
    page, side = classic.page, classic.side
    draw = (
        f"from base64 import b64decode\nfrom IPython.display import Image\nImage(b64decode({PIXEL_TEXT!r}), width=90)"
    )
    classic.open("attached7.ipynb", draw)
    cell = page.locator(".jp-CodeCell").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    picture = cell.locator(".jp-RenderedImage img")
    picture.wait_for(timeout=PATIENCE_MS)
    classic.button.click()
    side.start()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+Alt+g")
    expect(side.box).to_have_value("@selection:1 ", timeout=PATIENCE_MS)
    picture.click(button="right")
    page.get_by_role("menuitem", name="Add Output to Chat").click()
    expect(side.box).to_have_value("@selection:1 @output:1 ", timeout=PATIENCE_MS)
    chips = side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
    expect(chips).to_have_count(3, timeout=PATIENCE_MS)
    chips.nth(2).focus()
    page.keyboard.press("Enter")
    side.chat.locator(".mention-preview img").wait_for(timeout=PATIENCE_MS)
