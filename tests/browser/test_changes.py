"""The changes of a turn in a real JupyterLab: review, undo and redo."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb, pandas
x, prices = 1, pandas.DataFrame({{"price": [1.5, 2.0]}})
same = prices
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Fit", cwd="changed", kernel_tools=True, permissions="allow")"""
OLD = "import numpy\n\nslope = 1\n"
NEW = "import numpy\n\nslope = 2\nprint(slope)\n"
COUNTS = "2 files 3 lines added, 1 removed+3\u2009−1 · 2 cells · 3 variables"
VARIABLES = ("prices", "same", "x")
PRICES = "[list(same.columns), same is prices]"
LOOKS = (("Dark", 1_200), ("Dark", 320), ("Light", 420))
REVIEW = """async () => (await axe.run('.agentnb-review', { resultTypes: ['violations'] })).violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary)])"""
"""axe-core's serious and critical findings in the side-by-side diff."""


def call(tool: str, **arguments: str) -> list[dict[str, object]]:
    """Steps for one kernel tool call."""
    return [{"start": [tool, arguments]}, {"end": 1}]


SAVE = "() => void window.jupyterapp.shell.currentWidget.context.save().catch(() => {})"
SAVED_OR_ASKED = (
    "() => !window.jupyterapp.shell.currentWidget.context.model.dirty || document.querySelector('.jp-Dialog')"
)
"""True if the notebook is saved or JupyterLab shows a dialog about its file."""

STEPS = [
    {"write": ["fit.py", NEW]},
    {"write": ["report.md", "# Fit\n"]},
    *call("replace_cell", cell="2", source="a = 10"),
    *call("replace_cell", cell="3", source="b = 20"),
    *call("run_code", code="x = 2\nprices['tax'] = prices.price * 2"),
]


def test_review_undoes_and_redoes_the_changes_of_a_turn(lab: Lab, side: Side) -> None:
    """The agent's files, cells and a variable: undo one, undo all, redo all."""
    folder = lab.server.folder / "changed"
    folder.mkdir()
    (folder / "fit.py").write_text(OLD, encoding="utf-8")
    lab.open("changes.ipynb", notebook(SETUP, "a = 1", "b = 2", kernel="ipykernel7"))
    lab.run_cells(3)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS))
    bar = lab.panel.locator(".agentnb-cell-bar")
    for link in ("Waiting in [2] →", "Waiting in [3] →"):
        expect(side.chat.locator(".waiting-link")).to_contain_text(link, timeout=PATIENCE_MS)
        expect(bar).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
        bar.get_by_role("button", name="Accept", exact=True).click()
    counts = side.chat.locator(".change-counts")
    expect(counts).to_have_text(COUNTS, timeout=PATIENCE_MS)
    assert sources(lab)[1:] == ["a = 10", "b = 20"]

    button(side, "Review").click()
    rows = side.chat.locator(".change .path")
    expect(rows).to_have_text(
        ["fit.py", "report.md", "In [2]: a = 10", "In [3]: b = 20", *VARIABLES], timeout=PATIENCE_MS
    )
    review = lab.page.locator(".agentnb-review:visible")
    expect(review.locator(".cm-merge-b")).to_contain_text("print(slope)", timeout=PATIENCE_MS)
    expect(review.locator("option")).to_have_text(["fit.py", "report.md", "In [2]: a = 10", "In [3]: b = 20"])
    lab.picture("changes")
    for theme, width in LOOKS:
        lab.theme(f"JupyterLab {theme}")
        side.resize(width)
        assert (theme, width, serious(lab.page), lab.page.evaluate(REVIEW)) == (theme, width, [], [])
        lab.picture(f"changes-{theme.lower()}-{width}")

    button(side, "Undo fit.py").click()
    expect(button(side, "Redo fit.py")).to_be_focused(timeout=PATIENCE_MS)
    assert (folder / "fit.py").read_text(encoding="utf-8") == OLD
    button(side, "Undo").click()
    expect(button(side, "Redo")).to_be_focused(timeout=PATIENCE_MS)
    assert not (folder / "report.md").exists()
    lab.page.get_by_role("tab", name="changes.ipynb").click()
    assert sources(lab)[1:] == ["a = 1", "b = 2"]
    lab.expect_in_kernel("x", 1)
    lab.expect_in_kernel(PRICES, [["price"], True])

    button(side, "Redo").click()
    expect(button(side, "Undo")).to_be_focused(timeout=PATIENCE_MS)
    assert (folder / "fit.py").read_text(encoding="utf-8") == NEW
    assert (folder / "report.md").read_text(encoding="utf-8") == "# Fit\n"
    assert sources(lab)[1:] == ["a = 10", "b = 20"]
    lab.expect_in_kernel("x", 2)
    lab.expect_in_kernel(PRICES, [["price", "tax"], True])

    expect_buttons_side_by_side(lab, folder / "fit.py")

    assert lab.clear()
    expect(lab.page.locator(".agentnb-review")).to_have_count(0)


def expect_buttons_side_by_side(lab: Lab, file: Path) -> None:
    """Undoes, redoes and keeps a change of *file* beside its diff, by keyboard."""
    lab.page.get_by_role("tab", name=re.compile("^Changes: ")).click()
    review = lab.page.locator(".agentnb-review:visible")
    review.get_by_role("button", name="Undo fit.py").press("Enter")
    expect(review.get_by_role("button", name="Redo fit.py")).to_be_focused(timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == OLD
    expect(review.locator(".agentnb-review-said")).to_have_text("undone")
    assert lab.page.evaluate(REVIEW) == []
    lab.page.keyboard.press("Enter")
    expect(review.get_by_role("button", name="Undo fit.py")).to_be_focused(timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == NEW
    review.get_by_role("button", name="Keep fit.py").press("Enter")
    expect(review.get_by_role("combobox", name="Change", exact=True)).to_be_focused(timeout=PATIENCE_MS)
    expect(review.locator(".agentnb-review-said")).to_have_text("kept")


def test_notebook_saved_during_a_turn_is_not_a_file_change(lab: Lab, side: Side) -> None:
    """Undo reverts the agent's change of a file and a cell, not the user's text."""
    setup = SETUP.replace("changed", ".").replace('"allow"', '"ask"')
    lab.open("own.ipynb", notebook(setup, "a = 1", "", kernel="ipykernel7"))
    lab.run_cells(2)
    lab.save()
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"write": ["fit.py", NEW]}, *call("replace_cell", cell="2", source="a = 10")]))
    bar = lab.panel.locator(".agentnb-cell-bar")
    expect(bar).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.cell(2).write("mine = 3")
    lab.save()
    bar.get_by_role("button", name="Accept", exact=True).click()
    button(side, "Review").click()
    rows = side.chat.locator(".change")
    expect(rows.locator(".path")).to_have_text(["fit.py", "In [2]: a = 10"], timeout=PATIENCE_MS)
    expect(rows.nth(0)).to_have_attribute("title", "while the agent worked")
    expect(rows.nth(1)).not_to_have_attribute("title", re.compile("while the agent worked"))

    button(side, "Undo").click()
    side.expect_text("1 file and 1 cell were undone.")
    assert not (lab.server.folder / "fit.py").exists()
    assert "mine = 3" in (lab.server.folder / "own.ipynb").read_text(encoding="utf-8")
    lab.page.get_by_role("tab", name="own.ipynb").click()
    assert sources(lab)[1:] == ["a = 1", "mine = 3"]


LONG = "".join(f"line {number}\n" for number in range(60))
EDITED = LONG.replace("line 5\n", "line five\n").replace("line 50\n", "")


def test_review_keeps_undoes_and_redoes_parts_of_a_file(lab: Lab, side: Side) -> None:
    folder = lab.server.folder / "parts"
    folder.mkdir()
    file = folder / "long.txt"
    file.write_text(LONG, encoding="utf-8")
    lab.open("parts.ipynb", notebook(SETUP.replace("changed", "parts"), kernel="ipykernel7"))
    lab.run_cells(1)
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"write": ["long.txt", EDITED]}]))
    button(side, "Review").click(timeout=PATIENCE_MS)
    review = lab.page.locator(".agentnb-review:visible")
    bars = review.locator(".agentnb-hunk-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    serious(lab.page)  # loads axe-core for REVIEW
    assert lab.page.evaluate(REVIEW) == []
    lab.picture("hunks")
    review.get_by_role("button", name="Undo part 1 of 2").press("Enter")
    expect(bars).to_have_count(1, timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == LONG.replace("line 50\n", "")
    expect(review.get_by_role("button", name="Keep part 1 of 1")).to_be_focused()
    review.get_by_role("button", name="Redo part").click()
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == EDITED
    review.get_by_role("button", name="Keep part 1 of 2").click()
    expect(bars).to_have_count(1, timeout=PATIENCE_MS)
    review.get_by_role("button", name="Keep part 1 of 1").click()
    expect(review.locator(".agentnb-review-said")).to_have_text("kept", timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == EDITED


def test_cells_written_to_the_file_apply_to_the_open_notebook(lab: Lab, side: Side) -> None:
    """A click applies them; then JupyterLab saves the notebook without a question."""
    lab.open("written.ipynb", notebook(SETUP.replace("changed", "."), "a = 1", "b = 2", kernel="ipykernel7"))
    lab.run_cells(1)
    lab.save()
    file = lab.server.folder / "written.ipynb"
    text = file.read_text(encoding="utf-8").replace("a = 1", "a = 10")
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"write": [str(file), text]}]))
    side.expect_text("The agent wrote written.ipynb directly while it is open here.")
    assert sources(lab)[1:] == ["a = 1", "b = 2"]
    button(side, "Review").click()
    button(side, "Apply to the notebook").click()
    side.expect_text("1 cell was applied.")
    assert sources(lab)[1:] == ["a = 10", "b = 2"]
    lab.page.get_by_role("tab", name="written.ipynb").click()
    lab.page.evaluate(SAVE)
    lab.page.wait_for_function(SAVED_OR_ASKED)
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
    assert "a = 10" in file.read_text(encoding="utf-8")


def button(side: Side, name: str) -> Locator:
    return side.session.get_by_role("button", name=name, exact=True)
