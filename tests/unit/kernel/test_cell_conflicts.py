"""An agent's change of a cell that the user changed, or of a notebook that was renamed or has a copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools


@pytest.fixture
def page(tools: Tools) -> Iterator[NotebookPage]:
    """The page of the notebook that the tools work on."""
    tools.changes.begin("t1")
    notebook_page = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    yield notebook_page
    notebook_page.close()


def test_replace_cell_works_when_another_cell_changed(tools: Tools, page: NotebookPage) -> None:
    tools.call("cells")
    page.type("a", "x = mine")
    assert not tools.call("replace_cell", cell="b", source="y = 3")["isError"]
    assert not tools.call("replace_cell", cell="b", source="y = 4")["isError"]
    assert page.texts() == {"a": "x = mine", "b": "y = 4"}


def test_replace_cell_ignores_a_copy_opened_during_approval(tools: Tools, page: NotebookPage) -> None:
    """Two notebooks share the kernel; a copy has cells with the same ids."""
    copies: list[NotebookPage] = []
    tools.while_asked = lambda: copies.append(NotebookPage("copy.ipynb", {"a": "x = 1", "b": "y = 2"}))
    tools.call("replace_cell", cell="b", source="y = 3")
    (copy,) = copies
    assert (page.texts()["b"], copy.texts()["b"]) == ("y = 3", "y = 2")
    copy.close()


def test_replace_cell_changes_the_page_used_last(tools: Tools, page: NotebookPage) -> None:
    other = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    page.tell()
    tools.call("replace_cell", cell="b", source="y = 3")
    assert (page.texts()["b"], other.texts()["b"]) == ("y = 3", "y = 2")
    other.close()


def test_run_cell_returns_new_text_when_edited_during_approval(tools: Tools, page: NotebookPage) -> None:
    tools.while_asked = lambda: page.type("b", "y = mine")
    assert "```\ny = mine\n```" in tools.text("run_cell", cell="b")
    assert page.runs.empty()
