"""The cell change that a kernel tool's card proposes, as the page gets it to show it in the cell."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.kernel.cell_plans import proposed_cell
from agentnb.kernel.code_runner import NotebookCell, NotebookView
from agentnb.state import ToolCallCell
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

CELLS = (
    NotebookCell(id="a", kind="markdown", source="# Fit"),
    NotebookCell(id="b", kind="code", source="y = 2", count=3),
    NotebookCell(id="long", kind="code", source="z", cut=True),
    NotebookCell(id="twice", kind="code", source="1"),
    NotebookCell(id="twice", kind="code", source="2"),
)


def notebook_view(*, live: bool = True) -> NotebookView:
    return NotebookView(name="fit.ipynb", path=None, live=live, cells=CELLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("replace_cell", {"cell": "3", "source": "x"}, ("replace", "b", "code", "y = 2", "x")),
        ("replace_cell", {"cell": "a", "source": "x"}, ("replace", "a", "markdown", "# Fit", "x")),
        ("replace_cell", {"cell": "long", "source": "x"}, ("replace", "long", "code", None, "x")),
        ("insert_cell", {"source": "x"}, ("insert", None, "code", None, "x")),
        ("insert_cell", {"source": "x", "below": "b", "cell_type": "markdown"}, ("insert", "b", "markdown", None, "x")),
        ("replace_cell", {"cell": "gone", "source": "x"}, None),
        ("replace_cell", {"cell": "twice", "source": "x"}, None),
        ("run_cell", {"cell": "b"}, None),
        ("run_code", {"code": "1"}, None),
    ],
)
def test_proposed_cell_has_the_cell_and_both_texts(
    tool: str, arguments: dict[str, Any], expected: tuple[str | None, ...] | None
) -> None:
    """Nothing without a clear cell or a change; no old text if it is not all known."""
    proposal = proposed_cell(tool, arguments, notebook_view())
    fields = (
        None
        if proposal is None
        else (proposal.action, proposal.cell_id, proposal.kind, proposal.old_text, proposal.new_text)
    )
    assert fields == expected


def test_proposed_cell_is_none_when_no_page_shows_the_notebook() -> None:
    assert proposed_cell("insert_cell", {"source": "x"}, notebook_view(live=False)) is None


def test_permission_request_contains_the_cell_change(tools: Tools) -> None:
    """The request has it beside the lines of its preview."""
    page = NotebookPage("fit.ipynb", {"a": "x = 1"})
    tools.call("replace_cell", cell="a", source="x = 2")
    assert tools.requests[-1].cell == ToolCallCell(
        notebook="fit.ipynb", action="replace", cell_id="a", kind="code", old_text="x = 1", new_text="x = 2"
    )
    page.close()
