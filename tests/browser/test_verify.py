"""The mark of a verification in a notebook's toolbar and below a turn, in JupyterLab and Notebook 7."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.browser.test_sidebar_notebook7 import Classic
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/mends_cells.py")!r}]
session = agentnb.start(command=agent, title="Mends", freedom="auto")"""
VERIFIED = re.compile(r"^Verified \d\d:\d\d$")
STALE = re.compile(r"^Verified \d\d:\d\d · changed since$")
WAITS = "import time\nfor n in range(100):\n    time.sleep(1)"
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
RUN_DELETED = "z = 1\nprint(z)"


class Mark:
    def __init__(self, place: Locator) -> None:
        self.node = place.locator(".agentnb-verify")
        self.main = self.node.locator(".agentnb-verify-main")

    def button(self, name: str) -> Locator:
        return self.node.get_by_role("button", name=name, exact=True)

    def expect(self, words: str | re.Pattern[str]) -> None:
        expect(self.main).to_have_text(words, timeout=PATIENCE_MS)


def toolbar(lab: Lab) -> Mark:
    return Mark(lab.panel.locator(".jp-NotebookPanel-toolbar"))


def mended(lab: Lab, name: str) -> None:
    """Open a notebook whose second cell prints a name that only a deleted cell defines."""
    document = notebook(SETUP, RUN_DELETED, "print(z)", kernel="ipykernel7")
    document.cells[0].metadata["tags"] = ["skip-execution"]
    lab.open(name, document)
    lab.run_cells(3)
    lab.cell(1).focus()
    lab.page.keyboard.press("Escape")
    lab.page.keyboard.press("d")
    lab.page.keyboard.press("d")
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(2)


def test_verification_covers_unsaved_code_and_edits_make_it_stale(lab: Lab, kernelspecs: Path) -> None:
    """By keyboard, with the chat closed: unsaved code counts, Markdown does not; restored text is verified."""
    lab.open("verified.ipynb", notebook("x = 40", "print(x + 1)", kernel="ipykernel7"))
    lab.cell(1).write("print(x + 2)")
    lab.run_cells(2)
    mark = toolbar(lab)
    mark.expect("Verify")
    mark.main.focus()
    lab.page.keyboard.press("Enter")
    mark.expect(VERIFIED)
    expect(mark.main).to_have_attribute("title", re.compile("verified.ipynb: verified .2 of 2 cells run"))
    expect(lab.page.locator("#agentnb-sidebar")).not_to_be_visible()
    expect(mark.main).to_be_focused()
    lab.picture("verified")

    lab.cell(1).write("print(x + 3)")
    mark.expect(STALE)
    lab.cell(1).write("print(x + 2)")
    mark.expect(VERIFIED)
    lab.cell(0).run()
    mark.expect(STALE)
    mark.button("Verify again").click()
    mark.expect(VERIFIED)

    lab.cell(1).write("print(nowhere)")
    mark.expect(STALE)
    lab.expect_in_kernel("__import__('agentnb').verify().ok", False)
    mark.expect(re.compile("would fail: nowhere"))


def test_finding_opens_its_cell_and_the_agent_fixes_it(lab: Lab, kernelspecs: Path) -> None:
    """The message has the finding, folded; after the agent's turn the verification starts by itself."""
    mended(lab, "mended.ipynb")
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    mark = toolbar(lab)
    mark.main.click()
    mark.expect(re.compile(r"^Cell \[3\] would fail: z is defined only in a deleted cell"))
    assert serious(lab.page) == []
    side.resize(420)
    lab.picture("verify-420")
    lab.page.set_viewport_size({"width": 2000, "height": 900})
    side.resize(1200)
    expect(mark.main).to_be_visible()
    lab.picture("verify-1200")
    side.resize(420)
    lab.picture("verify-wide")
    lab.page.set_viewport_size({"width": 1280, "height": 900})
    lab.cell(0).focus()
    mark.main.click()
    lab.page.wait_for_function(f"({ACTIVE})() === 1")
    expect(lab.cell(1).locator).to_have_css("outline-style", "solid")
    lab.picture("verify-finding")

    mark.button("Fix with agent").click()
    side.expect_answer("z is defined again.")
    expect(side.chat.locator(".user-message .for-agent")).not_to_have_attribute("open", "")
    expect(side.chat.locator(".user-text").first).to_contain_text(
        "Fix what the verification found: Cell [3] would fail"
    )
    mark.expect(VERIFIED)
    assert sources(lab)[1] == RUN_DELETED
    below = Mark(side.chat.locator(".turn").last)
    below.expect(VERIFIED)
    assert serious(lab.page) == []
    lab.cell(1).write("print(2)")
    below.expect(STALE)
    below.main.click()
    below.expect(re.compile("^Cell "))
    lab.picture("verify-below-a-turn")
    lab.theme("JupyterLab Dark")
    lab.picture("verify-dark")
    assert serious(lab.page) == []


def test_agent_clears_outputs_interrupts_and_restarts_the_kernel(lab: Lab, kernelspecs: Path) -> None:
    """The turn's Undo restores outputs; a restart's card names what is lost, and it waits for the turn."""
    setup = SETUP.replace("mends_cells", "calls_kernel").replace('freedom="auto"', "kernel_tools=True")
    endless = "import time\nwhile True:\n    time.sleep(0.05)"
    values = "a = 41\nb, c, d, e, f, g, h = range(7)\nprint(a + 1)"
    lab.open("tools.ipynb", notebook(setup, values, endless, kernel="ipykernel7"))
    lab.run_cells(2)
    lab.cell(1).expect_text("42")
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"start": ["clear_outputs", {"cell": "2"}]}, {"end": 1}, {"say": "cleared"}]))
    expect(lab.panel.locator(".agentnb-cell-bar")).to_contain_text("Clear the outputs of In [2]", timeout=PATIENCE_MS)
    side.allow()
    expect(side.chat.locator(".answer").last).to_contain_text("cleared", timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".jp-OutputArea-output")).to_have_count(0)
    lab.picture("outputs-cleared")
    side.chat.locator(".turn").last.get_by_role("button", name="Undo", exact=True).first.click()
    lab.cell(1).expect_text("42")
    lab.cell(1).expect_done(2)

    lab.cell(2).run()
    lab.cell(2).expect_running()
    side.say(json.dumps([{"start": ["interrupt", {}]}, {"end": 1}, {"say": "stopped"}]))
    side.allow()
    lab.cell(2).expect_text(re.compile("KeyboardInterrupt"))
    expect(side.chat.locator(".answer").last).to_contain_text("stopped", timeout=PATIENCE_MS)

    side.say(json.dumps([{"start": ["restart_kernel", {}]}, {"end": 1}, {"say": "restarts"}]))
    card = side.chat.locator(".permission")
    lost = "Permanently loses your variables: a, agent, b, c, d, e, f, g and 2 more."
    expect(card).to_contain_text(lost, timeout=PATIENCE_MS)
    expect(card).to_contain_text("Restart the kernel after this turn")
    lab.picture("restart-card")
    side.allow()
    expect(side.chat.locator(".answer").last).to_contain_text("restarts", timeout=PATIENCE_MS)
    lab.expect_in_kernel("'a' in globals()", False)
    side.expect_chat()
    expect(side.chat.locator(".answer").last).to_contain_text("restarts", timeout=PATIENCE_MS)


def test_stopped_verification_can_start_again(lab: Lab, kernelspecs: Path) -> None:
    """It shows its progress; a stop restores the earlier result."""
    lab.open("stopped.ipynb", notebook("x = 1", WAITS, kernel="ipykernel7"))
    mark = toolbar(lab)
    mark.main.click()
    mark.expect("Verifying… 1 of 2")
    lab.picture("verifying")
    mark.button("Stop").click()
    mark.expect("Verify")
    lab.cell(1).write("x")
    mark.main.click()
    mark.expect(VERIFIED)


def test_verification_shows_in_both_windows_unless_text_differs(
    lab: Lab, open_lab: Callable[[], Lab], kernelspecs: Path
) -> None:
    """Each window can stop the other's run."""
    lab.open("two-windows.ipynb", notebook("x = 40", "print(x + 1)", kernel="ipykernel7"))
    lab.run_cells(2)
    lab.save()
    other = open_lab()
    other.open("two-windows.ipynb")
    pages = (lab, other)
    for one in pages:
        side = Side(one.page)
        side.open()
        side.expect_chat()
    marks = [toolbar(one) for one in pages]
    marks[0].main.click()
    for mark in marks:
        mark.expect(VERIFIED)
    other.cell(1).write("print(nowhere)")
    marks[1].expect(STALE)
    marks[0].expect(VERIFIED)
    marks[1].button("Verify again").click()
    finding = re.compile("would fail: nowhere")
    marks[1].expect(finding)
    marks[0].expect(re.compile("would fail: nowhere.* · changed since$"))
    lab.picture("two-windows-verified")
    marks[0].button("Verify again").click()
    for mark, words in zip(marks, (VERIFIED, STALE), strict=True):
        mark.expect(words)

    other.cell(1).write(WAITS)
    marks[1].button("Verify again").click()
    for mark in marks:
        mark.expect("Verifying… 1 of 2")
    marks[0].button("Stop").click()
    for mark in marks:
        mark.expect(re.compile("^Verif(?!ying)"))


def test_verification_without_agentnb_opens_the_sidebar_notice(lab: Lab, bare: Path) -> None:
    lab.open("bare-verify.ipynb", notebook("x = 1", kernel="bare"))
    toolbar(lab).main.click()
    toolbar(lab).expect(re.compile("^Not verified: "))
    Side(lab.page).notice.wait_for(timeout=PATIENCE_MS)


@pytest.mark.notebook7
def test_verification_mark_in_notebook_7_leads_to_the_cell(lab: Lab, kernelspecs: Path) -> None:
    classic = Classic(lab)
    classic.open("verify7.ipynb", "x = 1", "print(nowhere)")
    mark = toolbar(lab)
    mark.main.click()
    mark.expect(re.compile(r"would fail: nowhere"))
    assert mark.node.evaluate("node => node.nextElementSibling.dataset.jpItemName") == "cellType"
    assert serious(lab.page) == []
    mark.main.click()
    expect(lab.cell(1).locator).to_have_class(re.compile("jp-mod-active"))
    lab.picture("verify-notebook7")
