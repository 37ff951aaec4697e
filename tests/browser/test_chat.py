"""The chat widget with a user's input."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from agentnb.agent.confinement import TRIED, way_here
from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook

CHAT = "import agentnb\nsession = agentnb.start()\nagentnb.chat(session)"


@pytest.fixture
def chat(lab: Lab, kernel_name: str) -> Cell:
    """A cell that shows the chat on a session with the built-in agent."""
    lab.open(f"chat-{kernel_name}.ipynb", notebook(CHAT, "session.chat.turns[-1].state", kernel=kernel_name))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    return cell


def say(cell: Cell, text: str) -> None:
    box = cell.output.get_by_role("textbox").first
    box.wait_for(timeout=PATIENCE_MS)
    box.fill(text)
    box.press("Enter")


def test_chat_answers_asks_and_stops_without_running_a_cell(chat: Cell, lab: Lab) -> None:
    """Enter sends; Python and the second view show the same; no cell runs: clicks reach the agent anyway.

    Code is also coloured in a language whose module loads later.
    """
    say(chat, "/say A typed **answer** came.\n\n```rust\nfn main() {}\n```")
    chat.output.get_by_text("answer", exact=True).first.wait_for(timeout=PATIENCE_MS)
    expect(chat.output.locator("code .hl-keyword")).to_have_text("fn", timeout=PATIENCE_MS)
    expect(chat.output.get_by_role("textbox").first).to_have_value("")
    after = lab.cell(1)
    after.run()
    after.expect_text(re.compile("complete"))

    say(chat, "/ask edit")
    chat.button("Allow once").click()
    chat.expect_text(re.compile("You chose"))

    say(chat, "/hang")
    chat.expect_text(re.compile("I am silent"))
    chat.button("Stop").click()
    expect(chat.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
    after.write("session")
    after.run()
    after.expect_done(3)
    say(chat, "/say and on we go")
    for view in (chat, after):
        view.expect_text("and on we go")
    for theme in ("Light", "Dark"):
        lab.theme(f"JupyterLab {theme}")
        box = chat.output.get_by_role("textbox").first
        brightness = box.evaluate("e => getComputedStyle(e).color.match(/\\d+/g).slice(0, 3).map(Number)")
        assert (sum(brightness) > 384) == (theme == "Dark")
    lab.picture("chat-dark")


WAY, WHY = way_here()
NOT_CONFINED = CHAT.replace("start()", "start(confine=False)")


def test_agent_pill_shows_whether_the_agent_is_confined(lab: Lab, kernelspecs: object) -> None:
    """It shows this once the agent runs, after the user begins to write."""
    lab.open("confined.ipynb", notebook(NOT_CONFINED, CHAT, kernel="ipykernel7"))
    lines = ("Not confined. It can read and change what you can", "Confined: it can write only to")
    for chat, line in zip((lab.cell(0), lab.cell(1)), lines, strict=True):
        if line.startswith("Confined") and WAY not in TRIED:
            pytest.skip(WHY)
        chat.run()
        chat.expect_done()
        box = chat.output.get_by_role("textbox").first
        box.wait_for(timeout=PATIENCE_MS)
        box.press_sequentially("Hel")
        chat.output.locator(".pill").click()
        note = chat.output.locator(".pop-settings .note", has_text=line)
        note.wait_for(timeout=PATIENCE_MS)
        names = chat.output.locator(".selector:has(select) .selector-name").all_inner_texts()
        assert names == ["Pace", "Pieces", "Mode"]
        assert chat.output.locator("select").evaluate_all("(all) => all.map((one) => one.ariaLabel)") == names
        assert serious(lab.page) == []
        lab.picture(f"chat-{line.partition(' by')[0].partition('.')[0].lower().replace(' ', '-')}")
        chat.output.evaluate("output => { output.style.maxWidth = '280px'; }")
        assert note.evaluate("line => line.scrollWidth <= line.clientWidth")
        lab.page.keyboard.press("Escape")
