"""*Fix with agent* on a failed cell in a real JupyterLab."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.browser.test_sidebar_notebook7 import Classic
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/fixes_cells.py")!r}]
session = agentnb.start(command=agent, title="Fix", kernel_tools=True, permissions="ask")"""
ONE_LINE = "agentnb.map('hello', ['world'])"
"""Fails with a one-line error."""
SHORTCUT = "Control+Alt+f"
BARS = """async () => (await axe.run('.agentnb-error-actions', { resultTypes: ['violations'] })).violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary)])"""
"""axe-core's serious and critical findings in the buttons on failed cells."""


COVERED = """(buttons) => {
  const bar = buttons.getBoundingClientRect();
  const output = buttons.closest(".jp-Cell").querySelector(".jp-OutputArea-output pre");
  const texts = document.createTreeWalker(output, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const word of texts.currentNode.data.matchAll(/\\S+/g)) { // a space that hangs past a line's end is no text
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if ([...range.getClientRects()].some(({ left, right, top, bottom }) =>
        right > bar.left && left < bar.right && top < bar.bottom && bottom > bar.top)) return true;
    }
  return false;
}"""
"""True if buttons cover the text of their cell's output."""


@pytest.fixture
def classic(lab: Lab, kernelspecs: Path) -> Classic:
    return Classic(lab)


def fixing(lab: Lab, index: int) -> Locator:
    """The button in the corner of a cell's output."""
    return lab.cell(index).output.get_by_role("button", name="Fix with agent", exact=True)


def test_fix_button_sends_the_error_and_its_edit_needs_approval(lab: Lab, side: Side) -> None:
    """The sidebar opens, the conversation gets the error, the cell's change needs approval and can be undone."""
    lab.open("fix.ipynb", notebook(SETUP, "total, count = 4, 0\ntotal / count", "1 / 0", ONE_LINE, kernel="ipykernel7"))
    lab.run_cells(4)
    lab.cell(3).expect_text("The prompt has no field")
    buttons = lab.cell(3).output.locator(".agentnb-error-actions")
    buttons.wait_for(timeout=PATIENCE_MS)
    assert not buttons.evaluate(COVERED)
    fixing(lab, 1).wait_for(timeout=PATIENCE_MS)
    expect(fixing(lab, 0)).to_have_count(0)
    fixing(lab, 1).click()
    side.expect_chat()
    expect(side.question).to_contain_text("Waiting in [2] →", timeout=PATIENCE_MS)
    lab.picture("fix-light")
    side.allow()
    expect(side.chat.locator(".change-counts")).to_have_text("1 cell", timeout=PATIENCE_MS)
    assert sources(lab)[1:] == ["total, count = 4, 0\ntotal / count if count else 0.0", "1 / 0", ONE_LINE]
    side.expect_text("The divisor in cell 2 was 0.")
    assert serious(lab.page) == []
    assert lab.page.evaluate(BARS) == []

    lab.cell(2).prompt.click(button="right")
    lab.page.get_by_role("menuitem", name="Explain the Error").click()
    side.expect_text("Cell 3 divides by 0.")
    assert sources(lab)[2] == "1 / 0"

    lab.cell(1).run()
    lab.cell(1).expect_done(5)
    expect(fixing(lab, 1)).to_have_count(0)
    expect(fixing(lab, 2)).to_have_count(1)


def test_fix_shortcut_sends_saved_error_once_an_agent_is_chosen(lab: Lab, side: Side, tmp_path: Path) -> None:
    """The kernel has not run the cell: the message has the output's traceback. No conversation exists."""
    log = f"import os\nos.environ['AGENTNB_DATA_DIR'] = {str(tmp_path)!r}"
    document = notebook(log, "1 / zero", kernel="ipykernel7")
    error = nbformat.v4.new_output(
        "error", ename="NameError", evalue="no zero", traceback=["---", "NameError: no zero"]
    )
    document.cells[1].update(outputs=[error], execution_count=7)
    lab.open("fix-stored.ipynb", document)
    fixing(lab, 1).wait_for(timeout=PATIENCE_MS)
    lab.theme("JupyterLab Dark")
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    lab.cell(1).focus()
    lab.page.keyboard.press(SHORTCUT)
    waiting = side.agents.get_by_text("Choose an agent. It gets: “Fix the error in In [7]: @error:7")
    waiting.wait_for(timeout=PATIENCE_MS)
    side.resize(320)
    side.agents.get_by_role("button", name="Tour").first.click()
    side.expect_text("Fix the error in In [7]: @error:7")
    expect(side.chat.locator(".content-chip")).to_contain_text("error:7", timeout=PATIENCE_MS)
    lab.picture("fix-dark-narrow")

    side.box.fill("half a thought")
    fixing(lab, 1).focus()
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Enter")
    side.expect_text("Explain the error in In [7]: @error:7")
    expect(side.box).to_have_value("half a thought")
    assert serious(lab.page) == []
    assert lab.page.evaluate(BARS) == []
    expect(lab.cell(1).output.get_by_text(re.compile("NameError"))).to_have_count(1)


@pytest.mark.notebook7
def test_errors_are_fixed_by_keyboard_in_notebook_7(classic: Classic, lab: Lab) -> None:
    """One edit is accepted and run, one rejected; an edit of a cell deleted under review does nothing."""
    page, side = classic.page, classic.side
    failing = ["total, count = 4, 0\ntotal / count", "share, parts = 1, 0\nshare / parts", "1 / 0"]
    classic.open("fix-keys.ipynb", SETUP, *failing)
    lab.cell(0).focus()
    for index in range(4):
        page.keyboard.press("Shift+Enter")
        lab.cell(index).expect_done(index + 1)
    bar = lab.panel.locator(".agentnb-cell-bar")
    armed = lab.panel.locator(".agentnb-cell-bar[data-armed=true]")

    def fix(up: int) -> None:
        for key in ("Escape", *["ArrowUp"] * up, SHORTCUT):
            page.keyboard.press(key)
        expect(armed).to_have_count(1)

    fix(3)
    side.expect_chat()
    lab.picture("fix-keys")
    page.keyboard.press("Control+Alt+Enter")
    expect(bar).to_have_count(0)
    lab.cell(1).expect_done(5)
    expect(fixing(lab, 1)).to_have_count(0)

    page.keyboard.press("ArrowDown")
    fix(0)
    page.keyboard.press("Alt+F5")
    expect(bar.get_by_role("button", name="Accept", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Alt+n")
    expect(bar).to_have_count(0)
    expect(side.chat.locator(".permission")).to_have_count(0)
    assert sources(lab)[1:3] == ["total, count = 4, 0\ntotal / count if count else 0.0", failing[1]]

    page.keyboard.press("ArrowDown")
    fix(0)
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(bar).to_have_count(0)
    page.keyboard.press("Control+Shift+O")
    lab.picture("fix-keys-deleted")
    card = side.chat.locator(".permission")
    expect(card).to_contain_text("The cell is no longer in the notebook.")
    expect(card.get_by_role("button", name="Allow", exact=True)).to_have_count(0)
    expect(card.locator(".permission-options")).to_have_attribute("data-armed", "true")
    card.get_by_role("button", name="Reject", exact=True).press("Enter")
    expect(card).to_have_count(0)
    assert serious(page) == []
    lab.picture("fix-keys-end")

    lab.cell(2).focus()
    lab.cell(2).locator.locator("[data-command='agentnb:explain-error']").first.click()
    side.expect_text("Cell 3 divides by 0.")
    assert sources(lab)[2] == failing[1]
