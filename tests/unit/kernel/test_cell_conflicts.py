"""An agent's change of a cell that the user has changed, or of a notebook that was renamed or is one of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

Change = Callable[[NotebookPage], object]


@pytest.fixture
def page(tools: Tools) -> Iterator[NotebookPage]:
    """The page of the notebook that the tools work on."""
    tools.changes.begin("t1")
    shown = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    yield shown
    shown.close()


def test_replace_cell_when_the_user_changed_the_cell_since_it_was_read_is_refused_with_its_text(
    tools: Tools, page: NotebookPage
) -> None:
    """Nobody is asked. The answer gives the text, so that the next call goes through."""
    tools.call("cells")
    page.type("b", "y = mine")
    result = tools.call("replace_cell", cell="b", source="y = 3")
    assert result["isError"]
    assert result["content"][0]["text"] == (
        "The cell `y = mine` has changed since you read it, so nothing was done. Its text is now:\n\n```\ny = mine\n```"
    )
    assert (page.texts()["b"], [each.kind for each in tools.requests]) == ("y = mine", ["read"])
    assert not tools.call("replace_cell", cell="b", source="y = mine + 1")["isError"]
    assert page.texts()["b"] == "y = mine + 1"


def test_replace_cell_when_another_cell_changed_goes_through(tools: Tools, page: NotebookPage) -> None:
    """Only the cell itself counts, and what the agent wrote there itself it knows."""
    tools.call("cells")
    page.type("a", "x = mine")
    assert not tools.call("replace_cell", cell="b", source="y = 3")["isError"]
    assert not tools.call("replace_cell", cell="b", source="y = 4")["isError"]
    assert page.texts() == {"a": "x = mine", "b": "y = 4"}


@pytest.mark.parametrize(
    ("change", "texts", "words"),
    [
        (lambda page: page.type("b", "y = mine"), ["x = 1", "y = mine"], "```\ny = mine\n```"),
        (lambda page: page.remove("b"), ["x = 1"], "The cell is no longer in the notebook."),
        (lambda page: page.rename("other.ipynb"), ["x = 1", "y = 3"], "Replaced the text of the cell (id b)."),
    ],
    ids=["typed", "deleted", "renamed"],
)
def test_replace_cell_when_the_notebook_changes_while_it_waits_for_approval(
    tools: Tools, page: NotebookPage, change: Change, texts: list[str], words: str
) -> None:
    """The page compares; a notebook that was renamed is found by its cells."""
    tools.while_asked = lambda: change(page)
    assert words in tools.text("replace_cell", cell="b", source="y = 3")
    assert [*page.texts().values()] == texts


def test_replace_cell_when_another_notebook_was_used_last_changes_the_one_that_was_shown(
    tools: Tools, page: NotebookPage
) -> None:
    """Two notebooks share the kernel; a copy has cells with the same ids."""
    copies: list[NotebookPage] = []
    tools.while_asked = lambda: copies.append(NotebookPage("copy.ipynb", {"a": "x = 1", "b": "y = 2"}))
    tools.call("replace_cell", cell="b", source="y = 3")
    (copy,) = copies
    assert (page.texts()["b"], copy.texts()["b"]) == ("y = 3", "y = 2")
    copy.close()


def test_replace_cell_when_two_pages_have_the_notebook_changes_the_one_used_last(
    tools: Tools, page: NotebookPage
) -> None:
    """The user looks at that one."""
    other = NotebookPage("fit.ipynb", {"a": "x = 1", "b": "y = 2"})
    page.tell()
    tools.call("replace_cell", cell="b", source="y = 3")
    assert (page.texts()["b"], other.texts()["b"]) == ("y = 3", "y = 2")
    other.close()


@pytest.mark.parametrize("named", ["b", "In [7]"])
def test_replace_cell_when_two_cells_have_the_id_is_refused(named: str, tools: Tools, page: NotebookPage) -> None:
    """It is not clear which is meant, also where one is named by its number: the page knows cells by their ids."""
    page.cells.append(dict(page.cells[1], count=7))
    page.tell()
    text = tools.text("replace_cell", cell=named, source="y = 3")
    assert text.startswith("2 cells of the notebook have the id 'b'. Ask the user to save the notebook")
    assert tools.requests == []
    assert [each["source"] for each in page.cells] == ["x = 1", "y = 2", "y = 2"]


def test_run_cell_when_the_user_changes_the_cell_while_it_waits_for_approval_gives_its_text(
    tools: Tools, page: NotebookPage
) -> None:
    """Only the code that was allowed is run."""
    tools.while_asked = lambda: page.type("b", "y = mine")
    assert "```\ny = mine\n```" in tools.text("run_cell", cell="b")
    assert page.runs.empty()
