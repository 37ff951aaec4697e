"""Several cells that a page runs for an agent, in order, up to the first that fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

FAILED = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": ["NameError: x"]}


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    """A page with a notebook of four code cells; one of them asks an agent."""
    page = NotebookPage("series.ipynb", {"a": "x = 1", "b": "%agent Hello", "c": "x + 1", "d": "x + 2"})
    yield page
    page.close()


def test_run_cells_runs_in_order_and_skips_agent_prompts(tools: Tools, page: NotebookPage) -> None:
    """One request has all their code."""
    work = tools.loop.submit(tools.tool_runner.call("run_cells", {}))
    for expected in ("a", "c", "d"):
        edit = page.runs.get(timeout=30)
        assert edit["cellId"] == expected
        page.ran(edit)
    result = work.result(30)
    assert not result["isError"]
    assert result["content"][0]["text"] == "Ran 3 cells; none failed. 1 that ask agents were left out."
    (request,) = tools.requests
    assert (request.kind, request.command) == ("kernel", "x = 1\n\nx + 1\n\nx + 2")


def test_run_cells_stops_at_the_first_failed_cell(tools: Tools, page: NotebookPage) -> None:
    """The cells below do not run; the agent gets the error."""
    work = tools.loop.submit(tools.tool_runner.call("run_cells", {"first": "c"}))
    edit = page.runs.get(timeout=30)
    assert edit["cellId"] == "c"
    page.ran(edit, FAILED)
    result = work.result(30)
    assert result["isError"]
    assert result["content"][0]["text"] == "Cell 1 of 2 failed; those below it were not run."
    assert "NameError" in result["content"][1]["text"]
    assert page.runs.empty()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"first": "d", "last": "a"}, "There is no code cell to run"), ({"first": "nowhere"}, "no cell")],
)
def test_run_cells_is_refused_when_no_cell_matches(
    tools: Tools, page: NotebookPage, arguments: dict[str, str], message: str
) -> None:
    """No request is made."""
    result = tools.loop.submit(tools.tool_runner.call("run_cells", arguments)).result(30)
    assert result["isError"]
    assert message.lower() in result["content"][0]["text"].lower()
    assert tools.requests == []


def test_run_cells_runs_nothing_when_denied(tools: Tools, page: NotebookPage) -> None:
    tools.denies = True
    assert tools.loop.submit(tools.tool_runner.call("run_cells", {})).result(30)["isError"]
    assert page.runs.empty()
