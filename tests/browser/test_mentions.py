"""*Add to Chat*, and what mentions attach, in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAkAAAAJCAIAAABv85FHAAAADElEQVR4nGNgGLkAAAD8AAEMLtaOAAAAAElFTkSuQmCC"
DRAW = f"from base64 import b64decode\nfrom IPython.display import Image\nImage(b64decode('{PNG}'), width=200)"
SHORTCUT = "Control+Alt+a"


@pytest.fixture
def side(lab: Lab, kernelspecs: Path) -> Side:
    """The sidebar of a page."""
    return Side(lab.page)


def test_selected_code_and_an_output_are_added_to_the_chat_and_go_to_the_agent(lab: Lab, side: Side) -> None:
    """By keyboard and by mouse; the chips show what is sent."""
    lab.open("added.ipynb", notebook(DRAW, "threshold = 5", kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    expect(lab.cell(0).output.locator(".jp-RenderedImage img")).to_be_visible(timeout=PATIENCE_MS)
    side.open()
    side.start()
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.press(SHORTCUT)
    expect(side.box).to_have_value("@selection:1 ", timeout=PATIENCE_MS)
    expect(side.box).to_be_focused(timeout=PATIENCE_MS)
    lab.cell(0).output.locator(".jp-RenderedImage img").click(button="right")
    lab.page.get_by_role("menuitem", name="Add Output to Chat").click()
    expect(side.box).to_have_value("@selection:1 @output:1 ", timeout=PATIENCE_MS)
    chips = side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
    expect(chips).to_have_count(3, timeout=PATIENCE_MS)
    chips.nth(0).click()
    expect(side.chat.locator(".mention-preview pre")).to_contain_text("threshold = 5", timeout=PATIENCE_MS)
    chips.nth(2).click()
    expect(side.chat.locator(".mention-preview img")).to_be_visible(timeout=PATIENCE_MS)
    lab.picture("mentions-chips")
    assert serious(lab.page) == []
    side.box.press("Home")
    side.box.press_sequentially("/context ")
    side.box.press("Enter")
    side.expect_text("3 things came with this prompt.")
    side.expect_text("image/png")
    expect(chips).to_have_count(0, timeout=PATIENCE_MS)
