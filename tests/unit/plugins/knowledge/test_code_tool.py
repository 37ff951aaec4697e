"""The tool that looks up code, as an agent calls it: over a real shell and a page's notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    notebook_page = NotebookPage(
        "fit.ipynb", {"a": "def fit(x):\n    '''Fits.'''\n    return x", "b": "%time fit(data)"}
    )
    yield notebook_page
    notebook_page.close()


def test_agent_looks_up_notebook_code_without_the_main_thread(tools: Tools, page: NotebookPage) -> None:
    """Places are cells with ids; the main thread is not needed, and nothing runs."""
    ask = tools.loop.submit(tools.tool_runner.call("look_up_code", {"question": "definition", "symbol": "fit"}))
    text = ask.result(60)["content"][0]["text"]
    assert text == "Code cell, not run (id a), line 1, column 4: def fit(x):"
    assert [request.kind for request in tools.requests] == ["read"]
    page.cells.reverse()
    page.tell()
    assert tools.text("look_up_code", question="references", symbol="fit", cell="b").splitlines() == [
        "Code cell, not run (id b), line 1, column 6: %time fit(data)",
        "Code cell, not run (id a), line 1, column 4: def fit(x):",
    ]
    assert tools.text("look_up_code", question="describe", symbol="fit") == "function fit\nfit(x)\nFits."
    assert "+%time train(data)" in tools.text("look_up_code", question="rename", symbol="fit", new_name="train")
    assert tools.text("look_up_code", question="problems") == "No problem was found."


def test_look_up_reads_a_file_only_with_permission(tools: Tools, page: NotebookPage, tmp_path: Path) -> None:
    """The request names the file."""
    file = tmp_path / "a.py"
    file.write_text("def f(:")
    assert "invalid syntax" in tools.text("look_up_code", question="problems", file=str(file))
    assert tools.requests[-1].path == str(file)
    tools.denies = True
    assert tools.call("look_up_code", question="problems", file=str(file))["isError"]
