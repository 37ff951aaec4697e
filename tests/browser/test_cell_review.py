"""Changes that an agent proposes, reviewed in the cells of a real JupyterLab."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Fit", kernel_tools=True)"""
STEPS = [
    {"start": ["replace_cell", {"cell": "2", "source": "a = 1\nprint(a + 10)"}]},
    {"start": ["insert_cell", {"below": "2", "source": "b = 2"}]},
    {"end": 1},
]


def test_proposed_changes_when_reviewed_in_their_cells_are_accepted_by_keyboard_and_in_the_chat(
    lab: Lab, kernelspecs: Path
) -> None:
    """The difference is in the cell and not in the notebook; an answer in either place is one in both."""
    lab.open("reviewed.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    for index in range(2):
        lab.cell(index).run()
        lab.cell(index).expect_done(index + 1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-old-line")).to_have_text("print(a)", timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-new-lines")).to_have_text("print(a + 10)")
    expect(lab.panel.locator(".agentnb-new-cell-text")).to_have_text("b = 2", timeout=PATIENCE_MS)
    lab.picture("cell-review")
    lab.save()
    assert [cell["source"] for cell in lab.saved("reviewed.ipynb")["cells"]][1:] == ["a = 1\nprint(a)"]

    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+Alt+Enter")
    expect(bars).to_have_count(1, timeout=PATIENCE_MS)
    expect(side.chat.locator(".permission")).to_have_count(1, timeout=PATIENCE_MS)
    lab.cell(1).expect_text("11")
    assert sources(lab)[1:] == ["a = 1\nprint(a + 10)"]

    side.allow()
    expect(bars).to_have_count(0, timeout=PATIENCE_MS)
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(3, timeout=PATIENCE_MS)
    expect(lab.panel.locator("[class*=agentnb-new], [class*=agentnb-proposed]")).to_have_count(0)
    assert sources(lab)[1:] == ["a = 1\nprint(a + 10)", "b = 2"]
