"""The history panel: conversations of an earlier kernel are found, read, opened and deleted in the page."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook

EARLIER = """import agentnb
for text in ("Remember the milk", "The residuals are 100% <b>fine</b>"):
    session = agentnb.start(title=text[:13])
    session.prompt(f"/say {text}").wait()
"""
LEFT = """while len(found := agentnb.history(here=True)) > 1:
    pass
[row.title for row in found]"""
"""The page requests the deletion when it closes the panel; the kernel deletes a moment later."""
DELETE_AND_UNDO = """async (row) => {
  const chat = row.closest('.history');
  row.focus();
  row.dispatchEvent(new KeyboardEvent('keydown', { key: 'Delete', bubbles: true }));
  while (!chat.querySelector('[data-undo]')) await new Promise(requestAnimationFrame);
  chat.querySelector('[data-undo]').click();
}"""
"""Runs in the page, where ten seconds for undo suffice even on a busy machine."""
TOP = "(button) => button.getBoundingClientRect().top - button.closest('.history-row').getBoundingClientRect().top"
NARROW = "(host, width) => { host.style.width = width; }"


def expect_menu_in_place(row: Locator) -> None:
    """Opens a row's menu and checks that its button does not move."""
    row.hover()
    more = row.get_by_role("button", name="More: ")
    top = more.evaluate(TOP)
    more.click()
    expect(row.get_by_role("menu")).to_be_visible()
    assert abs(more.evaluate(TOP) - top) < 2
    more.page.keyboard.press("Escape")


def test_history_searches_opens_and_deletes_old_conversations(lab: Lab) -> None:
    """By keyboard if possible; a deletion can be undone for a while, then it is final."""
    cells = (EARLIER, "import agentnb\nagentnb.chat()", LEFT)
    lab.open("history.ipynb", notebook(*cells, kernel="ipykernel7"))
    lab.run_cells(1)
    lab.restart()
    cell = lab.cell(1)
    cell.run()
    chat = cell.output.locator(".root.chat")
    chat.get_by_role("button", name="Conversation", exact=True).click()
    chat.get_by_role("menuitem", name="History").click()
    search, rows = chat.get_by_role("searchbox"), chat.locator(".history-row")
    expect(search).to_be_focused(timeout=PATIENCE_MS)
    expect(rows).to_have_count(2, timeout=PATIENCE_MS)
    assert serious(lab.page) == []
    expect_menu_in_place(rows.first)

    search.fill("100% <B>FI")
    chat.get_by_text("1 conversation found").wait_for(timeout=PATIENCE_MS)
    expect(rows.locator("mark").first).to_have_text(re.compile(r"^100% <b>fi$"), timeout=PATIENCE_MS)
    search.press("ArrowDown")
    expect(rows.locator(".history-main")).to_be_focused(timeout=PATIENCE_MS)
    lab.page.keyboard.press("ArrowRight")
    expect(chat.locator(".history-preview")).to_contain_text("The residuals are 100% <b>fine</b>", timeout=PATIENCE_MS)
    lab.picture("history-search")
    lab.theme("JupyterLab Dark")
    view = cell.output.locator(".agentnb-view")
    view.evaluate(NARROW, "320px")
    assert serious(lab.page) == []
    lab.picture("history-narrow-dark")
    view.evaluate(NARROW, "")
    lab.theme("JupyterLab Light")

    rows.locator(".history-main").press("Enter")
    expect(chat.get_by_role("tab", selected=True)).to_contain_text("The residuals", timeout=PATIENCE_MS)
    expect(chat.locator("[data-turn]")).to_have_count(1, timeout=PATIENCE_MS)
    box = chat.get_by_role("textbox").first
    box.press("Alt+h")
    expect(rows).to_have_count(2, timeout=PATIENCE_MS)
    row = rows.filter(has_text="Remember the")
    row.locator(".history-main").evaluate(DELETE_AND_UNDO)
    expect(rows).to_have_count(2, timeout=PATIENCE_MS)
    row.hover()
    row.get_by_role("button", name="More: ").click()
    row.get_by_role("menuitem", name="Delete").click()
    expect(rows).to_have_count(1, timeout=PATIENCE_MS)
    assert serious(lab.page) == []
    lab.picture("history-deleted")
    lab.page.keyboard.press("Escape")
    expect(box).to_be_focused(timeout=PATIENCE_MS)
    after = lab.cell(2)
    after.run()
    after.expect_text("['The residuals']")
