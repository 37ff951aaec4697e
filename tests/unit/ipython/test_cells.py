"""``@cell``, ``@cell:3``, ``@cells`` and ``@selection`` where a page tells of its notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.comm.notebook import Notebook, NotebookCell
from agentnb.errors import UnknownMention
from agentnb.ipython.cells import LONGEST
from agentnb.ipython.mentions import Scope, attachments
from agentnb.state import SimpleMessageAttachment

CELLS = (
    NotebookCell(id="a", kind="markdown", count=None, source="# Title"),
    NotebookCell(id="b", kind="code", count=3, source="x = 2  # edited"),
    NotebookCell(id="c", kind="code", count=None, source="never_run()"),
)
NOTEBOOK = Notebook(path="n.ipynb", active="c", selection="never", cells=CELLS)


def attached(mention: str, tmp_path: Path, notebook: Notebook | None = NOTEBOOK, **variables: object) -> str:
    """The text that a mention attaches."""
    cells, outputs = ("", "old", "old", "x = 2"), {3: "two"}
    scope = Scope(variables=variables, cells=cells, outputs=outputs, cwd=tmp_path, notebook=notebook)
    (found,) = attachments(f"Look at {mention}!", [], scope)
    assert isinstance(found, SimpleMessageAttachment)
    return found.model_representation or ""


def test_cell_is_the_active_one_run_or_not(tmp_path: Path) -> None:
    """Its kind and its text as it reads now."""
    assert attached("@cell", tmp_path) == "Code cell, not run:\nnever_run()"


def test_a_number_means_the_cell_as_it_reads_now_with_its_result(tmp_path: Path) -> None:
    """Not the text that was run."""
    assert attached("@cell:3", tmp_path) == "In [3]:\nx = 2  # edited\nOut[3]:\ntwo"


def test_a_number_that_no_cell_has_any_longer_means_what_was_run(tmp_path: Path) -> None:
    """The cell was run again since, or deleted."""
    assert attached("@cell:1", tmp_path) == "In [1]:\nold"


def test_cells_are_all_of_them_in_their_order(tmp_path: Path) -> None:
    """Markdown and cells that were never run included."""
    text = attached("@cells", tmp_path)
    assert text.index("# Title") < text.index("x = 2") < text.index("never_run")


def test_of_a_long_notebook_the_cells_round_the_active_one_are_kept(tmp_path: Path) -> None:
    """What is left out is said."""
    long = [NotebookCell(id=str(n), kind="code", count=None, source=f"cell{n} " + "y" * 3_000) for n in range(20)]
    text = attached("@cells", tmp_path, Notebook(path="n", active="10", cells=tuple(long)))
    assert "cell10" in text
    assert "cell0 " not in text
    assert "cells left out" in text
    assert len(text) < LONGEST + 200


def test_selection_is_what_is_selected(tmp_path: Path) -> None:
    """Unless a variable has that name."""
    assert attached("@selection", tmp_path) == "never"
    assert "int" in attached("@selection", tmp_path, selection=1)


@pytest.mark.parametrize("name", ["cell", "selection"])
def test_without_a_page_the_error_says_how_to_get_one(name: str, tmp_path: Path) -> None:
    """The kernel alone knows only what was run."""
    with pytest.raises(UnknownMention, match="sidebar"):
        attached(f"@{name}", tmp_path, None)
