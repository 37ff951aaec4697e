"""Cells that a page runs for an agent: the outputs that the agent gets, and how the user stops them."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.test_tool_runner import PNG

TABLE = "<table><tr><th>n</th></tr><tr><td>1</td></tr></table>"
OUTPUTS = [
    {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure size 1x1 with 1 Axes>"}},
    {"output_type": "execute_result", "data": {"text/html": TABLE, "text/plain": "n"}},
]
FAILED = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": ["NameError: x"]}
LOOP = "began.set()\nwhile True:\n    pass"


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    """A page with a notebook of four code cells; one of them asks an agent."""
    cells = {"a": "x = 1", "b": "%agent Hello", "c": "x + 1", "d": "x + 2"}
    page = NotebookPage("runs.ipynb", cells, {"a": OUTPUTS})
    yield page
    page.close()


def begin(tools: Tools, name: str, **arguments: Any) -> Future[dict[str, Any]]:
    """Calls a tool while this thread is the page's."""
    return tools.loop.submit(tools.tool_runner.call(name, arguments))


def test_run_cell_returns_outputs_with_pictures(tools: Tools, page: NotebookPage) -> None:
    """Tables have their shape; the page's answer alone has only the pictures' types."""
    work = begin(tools, "run_cell", cell="a")
    page.ran(page.runs.get(timeout=30), {"output_type": "display_data", "data": {"image/png": ""}})
    text, picture = work.result(30)["content"]
    assert picture == {"type": "image", "data": PNG, "mimeType": "image/png"}
    assert text["text"].splitlines()[1:] == [
        "[picture 1: <Figure size 1x1 with 1 Axes>]",
        "Table, 1 rows × 1 columns:",
        "n",
        "1",
    ]


class Echoing(io.StringIO):
    """A stream that echoes its text, as ipykernel's do, and sends it to the page."""

    echo: Any = None

    def write(self, text: str) -> int:
        if self.echo is not None:
            self.echo.write(text)
        return super().write(text)


def test_run_cell_streams_what_the_cell_prints(
    tools: Tools, page: NotebookPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials are left out; afterwards the streams are as before."""
    stdout, stderr = Echoing(), Echoing()
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setenv("MY_API_KEY", "kx81hq2mz0pl44")
    tools.shell.user_ns["told"] = lambda: tools.printed.wait(30)
    code = "print('epoch 1 kx81hq2mz0pl44')\nassert told()"
    page.type("a", code)
    work = begin(tools, "run_cell", cell="a")
    edit = page.runs.get(timeout=30)
    assert tools.shell.run_cell(code, cell_id="a").success
    page.ran(edit)
    work.result(30)
    printed = [str(each.content[0]) for each in tools.progress if each.content and each.ended_at is None]
    assert ["epoch 1" in printed[0], "kx81hq2mz0pl44" in printed[0]] == [True, False]
    assert (stdout.getvalue(), stdout.echo, stderr.echo) == ("epoch 1 kx81hq2mz0pl44\n", None, None)


@pytest.mark.usefixtures("heeded")
def test_stop_interrupts_a_running_cell_but_not_the_turn(tools: Tools, page: NotebookPage) -> None:
    began = tools.shell.user_ns["began"] = threading.Event()
    page.type("a", LOOP)
    work = begin(tools, "run_cell", cell="a")
    edit = page.runs.get(timeout=30)

    def stop() -> bool:
        return tools.loop.call(lambda: tools.stop("run_cell", cell="a"))

    def stop_it() -> bool:
        began.wait()
        return stop()

    assert not stop()
    with ThreadPoolExecutor(1) as user:
        stopped = user.submit(stop_it)
        assert isinstance(tools.shell.run_cell(LOOP, cell_id="a").error_in_exec, KeyboardInterrupt)
        assert stopped.result(30)
    page.ran(edit, {"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []})
    result = work.result(30)
    assert result["isError"]
    assert "The code was stopped by the user. The turn goes on." in result["content"][0]["text"]
    assert (tools.progress[-1].ended_at or 0) >= tools.progress[-1].started_at


def test_run_cell_returns_new_text_when_edited_during_approval(tools: Tools, page: NotebookPage) -> None:
    tools.while_asked = lambda: page.type("c", "y = mine")
    assert "```\ny = mine\n```" in tools.text("run_cell", cell="c")
    assert page.runs.empty()


def test_run_cells_runs_in_order_and_skips_agent_prompts(tools: Tools, page: NotebookPage) -> None:
    """One request has all their code."""
    work = begin(tools, "run_cells")
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
    work = begin(tools, "run_cells", first="c")
    edit = page.runs.get(timeout=30)
    assert edit["cellId"] == "c"
    page.ran(edit, FAILED)
    result = work.result(30)
    assert result["isError"]
    assert result["content"][0]["text"] == "Cell 1 of 2 failed; those below it were not run."
    assert "NameError" in result["content"][1]["text"]
    assert page.runs.empty()


@pytest.mark.parametrize(
    ("arguments", "message", "denies"),
    [
        ({"first": "d", "last": "a"}, "There is no code cell to run", False),
        ({"first": "nowhere"}, "no cell", False),
        ({}, "No.", True),
    ],
)
def test_run_cells_runs_nothing_when_no_cell_matches_or_denied(
    tools: Tools, page: NotebookPage, arguments: dict[str, str], message: str, denies: bool
) -> None:
    """No request is made without a cell."""
    tools.denies = denies
    result = begin(tools, "run_cells", **arguments).result(30)
    assert result["isError"]
    assert message.lower() in result["content"][0]["text"].lower()
    assert (len(tools.requests), page.runs.empty()) == (denies, True)
