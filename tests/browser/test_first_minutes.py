"""The first minutes with the chat: it opens wide enough, explains itself, and offers examples for the notebook."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

TABLE = """import pandas as pd
petals = pd.DataFrame({"length": [1.4, 4.7], "species": ["setosa", "versicolor"]})
petals.describe()"""
EXAMPLES = ["Explain @cell:1", "Plot @petals by species", "Fix the last error: @error"]


def test_empty_chat_opens_wide_with_examples_from_the_notebook(lab: Lab, side: Side) -> None:
    """A click or key puts one into the box without sending; the sidebar can start a kernel."""
    lab.open("first.ipynb", notebook(TABLE, "petals.colour", kernel="ipykernel7"))
    lab.run_cells(2)
    side.open()
    side.freedom.wait_for(timeout=PATIENCE_MS)
    side.start()
    lab.page.wait_for_function("() => document.querySelector('#agentnb-sidebar').offsetWidth >= 400")
    examples = side.chat.get_by_role("group", name="Examples").get_by_role("button")
    expect(examples).to_have_text(EXAMPLES)
    assert serious(lab.page) == []
    lab.picture("first-minutes")
    examples.nth(1).click()
    expect(side.box).to_have_value(EXAMPLES[1])
    expect(side.box).to_be_focused()
    examples.nth(2).press("Enter")
    expect(side.box).to_have_value(EXAMPLES[2])
    expect(side.chat.locator("[data-turn]")).to_have_count(0)
    side.box.fill("words of a message " * 4)
    side.resize(320)
    lab.page.wait_for_function("box => box.scrollHeight <= box.clientHeight", arg=side.box.element_handle())
    side.box.fill("")
    lab.command("kernelmenu:shutdown")
    side.expect_state("no kernel")
    side.button("Start kernel").click()
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    side.expect_chat()
