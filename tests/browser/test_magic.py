"""``%agent`` in a cell of a real JupyterLab, on both kernels whose running cells get clicks."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook

LOAD = "%load_ext agentnb"
SILENT = "I am silent until you cancel."


def opened(lab: Lab, name: str, kernel: str, *cells: str) -> list[Cell]:
    """Opens a notebook, runs its first cell (it loads the magics), returns the others."""
    lab.open(f"{name}-{kernel}.ipynb", notebook(LOAD, *cells, kernel=kernel))
    lab.run_cells(1)
    return [lab.cell(index) for index in range(1, len(cells) + 1)]


def test_running_cell_streams_and_takes_allow_reject_and_stop(lab: Lab, kernel_name: str) -> None:
    """Text streams and clicks work while the cell runs; afterwards the answer is plain markdown."""
    cells = ("%agent /slow 100000 20", "%agent /ask edit", "%agent /ask execute", "%agent /hang")
    streaming, allowed, rejected, silent = opened(lab, "clicks", kernel_name, *cells)
    streaming.run()
    streaming.expect_text(re.compile("1 2 3"))
    streaming.expect_running()
    streaming.button("Stop").click()
    streaming.expect_done(2)
    streaming.expect_static(re.compile("1 2 3"))

    allowed.run()
    allowed.button("Allow once").wait_for(timeout=PATIENCE_MS)
    allowed.expect_running()
    lab.picture(f"permission-{kernel_name}")
    allowed.button("Allow once").click()
    allowed.expect_done(3)
    allowed.expect_static(re.compile("You chose"))
    expect(allowed.markdown).to_contain_text("done · allowed")

    rejected.run()
    rejected.button("Reject once").click()
    rejected.expect_done(4)
    rejected.expect_static(re.compile("I leave it"))

    silent.run()
    silent.expect_text(SILENT)
    silent.button("Stop").click()
    silent.expect_done(5)
    silent.expect_static(SILENT)


def test_each_cell_keeps_its_turn_and_interrupt_prints_one_line(lab: Lab, kernel_name: str) -> None:
    """Each prompt ends in its own cell, also in the background; an interrupt drops the queued."""
    cells = (
        "%agent /say the first answer",
        "%agent /say the second answer",
        "%agent --background /slow 40 50",
        "6 * 7",
        "%agent /hang",
        "ran = True",
        "'ran' in globals()",
    )
    first, second, background, beside, silent, queued, after = opened(lab, "turns", kernel_name, *cells)
    for cell in (first, second, background, beside):
        cell.run()
    beside.expect_text("42")
    first.expect_static("the first answer")
    second.expect_static("the second answer")
    expect(first.output).not_to_contain_text("the second answer")
    expect(second.output).not_to_contain_text("the first answer")
    background.expect_static(re.compile("38 39 40"))

    silent.run()
    silent.expect_text(SILENT)
    queued.run()
    lab.interrupt()
    silent.expect_done(6)
    expect(silent.output).not_to_contain_text("Traceback")
    error = silent.output.locator("[data-mime-type='application/vnd.jupyter.stderr']")
    expect(error).to_have_count(1)
    assert len(error.inner_text().strip().splitlines()) == 1
    after.run()
    after.expect_text("False")


def test_saved_answers_stay_readable_in_a_new_kernel(lab: Lab, kernelspecs: object) -> None:
    """After a restart prompts work as before; in a new kernel the answers are still readable."""
    first_cell, talked = opened(lab, "reopen", "ipykernel7", "%agent /say before", "")
    first_cell.run()
    first_cell.expect_static("before")
    lab.restart()
    lab.run_cells(1)
    first_cell.write("%agent /ask edit")
    talked.write("%agent Hello, my fit does not converge. Why?")
    first_cell.run()
    first_cell.button("Allow once").click()
    first_cell.expect_done(2)
    talked.run()
    talked.expect_done(3)
    first_cell.expect_static(re.compile("You chose"))
    answer = talked.markdown.inner_text()
    lab.reopen()
    first_cell.expect_static(re.compile("You chose"))
    talked.expect_static(re.compile(re.escape(answer.splitlines()[-1])))
    expect(lab.panel).not_to_contain_text("model not found")
    expect(lab.panel).not_to_contain_text("Error displaying widget")
    lab.picture("reopened")
