"""A streaming answer does not disturb the reader: the selection, the scroll position and the focus stay."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.browser.test_chat import CHAT, say

LONG = "/slow 400 8"
SELECT = """([words]) => {
  const root = document.querySelector('.agentnb-view').shadowRoot;
  const walker = document.createTreeWalker(root.querySelector('.answer'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.nodeValue.indexOf(words);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + words.length);
    window.kept = range;
    return true;
  }
  return false;
}"""
PLACE = """() => {
  const root = document.querySelector('.agentnb-view').shadowRoot;
  const box = root.querySelector('.transcript');
  const turn = root.querySelector('[data-turn]');
  return [Math.round(box.scrollTop), Math.round(turn.getBoundingClientRect().top - box.getBoundingClientRect().top)];
}"""

STILL = f"""async () => {{
  const place = {PLACE};
  for (let before = '', now = JSON.stringify(place()); ; ) {{
    if (before === now) return place();
    before = now;
    for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
    now = JSON.stringify(place());
  }}
}}"""
"""The scroll position, once smooth scrolling has ended."""

RESTS = """() => {
  const root = document.querySelector('.agentnb-view').shadowRoot;
  const marks = [...root.querySelectorAll('.dots i, [role=tab] .spinner')];
  const said = root.querySelector('.working')?.textContent;
  return marks.length === 4 && said && root.querySelector('.text-grows') !== null && root.getAnimations()
    .every(({ effect }) => !marks.includes(effect.target));
}"""
"""True if the dots and the tab's ring are shown and do not move."""
MOVES = """() => {
  const root = document.querySelector('.agentnb-view').shadowRoot;
  const marks = [...root.querySelectorAll('.dots i, [role=tab] .spinner')];
  const running = root.getAnimations().filter(({ playState }) => playState === 'running');
  const moving = running.map(({ effect }) => effect.target);
  return marks.length === 4 && marks.every((mark) => moving.includes(mark));
}"""


def opened(lab: Lab) -> Cell:
    """A chat with two screens of text."""
    lab.open("streaming.ipynb", notebook(CHAT, kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    say(cell, "/markdown")
    expect(cell.output.locator(".working")).to_have_count(0, timeout=PATIENCE_MS)
    return cell


def test_streaming_keeps_selection_scroll_position_and_focus(lab: Lab, kernelspecs: object) -> None:
    """The selection in the growing paragraph stays; the page stays at the reader's scroll position."""
    chat = opened(lab)
    say(chat, LONG)
    chat.expect_text(re.compile("20 21 22"))
    lab.page.evaluate(SELECT.replace("'.answer'", "'[data-turn]:last-of-type .answer'"), ["20 21 22"])
    box = chat.output.get_by_role("log")
    box.hover()
    lab.page.mouse.wheel(0, -50)  # one notch: text that arrives with it must not scroll back
    chat.button("Go to the latest message").wait_for(timeout=PATIENCE_MS)
    before = lab.page.evaluate(STILL)
    expect(chat.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
    assert lab.page.evaluate(PLACE) == before
    assert lab.page.evaluate("window.kept.toString()") == "20 21 22"
    chat.button("Go to the latest message").click()
    expect(chat.button("Go to the latest message")).to_have_count(0)
    marks_move_only_while_no_text_comes(chat, lab)
    the_focus_is_never_stolen_from_typing(chat, lab)


def marks_move_only_while_no_text_comes(chat: Cell, lab: Lab) -> None:
    """The dots and the tab's ring move for a silent agent; beside growing text they stand still."""
    lab.page.emulate_media(reduced_motion="no-preference")
    say(chat, LONG)
    lab.page.wait_for_function(RESTS, timeout=PATIENCE_MS)
    chat.button("Stop").click()
    expect(chat.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
    say(chat, "/hang")
    chat.expect_text(re.compile("I am silent"))
    lab.page.wait_for_function(MOVES, timeout=PATIENCE_MS)
    lab.page.emulate_media(reduced_motion="reduce")
    dots = chat.output.locator(".dots i").first
    expect(dots).to_have_css("opacity", "1")
    assert not lab.page.evaluate(MOVES)
    chat.button("Stop").click()
    expect(chat.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)


def the_focus_is_never_stolen_from_typing(chat: Cell, lab: Lab) -> None:
    """A permission card appears during typing: the text still goes into the message."""
    box = chat.output.get_by_role("textbox", name=re.compile("^Message to"))
    say(chat, "/ask edit")
    box.press_sequentially("I am still ", delay=20)
    chat.button("Allow once").wait_for(timeout=PATIENCE_MS)
    box.press_sequentially("typing", delay=20)
    expect(box).to_have_value("I am still typing")
    expect(box).to_be_focused()
    cells = lab.panel.locator(".jp-CodeCell")
    for key in ("Escape", "d", "d", "a", "Control+m", "Control+Shift+Minus"):
        lab.page.keyboard.press(key)
    expect(box).to_have_value("I am still typingdda")
    lab.page.keyboard.press("Control+Shift+C")
    lab.page.locator(".lm-CommandPalette-input:visible").first.wait_for(timeout=PATIENCE_MS)
    expect(cells).to_have_count(1)
