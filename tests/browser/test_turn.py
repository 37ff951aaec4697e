"""A turn is a few lines, and a conversation goes back, in a real JupyterLab; by mouse and by keyboard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/turn_work.py")!r}]
session = agentnb.start(command=agent, title="Work", kernel_tools=True, permissions="allow")"""
LINE = 34
"""The height of a line with a button, in pixels."""
VISIBLE = """(root) => [...root.querySelectorAll('button, a, select, textarea, input')].filter((one) => {
  if (!one.getClientRects().length) return false;
  for (let each = one; each; each = each.parentElement) if (getComputedStyle(each).opacity === '0') return false;
  return true;
}).map((one) => one.getAttribute('aria-label') || one.textContent)"""
"""The visible controls in an element."""
HEIGHTS = """(turn) => [...turn.querySelectorAll('.answer > :not(.part-markdown), .change-set, .turn-end')]
  .map((one) => one.getBoundingClientRect().height)"""


@pytest.fixture
def side(lab: Lab, kernelspecs: Path) -> Side:
    """The sidebar with a conversation beside a notebook."""
    del kernelspecs
    side = Side(lab.page)
    lab.open("work.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done()
    side.open()
    side.expect_chat()
    side.resize(420)
    return side


def does(side: Side, text: str, answer: str) -> Locator:
    """Prompts; returns the ended turn, with the pointer elsewhere."""
    side.say(text)
    side.expect_answer(answer)
    expect(side.chat.locator(".stop")).to_have_count(0)
    side.page.mouse.move(5, 5)
    return side.chat.locator(".turn").last


def choose(side: Side, at: int, name: str) -> None:
    """Chooses in a turn's menu."""
    turn = side.chat.locator(".turn").nth(at)
    turn.hover()
    turn.get_by_role("button", name="Turn", exact=True).click()
    turn.get_by_role("menuitem", name=name).click()


RESTART_AND_SEND = """() => {
  jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart();
  let box = document.activeElement;
  while (box?.shadowRoot?.activeElement) box = box.shadowRoot.activeElement;
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}"""


def test_turn_with_many_actions_folds_into_a_few_lines(lab: Lab, side: Side) -> None:
    """14 cells and a command are one line, which opens; copy, time and menu show on hover or focus."""
    turn = does(side, "Analyse it", "All fourteen cells are in place: they load, clean and plot the data.")
    turn.get_by_role("button", name="Undo", exact=True).wait_for(timeout=PATIENCE_MS)
    assert sum(turn.evaluate(HEIGHTS)) <= 6 * LINE
    assert turn.evaluate(VISIBLE) == ["Inserted 14 cells, ran 1 command", "Review", "Undo", "Run the changed cells"]
    turn.hover()
    assert turn.evaluate(VISIBLE)[-2:] == ["Copy answer", "Turn"]
    lab.page.mouse.move(5, 5)
    turn.get_by_role("button", name="Run the changed cells").focus()
    lab.page.keyboard.press("Tab")
    expect(turn.get_by_role("button", name="Copy answer")).to_be_focused()
    assert turn.evaluate(VISIBLE)[-2:] == ["Copy answer", "Turn"]
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Enter")
    expect(turn.get_by_role("menuitem").first).to_be_focused()
    lab.page.keyboard.press("Escape")
    expect(turn.get_by_role("button", name="Turn", exact=True)).to_be_focused()
    assert serious(lab.page) == []
    turn.get_by_role("button", name="Inserted 14 cells, ran 1 command").click()
    expect(turn.locator(".in-run")).to_have_count(15)
    lab.picture("turn-few-lines")
    undo_of_many_new_cells_is_said_once(lab, turn)
    calls_that_fail_for_one_cause_are_one_card_with_one_sentence(side)
    much_of_everything_keeps_the_page_alive(lab, side)


def undo_of_many_new_cells_is_said_once(lab: Lab, turn: Locator) -> None:
    """On the changes' line; JupyterLab still works, and redo brings them back."""
    turn.get_by_role("button", name="Review").click()
    expect(turn.locator(".change")).to_have_count(15)
    assert {round(row.bounding_box()["height"]) for row in turn.locator(".change").all()} <= {34, 35, 36}  # type: ignore[index]
    turn.get_by_role("button", name="Undo", exact=True).click()
    turn.get_by_role("button", name="Redo", exact=True).wait_for(timeout=PATIENCE_MS)
    assert turn.locator(".change-set").inner_text().split("\n").count("undone") == 1
    assert len(sources(lab)) == 1
    turn.get_by_role("button", name="Redo", exact=True).click()
    turn.get_by_role("button", name="Undo", exact=True).wait_for(timeout=PATIENCE_MS)


def calls_that_fail_for_one_cause_are_one_card_with_one_sentence(side: Side) -> None:
    """Other messages are folded."""
    turn = does(side, "Query it", "The warehouse does not answer.")
    expect(turn.locator(".is-failed")).to_have_count(1)
    expect(turn.get_by_text("Failed 3 times")).to_be_visible()
    expect(turn.get_by_text("Connection refused")).to_be_visible()
    expect(turn.get_by_text("at socket.c")).to_have_count(0)
    assert turn.evaluate(VISIBLE) == ["Read 3 files", "Query the warehouseFailed 3 times"]


def much_of_everything_keeps_the_page_alive(lab: Lab, side: Side) -> None:
    """2,000 calls, 500 files, a title of 100 KB and an error of 1 MB in one turn, then 1 MB in the box."""
    turn = does(side, "Many", "That was much.")
    turn.get_by_text("500 files").wait_for(timeout=PATIENCE_MS)
    assert json.loads(lab.page.evaluate("() => JSON.stringify(1 + 1)")) == 2
    assert sum(turn.evaluate(HEIGHTS)) <= 6 * LINE
    turn.get_by_role("button", name="Searched 2,000 times, read 1 file").click()
    expect(turn.locator(".in-run")).to_have_count(101)
    turn.get_by_role("button", name="Review").click()
    expect(turn.locator(".change")).to_have_count(20)
    review = lab.page.locator(".agentnb-review:visible")
    expect(review.locator(".cm-content")).to_contain_text("0", timeout=PATIENCE_MS)
    assert review.get_by_role("button").count() + turn.get_by_role("button").count() <= 120
    turn.get_by_role("button", name="Show 100 more of 500").click()
    expect(turn.locator(".change")).to_have_count(120)
    review.get_by_role("combobox").select_option("many/file-499.txt")
    expect(review.locator(".cm-content").last).to_contain_text("499", timeout=PATIENCE_MS)
    side.box.focus()
    lab.page.keyboard.insert_text("x" * 1_000_000)
    assert len(side.box.input_value()) == 1_000_000
    lab.page.keyboard.press("Enter")
    side.expect_answer("Yes.")
    expect(side.chat.locator(".turn").last.get_by_role("button", name="Show all", exact=True)).to_be_visible()
    expect(side.box).to_have_value("")


def test_conversation_can_be_rewound_edited_and_cleared(lab: Lab, side: Side) -> None:
    """The message is in the box again; files go back if the user chooses it."""
    folder = lab.server.folder
    for name in ("one.txt", "two.txt", "three.txt"):
        does(side, f"Write {name} new", f"Wrote {name}.")
        side.chat.locator(".turn").last.get_by_role("button", name="Undo").wait_for(timeout=PATIENCE_MS)
    choose(side, 2, "Go back to before this message")
    dialog = side.chat.get_by_role("alertdialog")
    expect(dialog.get_by_text("three.txt")).to_be_visible()
    lab.picture("turn-go-back")
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Go back").click()
    expect(side.chat.locator(".turn")).to_have_count(2)
    expect(side.box).to_have_value("Write three.txt new")
    side.box.fill("")
    choose(side, 1, "Go back to before this message")
    dialog.get_by_role("button", name="Go back").click()
    expect(side.chat.locator(".turn")).to_have_count(1)
    assert [(folder / f"{name}.txt").exists() for name in ("one", "two", "three")] == [True, False, True]
    going_back_over_a_conflict_says_what_stays(lab, side)
    a_message_is_edited_and_sent_again(lab, side)
    a_conversation_that_is_cleared_stays_so_after_a_restart(lab, side)


def going_back_over_a_conflict_says_what_stays(lab: Lab, side: Side) -> None:
    """Nothing changes before the choice."""
    file = lab.server.folder / "b.txt"
    file.write_text("before\n")
    turn = does(side, "Write b.txt new", "Wrote b.txt.")
    turn.get_by_role("button", name="Undo").wait_for(timeout=PATIENCE_MS)
    file.write_text("mine\n")
    choose(side, 1, "Go back to before this message")
    dialog = side.chat.get_by_role("alertdialog")
    dialog.get_by_role("button", name="Go back").click()
    expect(dialog.get_by_text("Nothing was undone. These changed since and stay as they are: b.txt.")).to_be_visible()
    expect(side.chat.locator(".turn")).to_have_count(2)
    dialog.get_by_role("button", name="Go back all the same").click()
    expect(side.chat.locator(".turn")).to_have_count(1)
    assert file.read_text() == "mine\n"


def a_message_is_edited_and_sent_again(lab: Lab, side: Side) -> None:
    """By keyboard; later turns go, and the agent gets the remaining ones."""
    does(side, "Say first", "first")
    does(side, "Say second", "second")
    does(side, "Say third", "third")
    turn = side.chat.locator(".turn").nth(2)
    turn.get_by_role("button", name="Turn", exact=True).focus()
    for key in ("Enter", "ArrowDown", "Enter"):
        lab.page.keyboard.press(key)
    box = side.chat.get_by_role("textbox", name="Your message")
    expect(box).to_be_focused()
    expect(box).to_have_value("Say second")
    assert serious(lab.page) == []
    lab.picture("turn-edit")
    box.fill("Told what")
    box.press("Enter")
    expect(side.chat.locator(".turn")).to_have_count(3)
    expect(side.chat.locator(".answer").last).to_contain_text("User: Say first", timeout=PATIENCE_MS)
    expect(side.chat.locator(".answer").last).not_to_contain_text("second")


def a_conversation_that_is_cleared_stays_so_after_a_restart(lab: Lab, side: Side) -> None:
    """The history keeps the turns; a restart restores none of them."""
    side.chat.get_by_role("button", name="Conversation", exact=True).click()
    side.chat.get_by_role("menuitem", name="Clear conversation").click()
    side.chat.get_by_role("alertdialog").get_by_role("button", name="Clear", exact=True).click()
    expect(side.chat.locator(".turn")).to_have_count(0)
    does(side, "Say after", "after")
    lab.restart()
    side.expect_chat()
    expect(side.chat.locator(".turn")).to_have_count(1, timeout=PATIENCE_MS)
    side.expect_text("after")


def test_open_conversations_are_tabs_again_after_a_restart(lab: Lab, kernelspecs: Path) -> None:
    """The last shown one is in front."""
    del kernelspecs
    begin = 'import agentnb\nfor word in ("one", "two"):\n    agentnb.start("eliza").prompt(f"/say {word}").wait()'
    lab.open("tabs.ipynb", notebook(begin, kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done()
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    tabs = side.chat.get_by_role("tab")
    expect(tabs).to_have_count(2, timeout=PATIENCE_MS)
    tabs.first.click()
    side.expect_answer("one")
    lab.restart()
    side.expect_answer("one")
    expect(tabs).to_have_count(2, timeout=PATIENCE_MS)
    side.expect_answer("one")
    expect(side.chat.locator(".banner")).to_have_count(0)
    a_message_sent_while_the_kernel_restarts_is_not_lost(lab, side)


def a_message_sent_while_the_kernel_restarts_is_not_lost(lab: Lab, side: Side) -> None:
    """The conversation or the box has it."""
    side.box.fill("/say kept")
    side.box.focus()
    lab.page.evaluate(RESTART_AND_SEND)
    expect(lab.page.locator(".agentnb-view")).to_have_count(0, timeout=PATIENCE_MS)
    side.expect_answer("one")
    expect(side.chat.locator("form[data-held='true']")).to_have_count(0, timeout=PATIENCE_MS)
    assert side.box.input_value() == "/say kept" or side.chat.get_by_text("/say kept").count() > 0
