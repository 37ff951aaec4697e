"""A try whose agent writes the notebook's file: its cells count as cell changes, the file does not.

The inside: a file that is damaged or gone at this moment, beside a page that has unsaved cells.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentnb.kernel.code_runner import CellStep, NotebookCell, NotebookView
from agentnb.plugins.branches.notebook_copy import NotebookCopy, WrittenFile, steps_to
from agentnb.plugins.map.workspaces import IsolatedWorkspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "notes/fit.ipynb"


def content(**cells: str) -> str:
    made = [{"id": name, "cell_type": "code", "metadata": {}, "source": source} for name, source in cells.items()]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made})


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[IsolatedWorkspace]:
    (tmp_path / "notes").mkdir()
    (tmp_path / NAME).write_text(content(a="x = 1", b="x"))
    (tmp_path / "data.csv").write_text("1")
    made = IsolatedWorkspace(tmp_path)
    yield made
    made.remove()


def notebook_copy(workspace: IsolatedWorkspace, *, path: str = NAME, **cells: str) -> NotebookCopy:
    """Returns the notebook as its page has it."""
    all_cells = tuple(NotebookCell(id=name, kind="code", source=source) for name, source in cells.items())
    where = str(workspace.folder / path) if path else None
    return NotebookCopy(NotebookView(name=NAME, path=where, live=True, cells=all_cells))


def changed(notebook: NotebookCopy) -> list[tuple[str, str, str]]:
    return [(each.action, each.cell_id, each.source) for each in steps_to(notebook.before, notebook.view)]


def test_cells_written_to_the_notebook_file_are_cell_changes(workspace: IsolatedWorkspace) -> None:
    """Repeatedly, and beside changes by the notebook's tools."""
    notebook = notebook_copy(workspace, a="x = 1", b="x")
    file = WrittenFile(notebook, workspace.folder)
    assert file.take(workspace.changes()) == ((), "")
    (workspace.folder / NAME).write_text(content(a="x = 2", new="y", b="x"))
    (workspace.folder / "data.csv").write_text("22")
    others, left_out = file.take(workspace.changes())
    assert ([each.path for each in others], left_out) == (["data.csv"], "")
    assert changed(notebook) == [("replace", "a", "x = 2"), ("insert", "new", "y")]
    notebook.change([CellStep(action="replace", cell_id="b", source="x * 2", expected="x")], exact=True)
    (workspace.folder / NAME).write_text(content(a="x = 3", b="x"))
    assert file.take(workspace.changes())[1] == ""
    assert sorted(changed(notebook)) == [("replace", "a", "x = 3"), ("replace", "b", "x * 2")]


@pytest.mark.parametrize(
    "written",
    [content(a="x = 9", b="other"), content(b="x"), "{", '{"nbformat": 4, "cells": [{"cell_type": "code"}]}', None],
    ids=["another text", "deleted", "no notebook", "no ids", "gone"],
)
def test_conflicting_notebook_file_is_left_out_with_a_note(workspace: IsolatedWorkspace, written: str | None) -> None:
    """The page's cells differ from the file's, or the file cannot be read."""
    notebook = notebook_copy(workspace, a="x = 5, unsaved", b="unsaved")
    file = WrittenFile(notebook, workspace.folder)
    path = workspace.folder / NAME
    path.unlink() if written is None else path.write_text(written)
    others, left_out = file.take(workspace.changes())
    assert (others, "notes/fit.ipynb itself was left out" in left_out) == ((), True)
    assert changed(notebook) == []


def test_another_notebook_counts_as_an_ordinary_file(workspace: IsolatedWorkspace) -> None:
    for notebook in (None, notebook_copy(workspace, path=""), notebook_copy(workspace, path="other.ipynb")):
        (workspace.folder / NAME).write_text(content(a=f"x = {notebook}"))
        others, left_out = WrittenFile(notebook, workspace.folder).take(workspace.changes())
        assert ([each.path for each in others], left_out) == ([NAME], "")
