"""Changes in the cells, reviewed by keyboard alone: the shortcuts for all of them, and the bar over the notebook."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, expect_sources
from tests.browser.test_cell_review import SETUP
from tests.browser.test_states import go

BEFORE = ["a = 1\nprint(a)"]
AFTER = ["a = 1\nprint(a + 2)", "b = 2"]
IN_NOTEBOOK = """() => {
  const { activeElement: at } = document;
  return at.closest(".jp-Notebook") !== null && at.closest(".agentnb-changes-bar") === null;
}"""


def propose(lab: Lab, side: Side, number: int) -> None:
    """Have two changes wait in the cells, and put the cursor into the code of one."""
    replaced = {"start": ["replace_cell", {"cell": "2", "source": f"a = 1\nprint(a + {number})"}]}
    inserted = {"start": ["insert_cell", {"below": "2", "source": f"b = {number}"}]}
    side.say(json.dumps([replaced, inserted, {"end": 2}]))
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

    propose(lab, side, 1)
    press("Control+Alt+Shift+N")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, BEFORE)
    propose(lab, side, 2)
    press("Control+Alt+Shift+Y")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, AFTER)

    propose(lab, side, 3)
    press("Escape")
    go(lab.page, "Next change", "Shift+Tab")  # the last button of the bar, which stands before the cells
    assert serious(lab.page) == []
    lab.picture("changes-bar-focused")
    press("Escape")
    assert lab.page.evaluate(IN_NOTEBOOK)
    go(lab.page, "Next change", "Shift+Tab")
    go(lab.page, "Reject all", "Shift+Tab")
    press("Enter")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, AFTER)
