"""A walkthrough and a research in JupyterLab: they show places, mark cells, open files at the line."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

SETUP = """import agentnb
session = agentnb.start("eliza", title="Fit", components=["walkthrough"])"""
MODEL = "import math\n\n\ndef fit(x):\n    return math.sqrt(x)\n"
STEPS = [
    {"text": "Here it is called.", "cell": "2"},
    {"text": "And here it is defined.", "file": "model.py", "line": 4},
]


def test_walkthrough_opens_and_marks_the_place_of_each_step(lab: Lab, kernelspecs: Path) -> None:
    """Next opens the file with the line selected; Back marks the cell again."""
    (lab.server.folder / "model.py").write_text(MODEL)
    lab.open("walked.ipynb", notebook(SETUP, "import model\nmodel.fit(4)", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(f"/mcp walkthrough show_walkthrough {json.dumps({'title': 'How it fits', 'steps': STEPS})}")
    side.expect_text("Here it is called.")
    lab.picture("walkthrough-light")
    side.chat.get_by_role("button", name="Next").click()
    side.expect_text("And here it is defined.")
    lab.page.get_by_role("button", name="Ln 4, Col 12").wait_for(timeout=PATIENCE_MS)
    lab.picture("walkthrough-file")
    lab.theme("JupyterLab Dark")
    side.resize(320)
    lab.picture("walkthrough-dark-narrow")
    side.chat.get_by_role("button", name="Back").click()
    side.expect_text("Here it is called.")
    cell = lab.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(1)
    cell.wait_for(timeout=PATIENCE_MS)
    expect(cell).to_have_css("outline-style", "solid", timeout=PATIENCE_MS)
    lab.picture("walkthrough-back")
