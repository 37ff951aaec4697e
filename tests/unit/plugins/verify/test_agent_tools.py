"""The tools of agents: they ask the policy and answer in text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import PermissionDenied, UsageError
from agentnb.plugins.verify.agent_tools import TOOLS, lost_variables, run_tests, verify_notebook
from agentnb.plugins.verify.agent_tools import test_report as report_of
from agentnb.policy.request import PolicyRequest
from agentnb.ports import ToolSession
from tests.unit.plugins.verify.notebooks import cell, notebook, saved

pytestmark = pytest.mark.slow
requests: list[str] = []


def session(folder: Path, *, allows: bool = True) -> ToolSession:
    async def authorize(title: str, command: str) -> None:
        requests.append(f"{title}: {command}")
        if not allows:
            raise PermissionDenied("No.")

    async def ask(request: PolicyRequest) -> PolicyRequest:
        requests.append(request.title)
        return request

    return ToolSession(
        session="s", folder=str(folder), authorize=authorize, ask=ask, code_runner=lambda: None, setting=lambda _: None
    )


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


async def test_verify_notebook_asks_permission_and_reports_findings(tmp_path: Path) -> None:
    """The request is for running code, or for reading if only names are checked."""
    requests.clear()
    saved(tmp_path, notebook(cell("print(z)", 1)))
    matching = text(await verify_notebook(session(tmp_path), {"path": "nb.ipynb"}))
    assert "Cell [1] would fail: `z`" in matching
    fast = text(await verify_notebook(session(tmp_path), {"path": "nb.ipynb", "fast": True}))
    assert "No cell was run." in fast
    assert requests[0].startswith("Run nb.ipynb from the top, in a copy: agentnb verify ")
    assert requests[1] == "Look at the names in nb.ipynb"
    with pytest.raises(PermissionDenied):
        await verify_notebook(session(tmp_path, allows=False), {"path": "nb.ipynb"})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests that the tool runs load no plug-ins of this environment."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.usefixtures("quick")
async def test_run_tests_reports_failures_with_tracebacks(tmp_path: Path) -> None:
    """They come from pytest's report."""
    (tmp_path / "test_a.py").write_text("def test_one(): pass\ndef test_two():\n    assert 1 == 2, 'no'\n")
    result = await run_tests(session(tmp_path), {})
    assert result["isError"]
    assert text(result).startswith("2 tests: 1 passed, 1 failed, 0 skipped.\n\ntest_a::test_two: AssertionError: no")
    one = await run_tests(session(tmp_path), {"tests": ["test_a.py::test_one"]})
    assert (one["isError"], text(one)) == (False, "1 tests: 1 passed, 0 failed, 0 skipped.")
    with pytest.raises(UsageError, match="dash"):
        await run_tests(session(tmp_path), {"tests": ["-p"]})
    with pytest.raises(PermissionDenied):
        await run_tests(session(tmp_path, allows=False), {})


@pytest.mark.usefixtures("quick")
async def test_run_tests_ends_tests_that_take_too_long(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import threading\ndef test_one():\n    threading.Event().wait()\n")
    result = await run_tests(session(tmp_path), {"seconds": 3})
    assert text(result) == "The tests took too long, and were ended."


def test_missing_report_file_gives_empty_text(tmp_path: Path) -> None:
    """The answer is then the printed output."""
    assert report_of(tmp_path / "none.xml") == ""
    assert {each.name for each in TOOLS} == {"verify_notebook", "interrupt", "restart_kernel", "run_tests"}


def test_lost_variables_names_eight_and_counts_the_rest() -> None:
    """Modules can be imported again, so they do not count."""
    assert lost_variables({"np": json, "x": 1}) == "Permanently loses your variables: x."
    assert lost_variables({"np": json}) == "Stops the running code. The kernel has no variables."
    many = {f"v{number:02}": number for number in range(13)}
    assert lost_variables(many) == (
        "Permanently loses your variables: v00, v01, v02, v03, v04, v05, v06, v07 and 5 more."
    )
