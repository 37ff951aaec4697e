"""``@cell``, ``@cell:3``, ``@cells`` and ``@selection`` when a page reports its notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.errors import UnknownMention
from agentnb.ipython.cells import LONGEST
from agentnb.ipython.mentions import MOST_SELECTED, attachments
from agentnb.kernel.code_runner import NotebookCell
from agentnb.server.comm.notebook import PageNotebook
from agentnb.state import SimpleMessageAttachment
from tests.unit.ipython.scopes import scope_with

CELLS = (
    NotebookCell(id="a", kind="markdown", count=None, source="# Title"),
    NotebookCell(id="b", kind="code", count=3, source="x = 2  # edited"),
    NotebookCell(id="c", kind="code", count=None, source="never_run()"),
)
NOTEBOOK = PageNotebook(path="n.ipynb", active="c", selection="never", cells=CELLS)


def attached(mention: str, tmp_path: Path, notebook: PageNotebook | None = NOTEBOOK, **variables: object) -> str:
    cells, outputs = ("", "old", "old", "x = 2"), {3: "two"}
    scope = scope_with(tmp_path, variables, cells, outputs, notebook)
    (attachment,) = attachments(f"Look at {mention}!", [], scope)
    assert isinstance(attachment, SimpleMessageAttachment)
    return attachment.model_representation or ""


def test_cell_mention_uses_history_when_no_cell_has_the_number(tmp_path: Path) -> None:
    assert attached("@cell:1", tmp_path) == "In [1]:\nold"


def test_long_notebook_is_cut_around_the_active_cell(tmp_path: Path) -> None:
    long = [NotebookCell(id=str(n), kind="code", count=None, source=f"cell{n} " + "y" * 3_000) for n in range(20)]
    text = attached("@cells", tmp_path, PageNotebook(path="n", active="10", cells=tuple(long)))
    assert "cell10" in text
    assert "cell0 " not in text
    assert "cells left out" in text
    assert len(text) < LONGEST + 200


@pytest.mark.parametrize("name", ["cell", "selection"])
def test_mention_without_a_page_says_how_to_open_one(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownMention, match="sidebar"):
        attached(f"@{name}", tmp_path, None)


def test_selection_without_text_attaches_the_selected_cells(tmp_path: Path) -> None:
    """Each is its own attachment, with outputs, in the notebook's order; otherwise the active cell."""
    scope = scope_with(tmp_path, {}, outputs={3: "two"}, notebook=replace(NOTEBOOK, selection=""))
    assert [each.label for each in attachments("@selection", [], scope)] == ["selection"]
    selected = replace(NOTEBOOK, selection="", selected=("b", "a"))
    both = scope_with(tmp_path, {}, outputs={3: "two"}, notebook=selected)
    selected_cells = [
        (each.label, getattr(each, "model_representation", "")) for each in attachments("@selection", [], both)
    ]
    assert selected_cells == [
        ("selection", "Markdown cell:\n# Title"),
        ("selection 2", "In [3]:\nx = 2  # edited\nOut[3]:\ntwo"),
    ]


def test_selection_of_many_cells_is_cut_and_counts_the_rest(tmp_path: Path) -> None:
    cells = tuple(
        NotebookCell(id=f"c{n}", kind="markdown", count=None, source=str(n)) for n in range(MOST_SELECTED + 5)
    )
    selected = tuple(each.id for each in cells)
    scope = scope_with(tmp_path, {}, notebook=PageNotebook(path="n", selected=selected, cells=cells))
    *_, last = attachments("@selection", [], scope)
    assert getattr(last, "model_representation", "") == "5 more cells are selected; left out."


def test_cell_that_has_not_run_is_found_by_its_id_prefix(tmp_path: Path) -> None:
    cells = tuple(NotebookCell(id=f"{n}234-abcd", kind="code", count=None, source=f"x{n}") for n in "56")
    notebook = PageNotebook(path="n", cells=cells)
    assert attached("@cell:5234-ab", tmp_path, notebook) == "Code cell, not run:\nx5"
    assert attached("@cell:6234", tmp_path, notebook) == "Code cell, not run:\nx6"
    with pytest.raises(UnknownMention):
        attached("@cell:234-", tmp_path, notebook)


def test_cells_with_the_same_id_stay_separate(tmp_path: Path) -> None:
    """``@cells`` has both, and ``@cell`` is the active one."""
    cells = tuple(NotebookCell(id="same", kind="code", count=None, source=source) for source in ("one()", "two()"))
    notebook = PageNotebook(path="n", active="same", active_at=1, cells=cells)
    assert attached("@cell", tmp_path, notebook) == "Code cell, not run:\ntwo()"
    assert attached("@cells", tmp_path, notebook) == "Code cell, not run:\none()\n\nCode cell, not run:\ntwo()"
