"""The cells of a notebook that an agent names, when several are open with the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import TURN, Tools

CELLS = {"a": "x = 1", "b": "y = 2"}


@pytest.fixture
def pages(tools: Tools) -> Iterator[dict[str, NotebookPage]]:
    """Three notebooks, ``work/fit.ipynb`` used last; ``old/plot.ipynb`` is a copy of ``work/plot.ipynb``."""
    tools.changes.begin(TURN)
    texts = {"old/plot.ipynb": {"p": "1"}, "work/plot.ipynb": {"p": "1"}, "work/fit.ipynb": CELLS}
    notebook_pages = {path: NotebookPage(path, cells) for path, cells in texts.items()}
    yield notebook_pages
    for page in notebook_pages.values():
        page.close()


def undo(tools: Tools) -> None:
    tools.during(tools.changes.undo(TURN, [each.id for each in tools.changes.end(TURN)]))


def test_notebooks_lists_open_notebooks_by_last_use(tools: Tools, pages: dict[str, NotebookPage]) -> None:
    second = NotebookPage("work/plot.ipynb", {"p": "1"})
    pages["work/fit.ipynb"].tell()
    assert tools.text("notebooks").splitlines() == [
        "work/fit.ipynb: 2 cells (used last)",
        "work/plot.ipynb: 1 cells",
        "old/plot.ipynb: 1 cells",
    ]
    second.close()


@pytest.mark.parametrize("name", ["work/plot.ipynb", "/work/plot.ipynb", "work/plot", " work/plot.ipynb "])
def test_cell_tool_changes_the_named_notebook(tools: Tools, pages: dict[str, NotebookPage], name: str) -> None:
    """The card and the turn name it; another notebook with the same ids stays as it is."""
    assert "--- Code cell, not run (id p)\n1" in tools.text("cells", notebook=name)
    tools.call("replace_cell", cell="p", source="2", notebook=name)
    tools.call("insert_cell", source="3", notebook=name)
    tools.call("move_cell", cell="p", below="new-1", notebook=name)
    page = pages["work/plot.ipynb"]
    assert [*page.texts().values()] == ["3", "2"]
    assert (pages["old/plot.ipynb"].texts(), pages["work/fit.ipynb"].texts()) == ({"p": "1"}, CELLS)
    request = tools.requests[-1]
    assert (request.kind, request.title) == ("cell", "Move the cell `2` below the cell `3` of work/plot.ipynb")
    assert request.cell is not None
    assert request.cell.notebook == "work/plot.ipynb"
    undo(tools)
    assert page.texts() == {"p": "1"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plot", ["2 open notebooks are called 'plot'.", "work/plot.ipynb, old/plot.ipynb"]),
        ("plot.ipynb", ["2 open notebooks are called 'plot.ipynb'."]),
        ("gone.ipynb", ["'gone.ipynb' is not open.", "work/fit.ipynb, work/plot.ipynb, old/plot.ipynb"]),
        ("lot.ipynb", ["is not open"]),
        ("", ["is not open"]),
        ("..", ["is not open"]),
    ],
)
@pytest.mark.parametrize("tool", ["cells", "delete_cell"])
def test_cell_tool_rejects_unknown_or_ambiguous_notebook_names(
    tools: Tools, pages: dict[str, NotebookPage], tool: str, name: str, words: list[str]
) -> None:
    arguments = {} if tool == "cells" else {"cell": "p"}
    result = tools.call(tool, notebook=name, **arguments)
    assert result["isError"]
    assert all(each in result["content"][0]["text"] for each in words), result
    assert tools.requests == []
    assert [page.texts() for page in pages.values()] == [{"p": "1"}, {"p": "1"}, CELLS]


def test_undo_restores_the_same_cell_in_a_notebook_and_its_copy(tools: Tools, pages: dict[str, NotebookPage]) -> None:
    """A copy has cells with the same ids; each has its own change."""
    for name in ("work/plot.ipynb", "old/plot.ipynb"):
        tools.call("replace_cell", cell="p", source=name, notebook=name)
        tools.call("replace_cell", cell="p", source=f"{name} again", notebook=name)
    assert [each.id for each in tools.changes.end(TURN)] == ["cell:p", "cell:p@old/plot.ipynb"]
    undo(tools)
    assert [page.texts() for page in pages.values()] == [{"p": "1"}, {"p": "1"}, CELLS]


def test_reading_a_cell_does_not_count_for_its_copy(tools: Tools, pages: dict[str, NotebookPage]) -> None:
    """The copy may have another text than the agent read."""
    pages["old/plot.ipynb"].type("p", "old")
    tools.call("cells", notebook="work/plot.ipynb")
    tools.call("cells", notebook="old/plot.ipynb")
    assert not tools.call("delete_cell", cell="p", notebook="old/plot.ipynb")["isError"]
    pages["work/plot.ipynb"].type("p", "mine")
    assert "has changed since you read it" in tools.text("delete_cell", cell="p", notebook="work/plot.ipynb")


def test_cell_tools_check_and_undo_after_a_notebook_rename(tools: Tools, pages: dict[str, NotebookPage]) -> None:
    """The agent's reads under the old name count; undo finds the notebook by its cells."""
    page = pages["work/fit.ipynb"]
    tools.call("cells")
    tools.call("delete_cell", cell="a")
    page.rename("work/final.ipynb")
    page.type("b", "mine")
    assert "is not open" in tools.text("delete_cell", cell="b", notebook="work/fit.ipynb")
    assert "has changed since you read it" in tools.text("delete_cell", cell="b", notebook="final")
    tools.call("replace_cell", cell="b", source="y = 3")
    undo(tools)
    assert page.texts() == {"a": "x = 1", "b": "mine"}


def test_permission_request_names_the_notebook_file(
    tools: Tools, pages: dict[str, NotebookPage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in pages:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("{}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "work/fit.ipynb"))
    for name, tool in (("old/plot", "delete_cell"), ("fit", "delete_cell"), ("work/plot", "cells")):
        arguments: dict[str, Any] = {} if tool == "cells" else {"cell": "p" if name != "fit" else "a"}
        tools.call(tool, notebook=name, **arguments)
        wanted = "work/fit.ipynb" if name == "fit" else f"{name}.ipynb"
        assert tools.requests[-1].path == str((tmp_path / wanted).resolve())
