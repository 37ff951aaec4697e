"""Ten states of the chat in a real JupyterLab, by keyboard alone, each looked at with axe."""

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
  return (at?.ariaLabel || at?.textContent || at?.placeholder || "").trim();
}"""
"""What has the keyboard's focus is called."""
MOST = 60
"""So many keys lead anywhere in the page's part that is meant."""
WAIT = "import threading\nprint('begun')\nthreading.Event().wait()"
OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 30\n", "")


def go(page: Page, name: str, key: str = "Tab") -> None:
    """Press a key until something whose name begins so has the focus."""
    passed = []
    for _ in range(MOST):
        page.keyboard.press(key)
        passed.append(page.evaluate(FOCUSED)[:40])
        if re.match(name, passed[-1]):
            return
    raise AssertionError(f"{key} does not lead to {name!r}: {passed}")


def test_ten_states_of_the_chat_are_used_by_keyboard_alone_and_axe_finds_nothing(lab: Lab, kernelspecs: Path) -> None:
    """From the box at rest to going back; what opens gives the focus back when it goes."""
    folder = lab.server.folder / "states"
    folder.mkdir()
    (folder / "long.txt").write_text(OLD, encoding="utf-8")
    lab.open("states.ipynb", notebook(SETUP, "a = 1", kernel="ipykernel7"))
    lab.run_cells(2)
    page, side, keys = lab.page, Side(lab.page), lab.page.keyboard
    lab.command("agentnb:focus")
    side.expect_chat()

    def say(*steps: object) -> None:
        expect(side.box).to_be_focused(timeout=PATIENCE_MS)
        keys.insert_text(json.dumps(steps))
        keys.press("Enter")

    def clean(state: str) -> None:
        assert (state, serious(page)) == (state, [])

    expect(side.box).to_be_focused(timeout=PATIENCE_MS)
    clean("rest")

    go(page, "Agent: ")
    keys.press("Enter")
    expect(side.agents.locator("[data-item]:focus")).to_be_visible(timeout=PATIENCE_MS)
    clean("pill")
    keys.press("Escape")
    expect(side.pill).to_be_focused()
    go(page, "Message to", "Shift+Tab")

    say({"start": ["run_code", {"code": WAIT}]}, {"end": 1})
    card = side.chat.locator(".permission-options")
    expect(card).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    clean("permission")
    go(page, "Allow$", "Shift+Tab")
    keys.press("Enter")
    side.expect_text("begun")
    clean("working")
    go(page, "Stop this code")
    keys.press("Enter")
    expect(side.chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=PATIENCE_MS)
    expect(side.chat.get_by_text("Stopped", exact=True)).to_be_visible()
    go(page, "Message to")

    inserts = [{"start": ["insert_cell", {"below": "2", "source": f"b = {number}"}]} for number in range(2)]
    say(*inserts, {"end": 2})
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect(side.chat.locator(".waiting-question")).to_have_count(0)
    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    clean("cells")
    lab.command("agentnb:next-cell-change")
    go(page, "Accept all")
    keys.press("Enter")
    expect(bars).to_have_count(0, timeout=PATIENCE_MS)
    changes = side.chat.get_by_role("button", name="Review", exact=True)
    expect(changes.last).to_be_visible(timeout=PATIENCE_MS)

    lab.command("agentnb:focus")
    say({"write": ["long.txt", NEW]}, {"say": "Done."})
    side.expect_answer("Done.")
    expect(changes).to_have_count(2, timeout=PATIENCE_MS)
    clean("finished")
    go(page, "Review", "Shift+Tab")
    keys.press("Enter")
    review = page.locator(".agentnb-review:visible")
    expect(review.locator(".agentnb-hunk-bar")).to_have_count(2, timeout=PATIENCE_MS)
    expect(lab.panel).to_be_visible()
    assert page.evaluate(REVIEW) == []
    clean("review")
    lab.picture("states-review")
    go(page, "Keep part 1 of 2")
    keys.press("Enter")
    expect(review.locator(".agentnb-hunk-bar")).to_have_count(1, timeout=PATIENCE_MS)

    lab.command("agentnb:focus")
    go(page, "Message to")
    say({"fail": "Overloaded. Try again in a minute."})
    side.expect_text("Overloaded")
    clean("failed")
    go(page, "Send again", "Shift+Tab")
    go(page, "Message to")

    for panel in ("Settings", "History"):
        go(page, "Conversation$", "Shift+Tab")
        keys.press("Enter")
        go(page, panel, "ArrowDown")
        keys.press("Enter")
        region = side.chat.get_by_role("region", name=panel, exact=True)
        expect(region.get_by_role("searchbox").first).to_be_visible(timeout=PATIENCE_MS)
        clean(panel)
        if panel == "History":
            go(page, "More$")
            keys.press("Enter")
            go(page, "Storage", "ArrowDown")
            keys.press("Enter")
            expect(side.chat.get_by_text("Delete older than").first).to_be_visible(timeout=PATIENCE_MS)
            clean("storage")
            keys.press("Escape")
        keys.press("Escape")
        expect(region).to_have_count(0)

    go(page, "Turn$", "Shift+Tab")
    keys.press("Enter")
    go(page, "Go back", "ArrowDown")
    keys.press("Enter")
    dialog = side.chat.get_by_role("alertdialog")
    expect(dialog).to_be_visible(timeout=PATIENCE_MS)
    clean("rewind")
    keys.press("Escape")
    expect(dialog).to_have_count(0)
    assert re.match("Turn$", page.evaluate(FOCUSED))
