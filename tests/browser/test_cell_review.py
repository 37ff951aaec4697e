"""Review of an agent's proposed changes in the cells of a real JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, expect_sources, sources
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Fit", kernel_tools=True)"""
STEPS = [
    {"start": ["replace_cell", {"cell": "2", "source": "a = 1\nprint(a + 10)"}]},
    {"start": ["insert_cell", {"below": "2", "source": "b = 2"}]},
    {"end": 1},
]


def test_proposed_changes_are_accepted_in_cells_not_in_the_chat(lab: Lab, kernelspecs: Path) -> None:
    """The cell shows the difference, the notebook stays unchanged; the chat has one line per change, as a link."""
    lab.open("reviewed.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-old-line")).to_have_text("print(a)", timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-new-lines")).to_have_text("print(a + 10)")
    expect(lab.panel.locator(".agentnb-new-cell-text")).to_have_text("b = 2", timeout=PATIENCE_MS)
    lab.picture("cell-review")
    lab.save()
    assert [cell["source"] for cell in lab.saved("reviewed.ipynb")["cells"]][1:] == ["a = 1\nprint(a)"]

    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.cell(1).focus()
    the_keyboard_goes_over_the_bar_and_out_of_the_notebook(lab)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+Alt+Enter")
    expect(bars).to_have_count(1, timeout=PATIENCE_MS)
    lab.cell(1).expect_text("11")
    assert sources(lab)[1:] == ["a = 1\nprint(a + 10)"]

    waiting = side.chat.locator(".waiting-link")
    expect(waiting).to_contain_text("Waiting below [3] →", timeout=PATIENCE_MS)
    expect(side.chat.locator(".permission")).to_have_count(0)
    waiting.click()
    accept = bars.get_by_role("button", name="Accept", exact=True)
    expect(accept).to_be_focused()
    accept.click()
    expect(side.chat.locator(".waiting-link")).to_have_count(0, timeout=PATIENCE_MS)
    expect(bars).to_have_count(0, timeout=PATIENCE_MS)
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(3, timeout=PATIENCE_MS)
    expect(lab.panel.locator("[class*=agentnb-new], [class*=agentnb-proposed]")).to_have_count(0)
    assert sources(lab)[1:] == ["a = 1\nprint(a + 10)", "b = 2"]
    expect(side.chat.locator(".stop")).to_have_count(0, timeout=PATIENCE_MS)

    side.choose_freedom("Edit")  # applies changes at once, to be kept or undone later
    insertion = {"start": ["insert_cell", {"below": "3", "source": "c = 3"}]}
    side.say(json.dumps([*changed("replace_cell", cell="3", source="a = 3"), insertion, {"end": 1}]))
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect_sources(lab, ["a = 3", "c = 3", "b = 2"])
    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    bars.first.get_by_role("button", name="Undo", exact=True).click()
    expect(bars).to_have_count(1, timeout=PATIENCE_MS)
    expect(bars).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.picture("review-after")
    bars.get_by_role("button", name="Keep", exact=True).press("Enter")
    expect(bars).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, ["a = 1\nprint(a + 10)", "c = 3", "b = 2"])


def the_keyboard_goes_over_the_bar_and_out_of_the_notebook(lab: Lab) -> None:
    bar = lab.panel.locator(".agentnb-changes-bar")
    bar.get_by_role("button", name="Next change").focus()
    keys = ("Shift+Tab", "ArrowLeft", "ArrowRight", "ArrowRight")
    for key, name in zip(keys, ("Previous change", "Reject all", "Previous change", "Next change"), strict=True):
        lab.page.keyboard.press(key)
        expect(bar.locator(":focus")).to_have_accessible_name(name)
    for _ in range(4):
        lab.page.keyboard.press("Shift+Tab")
    expect(lab.panel.locator(".jp-Notebook :focus")).to_have_count(0)


def test_review_in_either_page_updates_the_other(lab: Lab, open_lab: Callable[[], Lab], kernelspecs: Path) -> None:
    """The page of the click applies a change; the marks vanish in both, and nothing is applied twice.

    A user's edit of the cell in one page stays there, and only the other page can accept the change.
    """
    lab.open("two-pages.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    lab.run_cells(2)
    lab.save()
    other = open_lab()
    other.open("two-pages.ipynb")
    sides = [Side(one.page) for one in (lab, other)]
    for side in sides:
        side.open()
        side.expect_chat()
    sides[0].say(json.dumps(STEPS))
    pages = (lab, other)
    for one in pages:
        expect(one.panel.locator(".agentnb-cell-bar")).to_have_count(2)
    bars = other.panel.locator(".agentnb-cell-bar")
    expect(bars.first).to_have_attribute("data-armed", "true")
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("#")
    changed_here = lab.panel.locator(".agentnb-cell-bar").first
    expect(changed_here).to_contain_text("You changed this cell after the agent read it.")
    accept = [one.get_by_role("button", name="Accept", exact=True) for one in (changed_here, bars.first)]
    expect(accept[0]).to_have_attribute("aria-disabled", "true")
    expect(accept[1]).to_have_attribute("aria-disabled", "false")
    accept[1].click()
    for one in pages:
        expect(one.panel.locator(".agentnb-cell-bar")).to_have_count(1)
    accepted = ["a = 1\nprint(a + 10)"]
    expect_sources(other, accepted)
    assert [sources(one)[1:] for one in pages] == [["a = 1\nprint(a)#"], accepted]
    lab.page.bring_to_front()
    lab.page.keyboard.press("Backspace")
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_attribute("data-armed", "true")
    bars.get_by_role("button", name="Reject", exact=True).click()
    for one, side in zip(pages, sides, strict=True):
        expect(one.panel.locator(".agentnb-cell-bar, .agentnb-new-cell-text")).to_have_count(0)
        expect(side.chat.locator(".permission")).to_have_count(0)
    assert [sources(one)[1:] for one in pages] == [["a = 1\nprint(a)"], accepted]
    a_decision_is_in_the_other_page_whose_chat_is_closed(pages, sides)


def a_decision_is_in_the_other_page_whose_chat_is_closed(pages: tuple[Lab, Lab], sides: list[Side]) -> None:
    bars = [one.panel.locator(".agentnb-cell-bar") for one in pages]
    for mode, button in (("Ask", "Reject"), ("Edit", "Keep")):
        sides[0].choose_freedom(mode)
        sides[0].say(
            json.dumps([*changed("cells"), *changed("replace_cell", cell="2", source=f"a = 1\nprint(a, {mode!r})")])
        )
        for one in bars:
            expect(one).to_have_count(1, timeout=PATIENCE_MS)
        pages[1].command("application:toggle-right-area")
        expect(sides[1].chat).not_to_be_visible()
        expect(bars[0]).to_have_attribute("data-armed", "true")
        bars[0].get_by_role("button", name=button, exact=True).click()
        for one in bars:
            expect(one).to_have_count(0, timeout=PATIENCE_MS)
        sides[0].chat.locator(".ended, .turn-end").last.wait_for(timeout=PATIENCE_MS)
        for one in bars:
            expect(one).to_have_count(0)
        pages[1].command("application:toggle-right-area")
        expect(sides[1].chat).to_be_visible()


def test_proposal_for_changed_or_deleted_cell_cannot_be_allowed(lab: Lab, kernelspecs: Path) -> None:
    """The cell says it, and offers to accept again after the user's undo; a deleted one leaves a refusal.

    A restart of the kernel removes pending changes from the cells.
    """
    lab.open("conflict.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS[:1] + STEPS[2:]))
    bar = lab.panel.locator(".agentnb-cell-bar")
    accept = bar.get_by_role("button", name="Accept", exact=True)
    expect(accept).to_have_attribute("aria-disabled", "false", timeout=PATIENCE_MS)
    allow = side.chat.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_have_count(0)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("#")
    expect(bar).to_contain_text("You changed this cell after the agent read it.")
    expect(accept).to_have_attribute("aria-disabled", "true")
    expect(allow).to_have_count(0)
    lab.page.keyboard.press("Escape")
    lab.command("notebook:delete-cell")
    card = side.chat.locator(".permission")
    expect(card).to_contain_text("The cell is no longer in the notebook.", timeout=PATIENCE_MS)
    expect(allow).to_have_count(0)
    lab.expect_idle()
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(1)
    lab.command("notebook:undo-cell-action")
    expect(card).to_have_count(0)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.press("Backspace")
    expect(accept).to_have_attribute("aria-disabled", "false", timeout=PATIENCE_MS)
    accept.click()
    expect(side.chat.locator(".waiting-link")).to_have_count(0, timeout=PATIENCE_MS)
    expect_sources(lab, ["a = 1\nprint(a + 10)"])

    side.say(json.dumps(STEPS[1:]))
    expect(bar).to_have_count(1, timeout=PATIENCE_MS)
    lab.restart()
    expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    expect(lab.panel.locator("[class*=agentnb-new], [class*=agentnb-proposed]")).to_have_count(0)
    expect_sources(lab, ["a = 1\nprint(a + 10)"])
    side.expect_chat()
    expect(side.chat.locator(".permission, .waiting-link")).to_have_count(0, timeout=PATIENCE_MS)


FIFTEEN = [f"x{number} = {number}" for number in range(15)]


def test_one_bar_decides_fifteen_changes_in_two_windows(
    lab: Lab, open_lab: Callable[[], Lab], kernelspecs: Path
) -> None:
    document = notebook(SETUP, *FIFTEEN, kernel="ipykernel7")
    for number, cell in enumerate(document.cells):
        cell["id"] = f"c{number}"
    lab.open("fifteen.ipynb", document)
    lab.run_cells(1)
    lab.save()
    other = open_lab()
    other.open("fifteen.ipynb")
    sides = [Side(one.page) for one in (lab, other)]
    for side in sides:
        side.open()
        side.expect_chat()
    starts = [{"start": ["replace_cell", {"cell": f"c{number}", "source": f"x = {number}"}]} for number in range(1, 16)]
    bars = [one.panel.locator(".agentnb-changes-bar") for one in (lab, other)]
    for how, then in (("Reject", FIFTEEN), ("Accept", [f"x = {number}" for number in range(1, 16)])):
        sides[0].say(json.dumps([*starts, {"end": 15}]))
        for window, bar in zip((lab, other), bars, strict=True):
            expect(bar).to_contain_text("15", timeout=PATIENCE_MS)
            buttons = window.panel.locator(".agentnb-cell-bar button, .agentnb-changes-bar button")
            expect(buttons).to_have_count(34, timeout=PATIENCE_MS)
        expect(sides[0].chat.locator(".permission")).to_have_count(0)
        expect(sides[0].chat.locator(".waiting-link")).to_have_text("Waiting in 15 cells →")
        lab.page.bring_to_front()
        bars[0].get_by_role("button", name="Next change").click()
        expect(bars[0]).to_contain_text(re.compile(r"\d+ of 15"))
        lab.picture(f"fifteen-changes-{how.lower()}")
        assert serious(lab.page) == []
        expect(lab.panel.locator(".agentnb-cell-bar[data-armed=false]")).to_have_count(0)
        bars[0].get_by_role("button", name=f"{how} all").click()
        for window, side in zip((lab, other), sides, strict=True):
            expect(window.panel.locator(".agentnb-cell-bar, .agentnb-changes-bar")).to_have_count(
                0, timeout=PATIENCE_MS
            )
            expect(side.chat.locator(".waiting-link")).to_have_count(0, timeout=PATIENCE_MS)
        expect_sources(lab, then)


def test_chat_code_that_replaces_a_cell_shows_its_diff_and_undo(lab: Lab, kernelspecs: Path) -> None:
    lab.open("replaced.ipynb", notebook("x = 1", "y = 2", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.start()
    side.say("/say ```python\ny = 3\n```")
    lab.cell(1).focus()
    side.chat.get_by_role("button", name="Replace the active cell").click(timeout=PATIENCE_MS)
    bar = lab.panel.locator(".agentnb-cell-bar")
    expect(bar).to_contain_text("Replaced with code from the chat.")
    expect(lab.cell(1).locator.locator(".agentnb-old-lines")).to_have_text("y = 2")
    expect(bar).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    bar.get_by_role("button", name="Undo", exact=True).click()
    expect(bar).to_have_count(0)
    expect_sources(lab, ["y = 2"])


def changed(name: str, **arguments: object) -> list[dict[str, object]]:
    """Returns steps for one kernel tool call."""
    return [{"start": [name, arguments]}, {"end": 1}]


CELLS = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map((cell) => [cell.cell_type, cell.getSource(), (cell.toJSON().outputs ?? []).length])"""


def test_undo_of_a_turn_restores_moved_split_and_deleted_cells(lab: Lab, kernelspecs: Path) -> None:
    """The notebook marks the proposals; types, order and outputs come back in one step."""
    setup = SETUP.replace("sys, agentnb", "sys, agentnb, os").replace("kernel_tools", "cwd=os.getcwd(), kernel_tools")
    lab.open("structure.ipynb", notebook(setup, "a = 1\nb = 2", "print(3)", "d = 4", kernel="ipykernel7"))
    lab.run_cells(4)
    before = lab.page.evaluate(CELLS)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    steps = [
        *changed("move_cell", cell="4", above="2"),
        *changed("split_cell", cell="2", line=2),
        *changed("delete_cell", cell="3"),
        *changed("set_cell_type", cell="4", cell_type="markdown"),
    ]
    side.say(json.dumps(steps))
    bar = lab.panel.locator(".agentnb-cell-bar")
    marks = {
        "move this cell": ".agentnb-move-place",
        "split this cell": ".agentnb-new-cell-text",
        "delete this cell": ".agentnb-proposed-delete",
        "a Markdown cell": ".agentnb-proposed-change",
    }
    for words, mark in marks.items():
        expect(bar).to_contain_text(words, timeout=PATIENCE_MS)
        expect(lab.panel.locator(mark)).to_have_count(1)
        expect(bar).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
        lab.picture(f"cell-{mark[1:]}")
        bar.get_by_role("button", name="Accept", exact=True).click()
    expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    side.chat.locator(".change-counts").wait_for(timeout=PATIENCE_MS)
    after = lab.page.evaluate(CELLS)
    assert after[1:] == [["markdown", "d = 4", 0], ["code", "a = 1", 0], ["code", "b = 2", 0]]
    side.chat.get_by_role("button", name="Undo", exact=True).click()
    side.chat.get_by_role("button", name="Redo", exact=True).wait_for(timeout=PATIENCE_MS)
    assert lab.page.evaluate(CELLS) == before
    lab.command("notebook:undo-cell-action")
    assert lab.page.evaluate(CELLS) == after


MODES = ("contentVisibility", "none", "full")
"""JupyterLab's windowing modes; "defer" is "none" once the page is idle."""
SCROLL = "(index) => window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start')"


@pytest.fixture
def set_mode(home: Path) -> Iterator[Callable[[str], None]]:
    """Sets the windowing mode of pages loaded until the test ends."""
    file = home / "lab-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    before = file.read_text()
    yield lambda mode: cast("None", file.write_text(json.dumps({"windowingMode": mode})))
    file.write_text(before)


def test_proposals_outside_the_view_work_in_each_windowing_mode(
    lab: Lab, kernelspecs: Path, set_mode: Callable[[str], None]
) -> None:
    """*Next change* scrolls to a proposal and focuses its bar, which covers no code; failed cells have buttons."""
    lines = "\n".join(f"# {number}" for number in range(12))
    document = notebook(SETUP, *(f"x = {number}\n{lines}" for number in range(1, 40)), kernel="ipykernel7")
    document.cells[30]["id"] = "proposed"
    error = nbformat.v4.new_output("error", ename="NameError", evalue="no x", traceback=["NameError: no x"])
    document.cells[20].update(outputs=[error], execution_count=7)
    lab.open("windowed.ipynb", document)
    lab.run_cells(1)
    side = Side(lab.page)
    with lab.layout_saved("agentnb-sidebar"):
        side.open()
    side.expect_chat()
    side.say(json.dumps([{"start": ["replace_cell", {"cell": "proposed", "source": "x = 0"}]}, {"end": 1}]))
    bar = lab.panel.locator(".agentnb-cell-bar")
    code = lab.panel.locator(".jp-Cell:has(.agentnb-cell-bar) .jp-Cell-inputWrapper")
    expect(bar).to_be_in_viewport(ratio=1, timeout=PATIENCE_MS)
    lab.save()
    for mode in MODES:
        set_mode(mode)
        lab.reload()
        expect(bar).to_have_attribute("data-armed", "true")
        lab.page.evaluate(SCROLL, 20)
        expect(lab.panel.locator(".agentnb-error-actions")).to_be_in_viewport()
        lab.page.evaluate(SCROLL, 0)
        expect(bar).not_to_be_in_viewport()
        lab.command("agentnb:next-cell-change")
        expect(bar).to_be_in_viewport(ratio=1)
        expect(bar.get_by_role("button", name="Accept", exact=True)).to_be_focused()
        above, below = bar.bounding_box(), code.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"], mode
    lab.page.keyboard.press("Enter")
    expect(lab.panel.locator("[data-windowed-list-index='30'] .cm-content").first).to_have_text("x = 0")
    expect(bar).to_have_count(0)
