"""A notebook of 5,000 cells, and one with two cells of the same id, in a real JupyterLab."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.conftest import ROOT

CELLS = 5_000
FAILING = 2_500
REPORTED_CELLS = 1_000
"""The number of cells, around the active one, that a page reports to the kernel."""
LONGEST_MESSAGE = 600_000
"""The most characters of a message about the notebook: 200,000 of sources, plus the other data of 1,000 cells."""
SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/fixes_cells.py")!r}]
session = agentnb.start(command=agent, title="Fix", kernel_tools=True, permissions="ask")"""
FAIL = "total, count = 4, 0\ntotal / count"
FIXED = "total, count = 4, 0\ntotal / count if count else 0.0"
LISTEN = """() => {
  window.told = [];
  window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
    const { method, params } = msg.content?.data ?? {};
    if (direction === "send" && method === "notebook")
      window.told.push([params.cells?.length ?? 0, JSON.stringify(params).length]);
  });
}"""
"""Records the number of cells and of characters in each of the page's messages about the notebook."""
GO = """async (index) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = index;
  await content.scrollToItem(index, "center");
}"""
DOUBLED = """(source) => {
  const shared = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
  const [, first] = shared.cells;
  shared.insertCell(2, { id: first.id, cell_type: "code", metadata: { trusted: true }, outputs: [], source });
  return shared.cells.filter(({ id }) => id === first.id).length;
}"""
"""Inserts a cell with the second cell's id; the server would give it another id when it reads the file."""


def reports(lab: Lab) -> list[tuple[int, int]]:
    """Returns the page's messages about the notebook since the last call: cells and characters of each."""
    return [(cells, size) for cells, size in lab.page.evaluate("() => window.told.splice(0)")]


def run_at(lab: Lab, index: int) -> None:
    lab.page.evaluate(GO, index)
    lab.command("notebook:run-cell")


def fix_by_keyboard(lab: Lab, button: Locator) -> None:
    """Press *Fix with agent*; a large notebook may scroll under the mouse."""
    button.wait_for(timeout=PATIENCE_MS)
    button.focus()
    lab.page.keyboard.press("Enter")


def chips(side: Side) -> Locator:
    """Returns the chips of the message's mentions."""
    return side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")


def fixing(lab: Lab) -> Locator:
    """The buttons in the corners of failed cells."""
    return lab.panel.get_by_role("button", name="Fix with agent", exact=True)


def test_large_notebook_and_duplicate_cell_ids_stay_usable(lab: Lab, side: Side) -> None:
    cells = [f"value_{number} = {number}" for number in range(CELLS)]
    cells[0], cells[FAILING] = SETUP, FAIL
    lab.open("large.ipynb", notebook(*cells, kernel="ipykernel7"))
    lab.page.evaluate(LISTEN)
    lab.run_cells(1)
    run_at(lab, FAILING)
    fix_by_keyboard(lab, fixing(lab))
    side.expect_chat()
    bar = lab.panel.locator(".agentnb-cell-bar")
    expect(bar).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    expect(side.question).to_contain_text("Waiting in [2] →", timeout=PATIENCE_MS)
    lab.picture("large-notebook")
    all_reports = reports(lab)
    assert max(cells for cells, _ in all_reports) == REPORTED_CELLS
    assert max(size for _, size in all_reports) < LONGEST_MESSAGE

    side.box.press_sequentially("Is @cell:2 like @cell:1 ?")
    expect(chips(side)).to_have_count(2, timeout=PATIENCE_MS)
    assert reports(lab) == []
    chips(side).nth(0).click()
    expect(side.chat.locator(".mention-preview pre")).to_contain_text("total / count", timeout=PATIENCE_MS)
    side.box.fill("")
    bar.get_by_role("button", name="Accept", exact=True).press("Enter")
    expect(side.chat.locator(".change-counts")).to_have_text("1 cell", timeout=PATIENCE_MS)
    assert sources(lab)[FAILING - 1 : FAILING + 2] == [cells[FAILING - 1], FIXED, cells[FAILING + 1]]
    assert max((size for _, size in reports(lab)), default=0) < LONGEST_MESSAGE

    doubled_ids_stay_usable(lab, side)


def doubled_ids_stay_usable(lab: Lab, side: Side) -> None:
    """The failed and the active one of two cells with one id are clear; a change is refused."""
    lab.open_too("doubled.ipynb", notebook(SETUP, "first / second", kernel="ipykernel7"))
    assert lab.page.evaluate(DOUBLED, FAIL) == 2
    run_at(lab, 0)
    lab.cell(0).expect_done(1)
    run_at(lab, 2)
    lab.cell(2).expect_done(2)
    fix_by_keyboard(lab, fixing(lab))
    side.expect_chat()
    side.expect_text("The divisor in cell 2 was 0.")
    expect(side.chat.locator(".permission")).to_have_count(0)
    assert sources(lab)[1:] == ["first / second", FAIL]
    side.box.fill("And @cell ?")
    chips(side).first.click()
    expect(side.chat.locator(".mention-preview pre")).to_contain_text("total / count", timeout=PATIENCE_MS)
    expect(side.chat.locator(".mention-preview pre")).not_to_contain_text("first / second")
    lab.picture("doubled-ids")
