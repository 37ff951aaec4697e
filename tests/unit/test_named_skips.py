"""In CI, a test that skips for an unlisted reason fails the run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT
from tests.named_skips import is_fine

TESTS = """
import pytest

def test_passes():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_fails_as_expected():
    assert False

@pytest.mark.skipif(True, reason={reason!r})
def test_skips():
    pass
"""
FILE = "import pytest\npytest.importorskip('a_library_that_does_not_exist', reason={reason!r})\n"
NAMED = "no user namespaces here"
UNNAMED = "It could not be isolated: it ended without a report ModuleNotFoundError: No module named 'msgspec'."
HEADING = "skipped for a reason that is not named"


XDIST = ("-p", "xdist.plugin", "--numprocesses", "1")


class Run(NamedTuple):
    """A run of pytest on one file."""

    text: str
    reason: str
    ci: str
    status: int
    options: tuple[str, ...] = ()


RUNS = {
    "a test in a worker": Run(TESTS, UNNAMED, "true", 1, XDIST),
    "a file in a worker": Run(FILE, UNNAMED, "true", 1, XDIST),
    "not in CI": Run(TESTS, UNNAMED, "", 0),
    "named": Run(TESTS, NAMED, "true", 0),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_ci_run_fails_when_a_skip_reason_is_not_listed(tmp_path: Path, run: Run) -> None:
    """The output has the test and the reason; outside CI the run passes."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(run.text.format(reason=run.reason))
    command = [sys.executable, "-m", "pytest", "-p", "tests.named_skips", *run.options]
    env = {**os.environ, "CI": run.ci, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "1 skipped" in done.stdout
    assert done.returncode == run.status, done.stdout
    assert (f": {run.reason}\n" in done.stdout.partition(HEADING)[2]) == (run.status == 1)


def written_reasons() -> Iterator[str]:
    """Yields each skip reason written as one string in a test."""
    for path in (ROOT / "tests").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "skip" in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"skip", "skipif"}:
                words = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "reason")]
                yield from (each.value for each in words if isinstance(each, ast.Constant) and type(each.value) is str)


def test_every_skip_reason_in_a_test_is_listed_or_forbidden() -> None:
    """So each new reason is a decision."""
    assert sorted({each for each in written_reasons() if not is_fine(each)}) == [
        "js/node_modules is not installed",
        "no ipykernel6: `make test-kernel` makes it",
        "node is not installed",
        "the front end is not built (`make build`)",
    ]
