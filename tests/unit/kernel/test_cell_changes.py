"""Cells that an agent changes with the tools: their records, and undo and redo in the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentnb.errors import ChangesError, KernelChangesConflict
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import OWNER, TURN, Tools


@pytest.fixture
def page(tools: Tools) -> Iterator[NotebookPage]:
    """A page that shows a notebook with two cells, in the first turn of a conversation."""
    made = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    tools.changes.begin(TURN)
    yield made
    made.close()


def test_turn_records_each_changed_cell_once(tools: Tools, page: NotebookPage) -> None:
    """The record compares before and after the turn: inserted and then replaced is added.

    Old agents' skills have `kind` for `cell_type`.
    """
    tools.call("insert_cell", source="# Fit", below="a", kind="markdown")
    tools.call("replace_cell", cell="new-1", source="# The fit")
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.call("replace_cell", cell="b", source="y = 4")
    added, changed = tools.cells_changed().values()
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
        tools.undo("new-1", "b", kind="cell")
    (conflict,) = raised.value.conflicts
    assert (conflict.id, conflict.base, conflict.target) == ("cell:b", "y = 3", "y = 2")
    assert conflict.current == (None if gone else "y = mine")
    assert page.texts() == now
    assert tools.undo("new-1", "b", kind="cell", b="mine") == ("cell:new-1",)
    assert page.texts() == {name: text for name, text in now.items() if name != "new-1"}
    assert tools.undo("b", kind="cell", b="theirs") == ("cell:b",)
    assert page.texts() == {"a": "x = 1", "b": "y = 2"}
    tools.redo("b", kind="cell")
    assert page.texts().get("b") == now.get("b")


def test_undo_keeps_text_the_user_typed_between_two_edits(tools: Tools, page: NotebookPage) -> None:
    """Undo restores the text that the user wrote, and deletes no cell that they changed."""
    tools.call("insert_cell", source="z = 1")
    page.type("new-1", "z = mine")
    tools.call("cells")
    tools.call("replace_cell", cell="new-1", source="z = 3")
    tools.undo("new-1", kind="cell")
    assert page.texts()["new-1"] == "z = mine"


def test_cell_change_that_the_user_reverted_counts_as_undone(tools: Tools, page: NotebookPage) -> None:
    tools.call("replace_cell", cell="b", source="y = 3")
    page.type("b", "y = 2")
    assert tools.undo("b", kind="cell") == ("cell:b",)
    assert page.steps == 0
    tools.redo("b", kind="cell")
    assert page.texts()["b"] == "y = 3"


def test_kept_cell_cannot_be_undone(tools: Tools, page: NotebookPage) -> None:
    """If the agent changes it again, undo restores the kept text."""
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.changes.keep(TURN, ["cell:b"])
    with pytest.raises(ChangesError, match="It was kept"):
        tools.undo("b", kind="cell")
    tools.call("replace_cell", cell="b", source="y = 4")
    tools.undo("b", kind="cell")
    assert page.texts()["b"] == "y = 3"


def test_undo_changes_no_cell_when_a_variable_conflicts(tools: Tools, page: NotebookPage) -> None:
    tools.call("replace_cell", cell="b", source="y = 3")
    tools.call("run_code", code="n = 1")
    tools.shell.run_cell("n = 5")
    both = ["cell:b", "variable:n"]
    with pytest.raises(KernelChangesConflict, match="'n'"):
        tools.during(tools.changes.undo(TURN, both))
    assert page.texts()["b"] == "y = 3"
    assert [*tools.during(tools.changes.undo(TURN, both, choices={"variable:n": "theirs"}))] == both
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
    assert [(each.id, each.detail) for each in tools.changes.end(TURN)] == [("variable:x", "1")]


def test_turn_records_variables_of_a_cell_that_runs_later(tools: Tools, page: NotebookPage) -> None:
    """It waits behind the cell that waits for the turn; the owner of the changes gets it later."""
    heard: list[str] = []
    tools.changes.changed = heard.append
    with tools.job_queue.waiting(OWNER):
        result = tools.loop.submit(tools.tool_runner.call("run_cell", {"cell": "a"})).result(30)
    assert "runs as soon as the kernel is free" in result["content"][0]["text"]
    assert tools.changes.end(TURN) == ()
    tools.shell.run_cell("x = 1", cell_id="a")
    assert heard == [TURN]
    assert [each.id for each in tools.changes.end(TURN)] == ["variable:x"]


def test_replace_cell_works_when_another_cell_changed(tools: Tools, page: NotebookPage) -> None:
    tools.call("cells")
    page.type("a", "x = mine")
    assert not tools.call("replace_cell", cell="b", source="y = 3")["isError"]
    assert not tools.call("replace_cell", cell="b", source="y = 4")["isError"]
    assert page.texts() == {"a": "x = mine", "b": "y = 4"}


@pytest.mark.parametrize("name", ["copy.ipynb", "fit.ipynb"])
def test_replace_cell_changes_the_page_that_was_read(tools: Tools, page: NotebookPage, name: str) -> None:
    """Not a copy with the same ids that the user opens during the approval, nor another page of the notebook."""
    others: list[NotebookPage] = []

    def open_another() -> None:
        others.append(NotebookPage(name, {"a": "x = 1", "b": "y = 2"}))
        if name == page.path:
            page.tell()  # the user comes back to it

    tools.while_asked = open_another
    tools.call("replace_cell", cell="b", source="y = 3")
    (other,) = others
    assert (page.texts()["b"], other.texts()["b"]) == ("y = 3", "y = 2")
    other.close()
