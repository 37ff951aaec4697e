"""The chat widget, typed into by a user."""

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
    """Type a prompt and press Enter."""
    box = cell.output.get_by_role("textbox").first
    expect(box).to_be_visible(timeout=PATIENCE_MS)
    box.fill(text)
    box.press("Enter")


def test_a_prompt_typed_in_the_box_is_answered(chat: Cell, lab: Lab) -> None:
    """Enter sends; question and answer are read in the transcript, and Python sees the turn.

    Code is coloured also where the page must fetch what colours it first.
    """
    say(chat, "/say A typed **answer** came.\n\n```rust\nfn main() {}\n```")
    expect(chat.output.get_by_text("answer", exact=True).first).to_be_visible(timeout=PATIENCE_MS)
    expect(chat.output.locator("code .hl-keyword")).to_have_text("fn", timeout=PATIENCE_MS)
    expect(chat.output.get_by_role("textbox").first).to_have_value("")
    after = lab.cell(1)
    after.run()
    after.expect_text(re.compile("complete"))


def test_a_permission_is_answered_in_the_chat(chat: Cell) -> None:
    """No cell runs: the click reaches the agent all the same."""
    say(chat, "/ask edit")
    chat.button("Allow once").click()
    chat.expect_text(re.compile("You chose"))


def test_stop_ends_a_silent_turn(chat: Cell) -> None:
    say(chat, "/hang")
    chat.expect_text(re.compile("I am silent"))
    chat.button("Stop").click()
    expect(chat.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
    say(chat, "/say and on we go")
    chat.expect_text("and on we go")


def test_two_views_of_one_session_stay_in_step(chat: Cell, lab: Lab) -> None:
    other = lab.cell(1)
    other.write("session")
    other.run()
    other.expect_done(2)
    say(chat, "/say seen twice")
    chat.expect_text("seen twice")
    other.expect_text("seen twice")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_chat_takes_the_theme_of_the_page(lab: Lab, kernelspecs: object, theme: str) -> None:
    """Text and ground come from the theme: light on dark, dark on light; pictures are left."""
    source = f"{CHAT.replace('agentnb.chat(session)', '')}\nawait session.prompt('/markdown')\nagentnb.chat(session)"
    lab.open(f"theme-{theme.removeprefix('JupyterLab ')}.ipynb", notebook(source, kernel="ipykernel7"))
    lab.theme(theme)
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    box = cell.output.get_by_role("textbox").first
    expect(box).to_be_visible(timeout=PATIENCE_MS)
    brightness = box.evaluate("e => getComputedStyle(e).color.match(/\\d+/g).slice(0, 3).map(Number)")
    assert (sum(brightness) > 384) == ("Dark" in theme)
    lab.picture(f"chat-{theme.removeprefix('JupyterLab ').lower()}")


WAY, WHY = way_here()
NOT_CONFINED = CHAT.replace("start()", "start(confine=False)")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (NOT_CONFINED, "Not confined. It can read and change what you can"),
        pytest.param(CHAT, "Confined: it can write only to", marks=pytest.mark.skipif(WAY not in TRIED, reason=WHY)),
    ],
)
def test_the_agent_pill_says_whether_the_agent_is_confined(lab: Lab, kernel_name: str, code: str, line: str) -> None:
    """As soon as the agent runs, which it does when somebody begins to write."""
    lab.open(f"confined-{kernel_name}.ipynb", notebook(code, kernel=kernel_name))
    chat = lab.cell(0)
    chat.run()
    chat.expect_done(1)
    box = chat.output.get_by_role("textbox").first
    expect(box).to_be_visible(timeout=PATIENCE_MS)
    box.press_sequentially("Hel")
    chat.output.locator(".pill").click()
    said = chat.output.locator(".pop-settings .note", has_text=line)
    expect(said).to_be_visible(timeout=PATIENCE_MS)
    shown = chat.output.locator(".selector:has(select) .selector-name").all_inner_texts()
    assert shown == ["Pace", "Pieces", "Mode"]
    assert chat.output.locator("select").evaluate_all("(all) => all.map((one) => one.ariaLabel)") == shown
    assert serious(lab.page) == []
    lab.picture(f"chat-{line.partition(' by')[0].partition('.')[0].lower().replace(' ', '-')}")
    chat.output.evaluate("output => { output.style.maxWidth = '280px'; }")
    assert said.evaluate("line => line.scrollWidth <= line.clientWidth")
