"""Cells that an agent changes with the tools: their records, and undo and redo in the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentnb.errors import ChangesError, KernelChangesConflict
from agentnb.kernel.cell_changes import CellRecord
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import OWNER, Tools


@pytest.fixture
def page(tools: Tools) -> Iterator[NotebookPage]:
    """A page that shows a notebook with two cells, in the first turn of a conversation."""
    made = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    tools.changes.begin("turn-1")
    yield made
    made.close()


def cell_records(tools: Tools) -> dict[str, CellRecord]:
    return {each.id: each for each in tools.changes.end("turn-1") if isinstance(each, CellRecord)}


def undo(tools: Tools, *ids: str, **choices: Any) -> tuple[str, ...]:
    chosen = {f"cell:{name}": choice for name, choice in choices.items()}
    return tools.during(tools.changes.undo("turn-1", [f"cell:{name}" for name in ids], choices=chosen))


def redo(tools: Tools, *ids: str) -> tuple[str, ...]:
    return tools.during(tools.changes.redo("turn-1", [f"cell:{name}" for name in ids]))


def test_turn_records_each_changed_cell_once(tools: Tools, page: NotebookPage) -> None:
    """The record compares before and after the turn: inserted and then replaced is added."""
    tools.call("insert_cell", source="# Fit", below="a", cell_type="markdown")
    tools.call("replace_cell", cell="new-1", source="# The fit")
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.call("replace_cell", cell="b", source="y = 4")
    added, changed = cell_records(tools).values()
    assert (added.id, added.status, added.before) == ("cell:new-1", "added", None)
    assert (added.name, added.notebook) == ("Markdown cell: # The fit", "fit.ipynb")
    assert (added.after, added.kind) == ("# The fit", "markdown")
    assert (changed.id, changed.status, changed.refusal) == ("cell:b", "changed", None)
    assert (changed.before, changed.after) == ("y = 2", "y = 4")


@pytest.mark.parametrize("gone", [False, True])
def test_undo_conflicts_when_the_user_changed_the_cell(tools: Tools, page: NotebookPage, gone: bool) -> None:
    """It has all three texts and changes nothing; a choice decides, and redo restores the user's text."""
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.call("insert_cell", source="z")
    if gone:
        page.remove("b")
    else:
        page.type("b", "y = mine")
    now = page.texts()
    with pytest.raises(KernelChangesConflict, match="is other than the turn left it") as raised:
        undo(tools, "new-1", "b")
    (conflict,) = raised.value.conflicts
    assert (conflict.id, conflict.base, conflict.target) == ("cell:b", "y = 3", "y = 2")
    assert conflict.current == (None if gone else "y = mine")
    assert page.texts() == now
    assert undo(tools, "new-1", "b", b="mine") == ("cell:new-1",)
    assert page.texts() == {name: text for name, text in now.items() if name != "new-1"}
    assert undo(tools, "b", b="theirs") == ("cell:b",)
    assert page.texts() == {"a": "x = 1", "b": "y = 2"}
    redo(tools, "b")
    assert page.texts().get("b") == now.get("b")


def test_undo_keeps_text_the_user_typed_between_two_edits(tools: Tools, page: NotebookPage) -> None:
    """Undo restores the text that the user wrote, and deletes no cell that they changed."""
    tools.call("insert_cell", source="z = 1")
    page.type("new-1", "z = mine")
    tools.call("cells")
    tools.call("replace_cell", cell="new-1", source="z = 3")
    undo(tools, "new-1")
    assert page.texts()["new-1"] == "z = mine"


def test_cell_change_that_the_user_reverted_counts_as_undone(tools: Tools, page: NotebookPage) -> None:
    tools.call("replace_cell", cell="b", source="y = 3")
    page.type("b", "y = 2")
    assert undo(tools, "b") == ("cell:b",)
    assert page.steps == 0
    redo(tools, "b")
    assert page.texts()["b"] == "y = 3"


def test_kept_cell_cannot_be_undone(tools: Tools, page: NotebookPage) -> None:
    """If the agent changes it again, undo restores the kept text."""
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.changes.keep("turn-1", ["cell:b"])
    with pytest.raises(ChangesError, match="It was kept"):
        undo(tools, "b")
    tools.call("replace_cell", cell="b", source="y = 4")
    undo(tools, "b")
    assert page.texts()["b"] == "y = 3"


def test_undo_changes_no_cell_when_a_variable_conflicts(tools: Tools, page: NotebookPage) -> None:
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.call("run_code", code="n = 1")
    tools.shell.run_cell("n = 5")
    with pytest.raises(KernelChangesConflict, match="'n'"):
        tools.during(tools.changes.undo("turn-1", ["cell:b", "variable:n"]))
    assert page.texts()["b"] == "y = 3"
    done = tools.during(tools.changes.undo("turn-1", ["cell:b", "variable:n"], choices={"variable:n": "theirs"}))
    assert done == ("cell:b", "variable:n")
    assert (page.texts()["b"], "n" in tools.shell.user_ns) == ("y = 2", False)


def test_turn_records_variables_of_a_cell_run_for_the_agent(tools: Tools, page: NotebookPage) -> None:
    """Variables of a cell that the user runs at the same time are not, nor those of the next run."""
    tools.shell.run_cell("n = 0")
    work = tools.loop.submit(tools.tool_runner.call("run_cell", {"cell": "a"}))
    edit = page.runs.get(timeout=30)
    tools.shell.run_cell("n = 1", cell_id="b")
    tools.shell.run_cell("x = 1", cell_id="a")
    page.ran(edit)
    work.result(30)
    tools.shell.run_cell("x = 2", cell_id="a")
    assert [(each.id, each.detail) for each in tools.changes.end("turn-1")] == [("variable:x", "1")]


def test_turn_records_variables_of_a_cell_that_runs_later(tools: Tools, page: NotebookPage) -> None:
    """It waits behind the cell that waits for the turn; the owner of the changes gets it later."""
    heard: list[str] = []
    tools.changes.changed = heard.append
    with tools.job_queue.waiting(OWNER):
        result = tools.loop.submit(tools.tool_runner.call("run_cell", {"cell": "a"})).result(30)
    assert "runs as soon as the kernel is free" in result["content"][0]["text"]
    assert tools.changes.end("turn-1") == ()
    tools.shell.run_cell("x = 1", cell_id="a")
    assert heard == ["turn-1"]
    assert [each.id for each in tools.changes.end("turn-1")] == ["variable:x"]
