"""A cell that a page runs for an agent: the outputs that the agent gets, and how the user stops it."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentnb.kernel.tools import call_words
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.test_tool_runner import PNG

TABLE = "<table><tr><th>n</th></tr><tr><td>1</td></tr></table>"
OUTPUTS = [
    {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure size 1x1 with 1 Axes>"}},
    {"output_type": "execute_result", "data": {"text/html": TABLE, "text/plain": "n"}},
]
LOOP = "began.set()\nwhile True:\n    pass"
CALL: Any = {"cell": "a"}


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    """A page that shows a notebook and sends its outputs."""
    page = NotebookPage("runs.ipynb", {"a": LOOP}, {"a": OUTPUTS})
    yield page
    page.close()


def test_run_cell_returns_outputs_with_pictures(tools: Tools, page: NotebookPage) -> None:
    """Tables have their shape; the page's answer alone has only the pictures' types."""
    work = tools.loop.submit(tools.tool_runner.call("run_cell", CALL))
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
    work = tools.loop.submit(tools.tool_runner.call("run_cell", CALL))
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
    stop = lambda: tools.tool_runner.stop(call_words("run_cell", CALL))  # noqa: E731 - it is called on two threads
    work = tools.loop.submit(tools.tool_runner.call("run_cell", CALL))
    edit = page.runs.get(timeout=30)
    assert not tools.loop.call(stop)

    def stop_it() -> bool:
        began.wait()
        return bool(tools.loop.call(stop))

    with ThreadPoolExecutor(1) as user:
        stopped = user.submit(stop_it)
        assert isinstance(tools.shell.run_cell(LOOP, cell_id="a").error_in_exec, KeyboardInterrupt)
        assert stopped.result(30)
    page.ran(edit, {"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []})
    result = work.result(30)
    assert result["isError"]
    assert "The code was stopped by the user. The turn goes on." in result["content"][0]["text"]
    assert (tools.progress[-1].ended_at or 0) >= tools.progress[-1].started_at
