"""``%agent`` in a cell of a real JupyterLab, on both kernels."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook

LOAD = "%load_ext agentnb"
DECISIONS = {"Allow once": "allow_once", "Reject once": "reject_once"}


def opened(lab: Lab, name: str, kernel: str, *cells: str) -> None:
    """Open a notebook whose first cell, already run, loads the magics."""
    lab.open(f"{name}-{kernel}.ipynb", notebook(LOAD, *cells, kernel=kernel))
    first = lab.cell(0)
    first.run()
    first.expect_done(1)


def test_an_answer_streams_into_the_cell_and_ends_as_static_markdown(lab: Lab, kernel_name: str) -> None:
    """Words are seen while the cell still runs, as it does until it is stopped; afterwards they are plain markdown."""
    opened(lab, "stream", kernel_name, "%agent /slow 100000 20")
    cell = lab.cell(1)
    cell.run()
    cell.expect_text(re.compile("1 2 3"))
    expect(cell.prompt).to_have_text("[*]:")
    lab.picture(f"streaming-{kernel_name}")
    cell.button("Stop").click()
    cell.expect_done(2)
    cell.expect_static(re.compile("1 2 3"))


def test_a_permission_is_given_by_a_click_while_the_cell_runs(lab: Lab, kernel_name: str) -> None:
    """The agent asks, the user clicks, the same cell goes on; the decision is kept in the transcript."""
    opened(lab, "allow", kernel_name, "%agent /ask edit")
    cell = lab.cell(1)
    cell.run()
    allow = cell.button("Allow once")
    expect(allow).to_be_visible(timeout=PATIENCE_MS)
    expect(cell.prompt).to_have_text("[*]:")
    lab.picture(f"permission-{kernel_name}")
    allow.click()
    cell.expect_done(2)
    cell.expect_static(re.compile("You chose"))
    expect(cell.markdown).to_contain_text("done · allowed")


def test_a_permission_is_refused_by_a_click(lab: Lab, kernel_name: str) -> None:
    """Refusing answers the agent with its own option; the turn ends by itself."""
    opened(lab, "reject", kernel_name, "%agent /ask execute")
    cell = lab.cell(1)
    cell.run()
    cell.button("Reject once").click()
    cell.expect_done(2)
    cell.expect_static(re.compile("I leave it"))


def test_the_stop_button_cancels_the_turn(lab: Lab, kernel_name: str) -> None:
    """A silent agent is stopped from its card; the cell ends without an error and the next one runs."""
    opened(lab, "stop", kernel_name, "%agent /hang", "6 * 7")
    cell, after = lab.cell(1), lab.cell(2)
    cell.run()
    cell.expect_text("I am silent until you cancel.")
    cell.button("Stop").click()
    cell.expect_done(2)
    cell.expect_static(re.compile("I am silent until you cancel"))
    after.run()
    after.expect_text("42")


def test_an_interrupt_cancels_the_turn_with_one_clean_line(lab: Lab, kernel_name: str) -> None:
    """The toolbar's stop button ends the cell with one line, no traceback; cells queued behind it do not run."""
    opened(lab, "interrupt", kernel_name, "%agent /hang", "ran = True", "'ran' in globals()")
    cell, queued, after = lab.cell(1), lab.cell(2), lab.cell(3)
    cell.run()
    cell.expect_text("I am silent until you cancel.")
    queued.run()
    lab.interrupt()
    cell.expect_done(2)
    expect(cell.output).not_to_contain_text("Traceback")
    error = cell.output.locator("[data-mime-type='application/vnd.jupyter.stderr']")
    expect(error).to_have_count(1)
    assert len(error.inner_text().strip().splitlines()) == 1
    after.run()
    after.expect_text("False")


def test_a_background_turn_leaves_the_kernel_free(lab: Lab, kernel_name: str) -> None:
    """``--background`` returns at once; other cells run while the answer streams into the first."""
    opened(lab, "background", kernel_name, "%agent --background /slow 40 50", "6 * 7")
    cell, after = lab.cell(1), lab.cell(2)
    cell.run()
    cell.expect_done(2)
    after.run()
    after.expect_text("42")
    cell.expect_static(re.compile("38 39 40"))


def test_two_cells_keep_their_own_turns(lab: Lab, kernel_name: str) -> None:
    """Two prompts of one session end in their own cells, in order."""
    opened(lab, "two", kernel_name, "%agent /say the first answer", "%agent /say the second answer")
    first, second = lab.cell(1), lab.cell(2)
    first.run()
    second.run()
    second.expect_done(3)
    first.expect_static("the first answer")
    second.expect_static("the second answer")
    expect(first.output).not_to_contain_text("the second answer")
    expect(second.output).not_to_contain_text("the first answer")


def test_the_answer_outlives_the_kernel(lab: Lab, kernel_name: str) -> None:
    """Prompts typed, a permission, save; reopened in a new page with a new kernel the answer still reads."""
    opened(lab, "reopen", kernel_name, "", "")
    asked, talked = lab.cell(1), lab.cell(2)
    asked.write("%agent /ask edit")
    talked.write("%agent Hello, my fit does not converge. Why?")
    asked.run()
    asked.button("Allow once").click()
    asked.expect_done(2)
    talked.run()
    talked.expect_done(3)
    asked.expect_static(re.compile("You chose"))
    said = talked.markdown.inner_text()
    lab.reopen()
    lab.cell(1).expect_static(re.compile("You chose"))
    lab.cell(2).expect_static(re.compile(re.escape(said.splitlines()[-1])))
    expect(lab.panel).not_to_contain_text("model not found")
    expect(lab.panel).not_to_contain_text("Error displaying widget")
    lab.picture(f"reopened-{kernel_name}")


def test_after_a_restart_the_magic_works_again(lab: Lab, kernel_name: str) -> None:
    """A restarted kernel starts fresh; its new front end is live although the page is the same."""
    opened(lab, "restart", kernel_name, "%agent /say before", "%agent /ask edit")
    lab.cell(1).run()
    lab.cell(1).expect_static("before")
    lab.restart()
    lab.run_cells(1)
    cell = lab.cell(2)
    cell.run()
    cell.button("Allow once").click()
    cell.expect_done(2)
    cell.expect_static(re.compile("You chose"))


def test_an_unknown_agent_is_named_with_the_remedy(lab: Lab, kernel_name: str) -> None:
    """The error is one readable line that names the agent; the kernel lives on."""
    opened(lab, "unknown", kernel_name, "%agent -a elisa Hello", "%agent /say still here")
    cell, after = lab.cell(1), lab.cell(2)
    cell.run()
    cell.expect_done(2)
    expect(cell.output).to_contain_text("elisa")
    expect(cell.output).to_contain_text("eliza")
    expect(cell.output).not_to_contain_text("Traceback")
    after.run()
    after.expect_static("still here")
