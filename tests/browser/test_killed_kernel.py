"""Changes wait in the cells while their kernel is killed: none is applied, no dead button stays."""

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
"""All that a proposal draws in a notebook."""
PROCESS = "import os\nprint(os.getpid())"
CLICK = "(buttons) => buttons[0]?.click()"


def test_proposals_whose_kernel_is_killed_go_unapplied_and_the_message_can_be_sent_again(
    lab: Lab, kernelspecs: Path
) -> None:
    """An answer that the dead kernel never heard counts for nothing."""
    del kernelspecs
    lab.open("killed.ipynb", notebook(SETUP, "a = 1\nprint(a)", PROCESS, kernel="ipykernel7"))
    lab.run_cells(3)
    process = int(lab.cell(2).output.inner_text())
    before = ["a = 1\nprint(a)", PROCESS]
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.resize(420)
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(lab.panel.locator(".agentnb-cell-bar[data-armed=true]")).to_have_count(2, timeout=PATIENCE_MS)
    os.kill(process, signal.SIGKILL)
    bars.get_by_role("button", name="Accept", exact=True).evaluate_all(CLICK)
    lab.page.locator(".jp-Dialog", has_text="Kernel Restarting").locator(".jp-mod-accept").click()
    expect(lab.panel.locator(MARKS)).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, before)
    side.expect_chat()
    expect(side.chat.locator(".permission, .waiting-link")).to_have_count(0, timeout=PATIENCE_MS)
    side.chat.get_by_role("button", name="Send again").wait_for(timeout=PATIENCE_MS)
    expect(side.box).to_be_editable()
    lab.picture("killed-kernel")
    assert serious(lab.page) == []
    expect_sources(lab, before)
