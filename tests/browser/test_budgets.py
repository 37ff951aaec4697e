"""Budgets in a real JupyterLab: the line from 80 % on, the question at the limit, next turn."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.conftest import ROOT

START = f"""import agentnb
command = [{sys.executable!r}, {str(ROOT / "tests/agents/spends.py")!r}]
session = agentnb.start("spends", command=command, budget="$5", title="Spends")"""


def test_budget_warns_at_80_percent_and_asks_at_the_limit(lab: Lab, kernelspecs: Path) -> None:
    """A line in the chat and near the box; the turn waits for the answer, continues or stops."""
    lab.open("budgets.ipynb", notebook(START, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    expect(side.box).to_be_editable(timeout=PATIENCE_MS)
    near = side.chat.locator(".context-full")
    side.say("cost 1")
    side.expect_answer("did cost 1")
    expect(near).to_have_count(0)
    side.say("cost 3")
    side.expect_text("This conversation's budget: $4.00 of $5.00 used.")
    expect(near).to_have_text("80% of $5.00 used")
    expect(side.chat.locator("[role=alertdialog], [role=dialog]")).to_have_count(0)
    side.say("cost 1.5;wait")
    question = side.chat.get_by_role("group", name="This conversation's budget of $5.00 is used up ($5.50).")
    expect(question.get_by_role("button")).to_have_text(["Go on (+$5.00)", "Stop"], timeout=PATIENCE_MS)
    for width, theme in ((1_200, "Dark"), (420, "Light")):
        lab.page.set_viewport_size({"width": 1_900, "height": 1_000})
        side.resize(width)
        lab.theme(f"JupyterLab {theme}")
        lab.picture(f"budget-question-{width}-{theme.lower()}")
        assert serious(lab.page) == []
    question.get_by_role("button", name="Go on").press("Enter")
    expect(side.chat.locator(".answer").last).to_contain_text("went on", timeout=PATIENCE_MS)
    expect(question).to_have_count(0)
    expect(near).to_have_count(0)
    lab.expect_in_kernel("session.turns[-1].state", "complete")
    side.say("cost 9;wait")
    again = side.chat.get_by_role("group", name=re.compile(r"budget of \$10.00 is used up"))
    again.get_by_role("button", name="Stop").click(timeout=PATIENCE_MS)
    expect(again).to_have_count(0, timeout=PATIENCE_MS)
    lab.expect_in_kernel("session.turns[-1].state", "cancelled")
    expect(near).to_have_text("$10.00 used up")
    lab.picture("budget-stopped")
