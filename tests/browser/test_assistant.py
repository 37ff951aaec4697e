"""A whole session with an assistant in Notebook 7."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab
from tests.browser.side import sources
from tests.browser.test_sidebar_notebook7 import Classic
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/assistant.py")!r}]
session = agentnb.start(command=agent, title="Sales", kernel_tools=True)"""
LOAD = 'sales = {"north": 12, "south": 30, "east": 0}'


@pytest.fixture
def classic(lab: Lab, kernelspecs: Path) -> Classic:
    return Classic(lab)


@pytest.mark.notebook7
def test_notebook_7_session_loads_plots_fixes_edits_and_explains(classic: Classic, lab: Lab) -> None:
    """Cell changes are reviewed before, and after the switch to Edit after, they apply."""
    classic.open("assistant.ipynb", "north, south = 12, 30", SETUP, "east = 0\nshare = south / east")
    lab.run_cells(2)
    classic.button.click()
    side = classic.side
    side.expect_chat()
    bars = lab.panel.locator(".agentnb-cell-bar")
    answer = side.chat.locator(".answer").last

    side.say("Load the sales")
    expect(lab.panel.locator(".agentnb-new-cell-text")).to_contain_text("sales")
    expect(bars).to_have_attribute("data-armed", "true")
    lab.command("agentnb:run-cell-change")
    lab.cell(3).expect_done(3)
    expect(answer).to_contain_text("three regions")

    side.say("Plot them")
    side.allow()
    expect(answer.get_by_role("img").last).to_be_visible()
    expect(answer).to_contain_text("The south sells most.")

    lab.cell(2).run()
    lab.cell(2).button("Fix with agent").click()
    expect(lab.cell(2).locator.locator(".agentnb-new-lines")).to_contain_text("if east else 0.0")
    expect(bars).to_have_attribute("data-armed", "true")
    lab.command("agentnb:run-cell-change")
    lab.cell(2).expect_done(5)
    lab.expect_in_kernel("share", 0.0)
    expect(answer).to_contain_text("divided by 0")

    side.choose_freedom("Edit")
    side.say("Tidy the cells")
    expect(bars).to_have_count(2)
    lab.picture("assistant-notebook7")
    expect(bars.first).to_have_attribute("data-armed", "true")
    bars.first.get_by_role("button", name="Undo", exact=True).click()
    expect(bars).to_have_count(1)
    expect(bars).to_have_attribute("data-armed", "true")
    lab.page.keyboard.press("Alt+F5")
    expect(bars.get_by_role("button", name="Keep", exact=True)).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(bars).to_have_count(0)
    assert sources(lab)[0] == "north, south = 12, 30"
    assert sources(lab)[3] == f"# thousands\n{LOAD}"

    side.custom().get_by_role("combobox", name="Kernel").select_option("look")
    expect(side.chat.get_by_role("combobox", name="Cell edits")).to_have_count(0)
    lab.page.keyboard.press("Escape")
    side.say("Explain @cell:1")
    expect(answer.locator("math")).to_be_visible()
