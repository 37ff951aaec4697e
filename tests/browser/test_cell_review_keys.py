"""Changes in the cells, reviewed by keyboard alone: the shortcuts for all of them, and the bar over the notebook."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, expect_sources
from tests.browser.test_cell_review import SETUP, STEPS

BEFORE = ["a = 1\nprint(a)"]
AFTER = ["a = 1\nprint(a + 10)", "b = 2"]


def propose(lab: Lab, side: Side) -> None:
    """Have two changes wait in the cells, and put the cursor into the code of one."""
    side.say(json.dumps([*STEPS[:2], {"end": 2}]))
    expect(lab.panel.locator(".agentnb-cell-bar[data-armed=true]")).to_have_count(2, timeout=PATIENCE_MS)
    lab.cell(1).focus()


def test_all_changes_are_rejected_and_accepted_by_their_keys_and_by_the_bar_that_tab_reaches(
    lab: Lab, kernelspecs: Path
) -> None:
    """Ctrl+Alt+Shift+N and Y in a cell's editor; Shift+Tab from the notebook to the bar, Escape back."""
    del kernelspecs
    lab.open("keys.ipynb", notebook(SETUP, *BEFORE, kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    press = lab.page.keyboard.press
    none = lab.panel.locator(".agentnb-cell-bar, .agentnb-changes-bar")

    propose(lab, side)
    press("Control+Alt+Shift+N")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, BEFORE)
    propose(lab, side)
    press("Control+Alt+Shift+Y")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, AFTER)

    propose(lab, side)
    press("Escape")
    for key in ("Shift+Tab", "Tab"):
        lab.cell(1).focus(); press("Escape")
        for n in range(9):
            press(key)
            print(key, n, lab.page.evaluate("() => { const a = document.activeElement; return [a.tagName, a.className, a.textContent.slice(0, 30), a.title] }"))
    lab.picture("keys-explore")
