"""Changes in the cells, answered by the shortcuts for all of them."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, expect_sources
from tests.browser.test_cell_review import SETUP

BEFORE = ["a = 1\nprint(a)"]
AFTER = ["a = 1\nprint(a + 2)", "b = 2"]


def propose(lab: Lab, side: Side, number: int) -> None:
    """Have two changes wait in the cells, and put the cursor into the code of one."""
    replaced = {"start": ["replace_cell", {"cell": "2", "source": f"a = 1\nprint(a + {number})"}]}
    inserted = {"start": ["insert_cell", {"below": "2", "source": f"b = {number}"}]}
    side.say(json.dumps([replaced, inserted, {"end": 2}]))
    expect(lab.panel.locator(".agentnb-cell-bar[data-armed=true]")).to_have_count(2, timeout=PATIENCE_MS)
    lab.cell(1).focus()


def test_all_changes_are_rejected_and_accepted_by_their_keys(lab: Lab, kernelspecs: Path) -> None:
    """Ctrl+Alt+Shift+N and Y in a cell's editor."""
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
