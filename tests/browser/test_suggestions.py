"""An agent's suggested next prompts, in a real JupyterLab."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/suggests.py")!r}]
session = agentnb.start(command=agent, title="Residuals", permissions="ask")"""
LONG = "Plot the residuals of both fits beside each other, with one colour for each species, and say which is better"
"""The full text of a suggestion."""
IS_CUT = "button => button.firstChild.scrollWidth > button.firstChild.clientWidth"


def group(side: Side, name: str) -> Locator:
    """The buttons of a group above the box."""
    return side.chat.get_by_role("group", name=name, exact=True).get_by_role("button")


def test_suggestions_fill_the_box_and_vanish_after_the_prompt(lab: Lab, side: Side) -> None:
    """By mouse and by keyboard; a long one is cut, its tooltip has all."""
    lab.open("suggestions.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.run_cells(1)
    side.open()
    side.expect_chat()
    side.say("fail")
    suggested = group(side, "Suggestions")
    expect(suggested).to_have_text(["Run the failed test alone", LONG, "Show what the fit returns"])
    expect(suggested.nth(1)).to_have_attribute("title", LONG)
    assert [suggested.nth(at).evaluate(IS_CUT) for at in range(3)] == [False, True, False]
    heights = {suggested.nth(at).evaluate("button => button.offsetHeight") for at in range(3)}
    assert len(heights) == 1  # one line each
    assert serious(lab.page) == []
    lab.picture("suggestions-light")

    suggested.nth(1).click()
    expect(side.box).to_have_value(LONG)
    expect(side.box).to_be_focused()
    expect(side.chat.locator("[data-turn]")).to_have_count(1)

    lab.theme("JupyterLab Dark")
    side.resize(320)
    side.box.fill("")
    suggested.nth(0).focus()
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Tab")
    expect(suggested.nth(2)).to_be_focused()
    assert serious(lab.page) == []
    lab.picture("suggestions-dark")
    lab.page.keyboard.press("Enter")
    expect(side.box).to_have_value("Show what the fit returns")
    expect(side.box).to_be_focused()
    expect(side.chat.locator("[data-turn]")).to_have_count(1)

    lab.page.keyboard.press("Enter")
    side.expect_text("heard Show what the fit returns")
    expect(suggested).to_have_count(0, timeout=PATIENCE_MS)
    expect(side.chat.locator("[data-turn]")).to_have_count(2)
    lab.expect_in_kernel("session.suggestions", ())
