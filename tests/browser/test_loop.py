"""A loop's ledger in a real JupyterLab: a plot and a table while it runs, and *Interrupt* stops it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces
AGENTS = Path(__file__).parents[1] / "agents"
STEPS = [
    {
        "run": "model.auc = 0.71",
        "write": ["features.py", "SCALE = 2\n"],
        "tokens": 1200,
        "say": "Idea: scale <b>ages</b>",
    },
    {"run": "model.auc = 0.66", "tokens": 900, "say": "Idea: drop the outliers"},
    {"run": "1 / 0", "say": "Idea: a deeper tree"},
    {
        "run": "data[0] = 9",
        "say": "Idea: mend the first row of the data, which looks wrong to me",
    },
    {"run": "model.auc = 0.78", "tokens": 2100, "say": "Idea: boosting"},
    {"run": "model.auc = 0.9", "wait": True},
]
SETUP = f"""import agentnb, json, numpy as np
AGENT = {{"command": [{sys.executable!r}, {str(AGENTS / "improves.py")!r}], "directories": [{str(AGENTS)!r}]}}
class Model: auc = 0.62
model, data = Model(), np.arange(3)
def auc(): return model.auc * data.size / 3
PROMPT = json.dumps({STEPS!r})"""
LOOP = "made = agentnb.loop(PROMPT, metric='auc()', agent=AGENT, tries=20)\nmade.wait()"


def look(lab: Lab, cell: Cell, name: str) -> None:
    """Takes pictures, narrow and wide, light and dark; checks axe and the width."""
    for theme, width in (("Dark", 420), ("Light", 420), ("Light", 1200), ("Dark", 1200)):
        lab.theme(f"JupyterLab {theme}")
        lab.page.set_viewport_size({"width": width + 420, "height": 1100})
        ledger = cell.output.locator("svg").first.locator("xpath=..")
        assert ledger.evaluate("view => view.scrollWidth <= view.clientWidth")
        assert serious(lab.page) == []
        cell.output.scroll_into_view_if_needed()
        lab.picture(f"{name}-{theme.lower()}-{width}")


def test_loop_shows_its_ledger_and_stops_on_interrupt(lab: Lab) -> None:
    """Kept results stay, other tries leave nothing; the ledger is in the notebook's file."""
    lab.open("loop.ipynb", notebook(SETUP, LOOP, kernel="ipykernel7"))
    lab.run_cells(1)
    cell = lab.cell(1)
    cell.run()
    output = cell.output.first
    rows = output.locator("tbody tr")
    expect(rows).to_have_count(7, timeout=PATIENCE_MS)
    expect(rows.last).to_contain_text("running", timeout=PATIENCE_MS)
    outcomes = ["start", "kept", "not better", "unchanged", "failed", "kept", "running"]
    for index, outcome in enumerate(outcomes):
        expect(rows.nth(index)).to_contain_text(outcome)
    expect(rows.nth(1)).to_contain_text("scale <b>ages</b>")
    expect(rows.nth(4)).to_contain_text("The try changed data, which the metric reads.")
    expect(output).to_contain_text("auc(): 0.62 → 0.78 · 6 tries, 2 kept · 4,200 tokens · running")
    expect(output.locator("circle")).to_have_count(4)
    expect(output.get_by_role("img")).to_have_accessible_name(re.compile("filled points were kept"))
    output.get_by_text("Try 1: scale <b>ages</b>").click()
    expect(output.locator("details").first).to_contain_text("+SCALE = 2")
    look(lab, cell, "loop-running")
    lab.interrupt()
    expect(output).to_contain_text("ended: It was stopped.", timeout=PATIENCE_MS)
    expect(rows.last).to_contain_text("stopped")
    expect(cell.output.last).to_contain_text("KeyboardInterrupt", timeout=PATIENCE_MS)
    lab.expect_in_kernel(
        "[made.state, model.auc, data.tolist(), open('features.py').read()]", ["ended", 0.78, [0, 1, 2], "SCALE = 2\n"]
    )
    look(lab, cell, "loop-stopped")
    lab.save()
    saved = "".join(str(each) for each in lab.saved("loop.ipynb")["cells"][1]["outputs"])
    assert "ended: It was stopped." in saved
