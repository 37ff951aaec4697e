"""Reading in a notebook: agent cells as text, kept formulas, diagrams, code in the kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.conftest import ROOT

SETUP = f"""%load_ext agentnb
import agentnb
agent = [{sys.executable!r}, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, kernel_tools=True, permissions="allow")"""
DIAGRAM = '```mermaid\ngraph TD\n  A[Load] --> B[Fit]\n  click A href "javascript:alert(1)"\n```\n'
CODE = "import time\nprint('\\x1b[32mbegun\\x1b[0m')\ntime.sleep(600)"
CALL = {"toolCallId": "t1", "title": "mcp__kernel__run_code", "kind": "other", "status": "in_progress"}
STEPS = [
    {"say": DIAGRAM},
    {"update": {**CALL, "rawInput": {"code": CODE}}},
    {"start": ["run_code", {"code": CODE}]},
    {"end": 1},
]


def test_formulas_and_diagrams_are_drawn_and_code_can_be_stopped(lab: Lab, kernelspecs: Path) -> None:
    """An agent cell is text, its kept formulas are typeset, a diagram is drawn, stop ends only the code."""
    ask = "%%agent -n\n/say It isn't \\(x_1 < 2\\), nor [\\(y_2\\)]"
    lab.open("read.ipynb", notebook(SETUP, ask, kernel="ipykernel7"))
    text = lab.cell(1).locator.locator(".agentnb-agent-text")
    expect(text.first).to_have_text("%%agent -n", timeout=PATIENCE_MS)
    lab.run_cells(1)
    lab.cell(1).run()
    expect(lab.cell(1).output.locator(".jp-RenderedMarkdown mjx-container")).to_have_count(2, timeout=PATIENCE_MS)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.chat.get_by_role("tab").first.click()
    side.say(json.dumps(STEPS))
    draw = side.chat.get_by_role("button", name="Draw", exact=True)
    draw.click(timeout=PATIENCE_MS)
    side.chat.locator(".code img").wait_for(timeout=PATIENCE_MS)
    expect(side.chat.locator(".tool .output")).to_contain_text("begun", timeout=PATIENCE_MS)
    lab.picture("reading-running")
    side.button("Stop this code").click()
    expect(side.chat.get_by_text("Stopped", exact=True)).to_be_visible()
    lab.picture("reading-stopped")
    lab.expect_idle()
