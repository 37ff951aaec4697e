"""The chat's own features, used as a reader uses them, in a real JupyterLab."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.browser.test_chat import say

SETUP = "import agentnb\nsession = agentnb.start()\nrows = [1, 2, 3]\nagentnb.chat(session)"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def chat(lab: Lab, kernelspecs: object) -> Cell:
    """A cell that shows the chat on a session with the built-in agent."""
    cells = [SETUP, "agentnb.chat(session)", "len(session.chat.turns), session.chat.turns[-1].message.attachments"]
    lab.open("features.ipynb", notebook(*cells, kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    expect(box(cell)).to_be_visible(timeout=PATIENCE_MS)
    return cell


def box(cell: Cell) -> Locator:
    """The box to write in."""
    return cell.output.get_by_role("textbox", name=re.compile("^Message to"))


def answered(cell: Cell, words: str) -> None:
    """Wait until the last turn has ended, and see words in its answer."""
    expect(cell.output.locator("[data-turn]").last.locator(".answer")).to_contain_text(words, timeout=PATIENCE_MS)
    expect(cell.output.locator("[data-turn]").last.locator(".turn-end")).to_be_visible(timeout=PATIENCE_MS)


def offers(cell: Cell, text: str | re.Pattern[str] = "") -> Locator:
    """What is offered to complete."""
    return cell.output.get_by_role("listbox", name="Completions").get_by_role("option").filter(has_text=text)


def test_a_mention_is_completed_from_the_kernel_and_taken_along(chat: Cell, lab: Lab) -> None:
    """``@ro`` offers the variable with its type; sent, the kernel attaches it."""
    box(chat).press_sequentially("What is @ro")
    option = offers(chat, "rows")
    expect(option).to_contain_text("list, length 3", timeout=PATIENCE_MS)
    lab.picture("completion")
    box(chat).press("Enter")
    expect(box(chat)).to_have_value("What is @rows ")
    box(chat).press("Enter")
    expect(chat.output.locator(".user-message .content-chip")).to_have_text("rows", timeout=PATIENCE_MS)


def test_a_command_is_completed_and_a_form_is_filled(chat: Cell, lab: Lab) -> None:
    """The agent's commands come with the first words; Escape closes the list and leaves the text."""
    say(chat, "/say hello")
    answered(chat, "hello")
    box(chat).press_sequentially("/sa")
    expect(offers(chat).first).to_contain_text("/say", timeout=PATIENCE_MS)
    box(chat).press("Escape")
    expect(offers(chat)).to_have_count(0)
    expect(box(chat)).to_have_value("/sa")


def test_a_tab_is_renamed_closed_and_brought_back(chat: Cell, lab: Lab) -> None:
    """By the keyboard alone; both views see it."""
    twin = lab.cell(1)
    twin.run()
    twin.expect_done(2)
    tab = chat.output.get_by_role("tab")
    tab.focus()
    tab.press("F2")
    field = chat.output.get_by_role("textbox", name="Name of the conversation")
    field.fill("Residuals")
    field.press("Enter")
    expect(twin.output.get_by_role("tab")).to_contain_text("Residuals", timeout=PATIENCE_MS)
    tab.focus()
    tab.press("Delete")
    expect(twin.output.get_by_role("tab")).to_have_count(0, timeout=PATIENCE_MS)
    chat.button("Undo").click()
    expect(twin.output.get_by_role("tab")).to_contain_text("Residuals", timeout=PATIENCE_MS)


def test_a_draft_survives_reload_and_a_restarted_kernel(chat: Cell, lab: Lab) -> None:
    """Typed and not sent: there after a reload; offered after the kernel was started anew."""
    box(chat).press_sequentially("half a thought")
    lab.save()
    lab.page.reload()
    again = lab.cell(0)
    expect(box(again)).to_have_value("half a thought", timeout=PATIENCE_MS)
    lab.restart()
    again.run()
    again.expect_done(1)
    expect(again.output.get_by_text("half a thought")).to_be_visible(timeout=PATIENCE_MS)
    again.button("Restore").click()
    expect(box(again)).to_have_value("half a thought")
    lab.picture("restored-draft")


def test_a_pasted_picture_goes_with_the_message(chat: Cell, lab: Lab) -> None:
    """Shown before it is sent, and known to Python afterwards."""
    chat.output.locator("input[type=file]").set_input_files(
        {"name": "plot.png", "mimeType": "image/png", "buffer": PIXEL}
    )
    expect(chat.output.get_by_role("img", name="plot.png")).to_be_visible()
    say(chat, "/say seen")
    answered(chat, "seen")
    after = lab.cell(2)
    after.run()
    after.expect_text(re.compile("image/png"))


def test_words_are_found_in_the_conversation(chat: Cell, lab: Lab) -> None:
    """Ctrl+F opens the finder; Enter goes on; Escape closes it."""
    for word in ("alpha", "beta", "alpha again"):
        say(chat, f"/say {word}")
        answered(chat, word)
    chat.output.get_by_role("log").focus()
    lab.page.keyboard.press("Control+f")
    field = chat.output.get_by_role("searchbox")
    field.fill("alpha")
    expect(chat.output.get_by_text("2 of 2 turns")).to_be_visible(timeout=PATIENCE_MS)
    field.press("Enter")
    expect(chat.output.get_by_text("1 of 2 turns")).to_be_visible()
    lab.picture("find")
    field.press("Escape")
    expect(field).to_have_count(0)


def test_a_turn_that_failed_is_sent_again(chat: Cell) -> None:
    """The error says why; its button sends the same message; the next one is answered by the agent started anew."""
    say(chat, "/crash")
    again = chat.button("Send again")
    expect(again).to_be_visible(timeout=PATIENCE_MS)
    expect(chat.output.locator(".error-card")).to_contain_text("died on purpose")
    again.click()
    expect(chat.output.locator("[data-turn]")).to_have_count(2, timeout=PATIENCE_MS)
    expect(again).to_have_count(1, timeout=PATIENCE_MS)
    say(chat, "/say back again")
    answered(chat, "back again")
    expect(again).to_have_count(0)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_axe_finds_nothing_serious(chat: Cell, lab: Lab, theme: str) -> None:
    """In a conversation with every kind of part, a question open, the menu open, completions open."""
    lab.theme(theme)
    for command in (
        "/markdown",
        "/think Is it so?",
        "/plan 3",
        "/tool search",
        "/diff",
        "/fail",
        "/say done",
    ):
        say(chat, command)
    answered(chat, "done")
    assert serious(lab.page) == []
    box(chat).press_sequentially("@r")
    expect(offers(chat).first).to_be_visible(timeout=PATIENCE_MS)
    assert serious(lab.page) == []
    box(chat).press("Escape")
    box(chat).fill("")
    say(chat, "/ask edit")
    expect(chat.button("Allow once")).to_be_visible(timeout=PATIENCE_MS)
    chat.button("Conversation").click()
    assert serious(lab.page) == []
    lab.picture(f"axe-{theme.removeprefix('JupyterLab ').replace(' ', '-').lower()}")
