"""Data checks in a real JupyterLab: on the card's preview, below the turn, and each click's result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentnb.plugins.rehearsal.command import rehearse_command
from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.conftest import ROOT

_HERE = rehearse_command("true", "/")
pytestmark = pytest.mark.skipif(_HERE.way != "namespaces", reason=_HERE.reason or "no user namespaces here")
SETUP = f"""import sys, agentnb, pandas as pd, narwhals
customers = pd.DataFrame({{"id": [*range(400), 7, 8, 9], "segment": "home"}})
orders = pd.DataFrame({{"order": range(10_412), "id": [n % 400 for n in range(10_412)]}})
orders["price"] = orders["order"] / 7
days = pd.DataFrame({{"day": pd.date_range("2024-01-01", periods=90), "sold": range(90)}})
stock = pd.DataFrame({{"item": range(50), "weight": [n * 1.5 + 1 for n in range(50)]}})
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Join", cwd=".", kernel_tools=True)"""
CODE = """orders = orders.merge(customers, on="id")
days["day"] = days["day"].astype(str)
stock["weight"] = stock["weight"] * 1000"""
LINES = (
    "orders rows 10,412 → 10,493: id is not unique in customers (3 keys)",
    "days: day became text",
    "stock: values of weight are 1,000× larger",
)
SHOW = "customers[customers.duplicated(['id'], keep=False)].sort_values(['id'])"
ASSERTION = "assert not customers.duplicated(['id']).any(), 'id is not unique in customers (3 keys)'"
QUESTION = (
    "Look at @orders and @customers. `orders`: a join repeats rows, because `id` is not unique in `customers`. "
    "Is that meant? If not, mend it."
)


def test_data_checks_show_in_the_preview_and_below_the_turn(lab: Lab, kernelspecs: Path) -> None:
    """A cell shows the rows, the assertion is a cell, and the box has the unsent question."""
    del kernelspecs
    lab.open("joined.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"start": ["run_code", {"code": CODE}]}, {"end": 1}]))
    side.chat.get_by_role("button", name="Preview", exact=True).click(timeout=PATIENCE_MS)
    preview_lines = side.chat.locator(".preview-check")
    for number, text in enumerate(LINES):
        expect(preview_lines.nth(number)).to_contain_text(text, timeout=PATIENCE_MS)
    lab.picture("data-checks-preview")
    side.allow()

    checks = side.chat.locator(".data-checks")
    lines = checks.locator(".data-check-line")
    expect(lines).to_have_count(2, timeout=PATIENCE_MS)
    for number, text in enumerate(LINES[:2]):
        expect(lines.nth(number)).to_contain_text(text)
    lab.expect_in_kernel("len(orders)", 10_493)
    for theme in ("Light", "Dark"):
        lab.theme(f"JupyterLab {theme}")
        for width in (420, 1_200):
            side.resize(width)
            checks.scroll_into_view_if_needed()
            assert (theme, width, serious(lab.page)) == (theme, width, [])
            lab.picture(f"data-checks-{theme.lower()}-{width}")
    checks.get_by_role("button", name="1 more table").click()
    expect(lines.nth(2)).to_contain_text(LINES[2])

    lines.first.click()
    lab.picture("data-checks-open")
    checks.get_by_role("button", name="Show them").press("Enter")
    table = lab.panel.locator(".jp-OutputArea-output table tbody tr")
    expect(table).to_have_count(6, timeout=PATIENCE_MS)
    assert sources(lab)[-1] == SHOW
    checks.get_by_role("button", name="Make it an assertion").click()
    expect(lab.panel.locator(".jp-Cell")).to_have_count(3, timeout=PATIENCE_MS)
    assert ASSERTION in sources(lab)
    checks.get_by_role("button", name="Ask the agent").click()
    box = side.chat.locator(".prompt textarea")
    expect(box).to_have_value(QUESTION)
    expect(box).to_be_focused()
    expect(side.chat.locator("article.turn")).to_have_count(1)
