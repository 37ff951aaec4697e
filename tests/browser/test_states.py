"""Ten states of the chat in a real JupyterLab, by keyboard alone, each checked with axe."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.browser.test_changes import REVIEW
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="States", cwd="states", kernel_tools=True)"""
FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (at?.role === "log") return ""; // it has the name of a button
  return (at?.ariaLabel || at?.textContent || at?.placeholder || "").trim();
}"""
"""The name of the focused element."""
MOST = 60
"""The number of key presses that suffices to reach any control in a part of the page."""
WAIT = "import threading\nprint('begun')\nthreading.Event().wait()"
OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 30\n", "")


def go(page: Page, name: str, key: str = "Tab") -> None:
    """Presses a key until the focused element's name matches *name*."""
    passed = []
    for _ in range(MOST):
        page.keyboard.press(key)
        passed.append(page.evaluate(FOCUSED)[:40])
        if re.match(name, passed[-1]):
            return
    raise AssertionError(f"{key} does not lead to {name!r}: {passed}")


class Walk:
    """Goes through the states, one method for each."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.page, self.keys = lab, lab.page, lab.page.keyboard
        self.side = Side(lab.page)
        self.chat = self.side.chat
        self.review = self.chat.get_by_role("button", name="Review", exact=True)

    def say(self, *steps: object) -> None:
        """Sends the agent its steps."""
        expect(self.side.box).to_be_focused(timeout=PATIENCE_MS)
        self.keys.insert_text(json.dumps(steps))
        self.keys.press("Enter")

    def press(self, name: str, key: str = "Tab") -> None:
        """Go to an element, and press Enter."""
        go(self.page, name, key)
        self.keys.press("Enter")

    def choose(self, menu: str, item: str, key: str = "Shift+Tab") -> None:
        self.press(menu, key)
        self.chat.get_by_role("menu").wait_for(timeout=PATIENCE_MS)
        self.press(item, "ArrowDown")

    def clean(self, state: str) -> None:
        assert (state, serious(self.page)) == (state, [])

    def to_box(self) -> None:
        go(self.page, "Message to")

    def rest(self) -> None:
        self.lab.command("agentnb:focus")
        self.side.expect_chat()
        expect(self.side.box).to_be_focused(timeout=PATIENCE_MS)
        self.clean("rest")

    def pill(self) -> None:
        self.press("Agent: ")
        self.side.agents.locator(":focus").wait_for(timeout=PATIENCE_MS)
        self.clean("pill")
        self.keys.press("Escape")
        expect(self.side.pill).to_be_focused()
        go(self.page, "Message to", "Shift+Tab")

    def permission_and_working(self) -> None:
        self.say({"start": ["run_code", {"code": WAIT}]}, {"end": 1})
        card = self.chat.locator(".permission-options")
        expect(card).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
        self.clean("permission")
        self.press("Allow$", "Shift+Tab")
        self.side.expect_text("begun")
        self.clean("working")
        self.chat.get_by_role("button", name="Stop this code").wait_for(timeout=PATIENCE_MS)
        self.press("Stop this code")
        expect(self.chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=PATIENCE_MS)
        expect(self.chat.get_by_text("Stopped", exact=True)).to_be_visible()
        self.to_box()

    def cells(self) -> None:
        inserts = [{"start": ["insert_cell", {"below": "2", "source": f"b = {number}"}]} for number in range(2)]
        self.say(*inserts, {"end": 2})
        bars = self.lab.panel.locator(".agentnb-cell-bar")
        expect(bars).to_have_count(2, timeout=PATIENCE_MS)
        expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
        expect(self.chat.locator(".waiting-question")).to_have_count(0)
        self.clean("cells")
        self.lab.command("agentnb:next-cell-change")
        expect(bars.locator("button:focus")).to_have_text("Accept", timeout=PATIENCE_MS)
        self.lab.command("agentnb:accept-cell-changes")  # by a command, as Tab stays among the cells
        expect(bars).to_have_count(0, timeout=PATIENCE_MS)
        self.review.last.wait_for(timeout=PATIENCE_MS)

    def finished_and_review(self) -> None:
        self.lab.command("agentnb:focus")
        self.say({"write": ["long.txt", NEW]}, {"say": "Done."})
        self.side.expect_answer("Done.")
        expect(self.review).to_have_count(2, timeout=PATIENCE_MS)
        self.clean("finished")
        self.press("Review", "Shift+Tab")
        review = self.page.locator(".agentnb-review:visible")
        bars = review.locator(".agentnb-hunk-bar")
        expect(bars).to_have_count(2, timeout=PATIENCE_MS)
        expect(self.lab.panel).to_be_visible()
        assert self.page.evaluate(REVIEW) == []
        self.clean("review")
        self.lab.picture("states-review")
        self.press("Keep part 1 of 2", "Shift+Tab")  # Tab stays among the cells
        expect(bars).to_have_count(1, timeout=PATIENCE_MS)

    def failed(self) -> None:
        self.lab.command("agentnb:focus")
        self.to_box()
        self.say({"fail": "Overloaded. Try again in a minute."})
        self.side.expect_text("Overloaded")
        self.clean("failed")
        go(self.page, "Send again", "Shift+Tab")

    def panels(self) -> None:
        for name in ("Settings", "History"):
            self.choose("Conversation$", name)
            panel = self.chat.locator("section.panel", has=self.page.get_by_role("searchbox"))
            panel.wait_for(timeout=PATIENCE_MS)
            self.clean(name)
            if name == "History":
                self.choose("More$", "Storage", "Tab")
                self.chat.get_by_text("Delete older than").first.wait_for(timeout=PATIENCE_MS)
                self.clean("storage")
                self.keys.press("Escape")
            self.keys.press("Escape")
            expect(self.chat.get_by_role("searchbox")).to_have_count(0)

    def rewind(self) -> None:
        self.choose("Turn$", "Go back")
        dialog = self.chat.get_by_role("alertdialog")
        dialog.wait_for(timeout=PATIENCE_MS)
        self.clean("rewind")
        self.keys.press("Escape")
        expect(dialog).to_have_count(0)
        assert re.match("Turn$", self.page.evaluate(FOCUSED))


def test_ten_chat_states_work_by_keyboard_and_pass_axe(lab: Lab, kernelspecs: Path) -> None:
    """From the idle box to going back; a closed element returns the focus."""
    folder = lab.server.folder / "states"
    folder.mkdir()
    (folder / "long.txt").write_text(OLD, encoding="utf-8")
    lab.open("states.ipynb", notebook(SETUP, "a = 1", kernel="ipykernel7"))
    lab.run_cells(2)
    walk = Walk(lab)
    walk.rest()
    walk.pill()
    walk.permission_and_working()
    walk.cells()
    walk.finished_and_review()
    walk.failed()
    walk.panels()
    walk.rewind()
