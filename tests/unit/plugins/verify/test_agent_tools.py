"""The tools of agents: they ask the policy and answer in text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.plugins.verify.notebooks import cell, notebook, saved

if TYPE_CHECKING:
    from tests.unit.kernel.shell_tools import Tools

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace; the tests that a tool runs there load no plug-ins of this environment."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_verify_notebook_asks_permission_and_reports_findings(work: Path, tools: Tools) -> None:
    """The request is for running code, or for reading if only names are checked."""
    saved(work, notebook(cell("print(z)", 1)))
    assert "Cell [1] would fail: `z`" in tools.text("verify_notebook", path="nb.ipynb")
    assert "No cell was run." in tools.text("verify_notebook", path="nb.ipynb", fast=True)
    run, look = tools.requests
    assert run.title == "Run nb.ipynb from the top, in a copy"
    assert (run.command or "").startswith("agentnb verify ")
    assert look.title == "Look at the names in nb.ipynb"
    tools.denies = True
    assert tools.call("verify_notebook", path="nb.ipynb")["isError"]


def test_run_tests_reports_failures_with_tracebacks(work: Path, tools: Tools) -> None:
    """They come from pytest's report; without one, the answer is what was printed."""
    (work / "test_a.py").write_text("def test_one(): pass\ndef test_two():\n    assert 1 == 2, 'no'\n")
    result = tools.call("run_tests")
    assert result["isError"]
    expected = "2 tests: 1 passed, 1 failed, 0 skipped.\n\ntest_a::test_two: AssertionError: no"
    assert result["content"][0]["text"].startswith(expected)
    assert tools.text("run_tests", tests=["test_a.py::test_one"]) == "1 tests: 1 passed, 0 failed, 0 skipped."
    assert "dash" in tools.text("run_tests", tests=["-p"])
    tools.denies = True
    assert tools.text("run_tests") == "No."
    tools.denies = False
    (work / "conftest.py").write_text("import no_such_module_q\n")
    assert "No module named 'no_such_module_q'" in tools.text("run_tests")


def test_run_tests_ends_tests_that_take_too_long(work: Path, tools: Tools) -> None:
    (work / "test_a.py").write_text("import threading\ndef test_one():\n    threading.Event().wait()\n")
    assert tools.text("run_tests", seconds=3) == "The tests took too long, and were ended."
