"""Pending changes in cells: shortcuts answer all of them; if the kernel is killed, none is applied."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, expect_sources
from tests.browser.test_cell_review import SETUP, STEPS

MARKS = ".agentnb-cell-bar, .agentnb-changes-bar, [class*=agentnb-new], [class*=agentnb-proposed]"
"""All marks of a proposal in a notebook."""
PROCESS = "import os\nprint(os.getpid())"
AFTER = ["a = 1\nprint(a + 2)", "b = 2", PROCESS]
CLICK = "(buttons) => buttons[0]?.click()"


def propose(lab: Lab, side: Side, number: int) -> None:
    """Makes the agent propose two changes, and focuses the code of one."""
    replaced = {"start": ["replace_cell", {"cell": "2", "source": f"a = 1\nprint(a + {number})"}]}
    inserted = {"start": ["insert_cell", {"below": "2", "source": f"b = {number}"}]}
    side.say(json.dumps([replaced, inserted, {"end": 2}]))
    expect(lab.panel.locator(".agentnb-cell-bar[data-armed=true]")).to_have_count(2, timeout=PATIENCE_MS)
    lab.cell(1).focus()


def all_changes_are_rejected_and_accepted_by_their_keys(lab: Lab, side: Side) -> None:
    """Ctrl+Alt+Shift+N and Y in a cell's editor."""
    press = lab.page.keyboard.press
    none = lab.panel.locator(".agentnb-cell-bar, .agentnb-changes-bar")
    propose(lab, side, 1)
    press("Control+Alt+Shift+N")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, ["a = 1\nprint(a)", PROCESS])
    propose(lab, side, 2)
    press("Control+Alt+Shift+Y")
    expect(none).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, AFTER)


def test_killed_kernel_drops_proposals_and_offers_send_again(lab: Lab, kernelspecs: Path) -> None:
    """An answer that the dead kernel did not get has no effect."""
    del kernelspecs
    lab.open("killed.ipynb", notebook(SETUP, "a = 1\nprint(a)", PROCESS, kernel="ipykernel7"))
    lab.run_cells(3)
    process = int(lab.cell(2).output.inner_text())
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    all_changes_are_rejected_and_accepted_by_their_keys(lab, side)
    side.resize(420)
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(lab.panel.locator(".agentnb-cell-bar[data-armed=true]")).to_have_count(2, timeout=PATIENCE_MS)
    os.kill(process, signal.SIGKILL)
    bars.get_by_role("button", name="Accept", exact=True).evaluate_all(CLICK)
    lab.page.locator(".jp-Dialog", has_text="Kernel Restarting").locator(".jp-mod-accept").click()
    expect(lab.panel.locator(MARKS)).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, AFTER)
    side.expect_chat()
    expect(side.chat.locator(".permission, .waiting-link")).to_have_count(0, timeout=PATIENCE_MS)
    side.chat.get_by_role("button", name="Send again").wait_for(timeout=PATIENCE_MS)
    expect(side.box).to_be_editable()
    lab.picture("killed-kernel")
    assert serious(lab.page) == []
    expect_sources(lab, AFTER)
