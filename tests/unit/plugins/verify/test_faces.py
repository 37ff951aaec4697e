"""The command, the magic, pytest's option, and the display of a result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from IPython.core.interactiveshell import InteractiveShell

import agentnb
from agentnb.errors import UsageError
from agentnb.ipython.manage import commands
from agentnb.plugins.verify.result import CellPosition, Finding, Verification
from tests.conftest import ROOT
from tests.unit.forked import run_agentnb, run_script
from tests.unit.plugins.verify.notebooks import cell, notebook, ran, saved

HOSTILE = "<img src=x onerror=alert(1)>"


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_verify_command_writes_json_junit_and_exit_code(tmp_path: Path) -> None:
    """0: all verified; 1: findings; 2: an unreadable notebook."""
    saved(tmp_path, notebook(cell("print(1)", 1, "1\n")), "good.ipynb")
    saved(tmp_path, notebook(cell("print(z)", 1)), "bad.ipynb")
    done = run_agentnb("verify", "good.ipynb", "bad.ipynb", "--json", "--junit", "out.xml", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    good, bad = json.loads(done.stdout)
    assert (good["path"], good["ok"], bad["ok"], bad["findings"][0]["cell"]["id"]) == ("good.ipynb", True, False, "c0")
    suite = ET.parse(tmp_path / "out.xml").getroot()  # noqa: S314 - ours
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("type") == bad["findings"][0]["kind"]
    saved(tmp_path, notebook(), "no cells.ipynb")
    assert run_agentnb("verify", "no cells.ipynb", cwd=tmp_path).returncode == 0
    missing = run_agentnb("verify", "none.ipynb", ".", "no cells.ipynb", cwd=tmp_path)
    assert missing.returncode == 2
    assert "none.ipynb cannot be read: No such file or directory." in missing.stderr
    assert "is a folder. Specify the notebooks in it" in missing.stderr
    assert "no cells.ipynb: verified (it has no code to run)." in missing.stdout
    assert missing.stdout.endswith("1 of 3 notebooks verified.\n")


def test_verify_command_with_fast_says_that_no_cell_ran(tmp_path: Path) -> None:
    """It reads only the names."""
    saved(tmp_path, notebook(cell("print(z)", 1)))
    done = run_agentnb("verify", "nb.ipynb", "--fast", cwd=tmp_path)
    assert done.returncode == 1
    assert "Not checked: No cell was run." in done.stdout
    assert run_agentnb("verify", cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_pytest_option_fails_notebooks_that_are_not_verified(tmp_path: Path) -> None:
    """The findings are its message; without the option nothing is collected."""
    saved(tmp_path, notebook(cell("print(1)", 1, "1\n")), "good.ipynb")
    saved(tmp_path, notebook(*ran("x = 1"), cell("print(z)", 3)), "bad.ipynb")
    words = (
        "pytest",
        "--disable-plugin-autoload",
        "-p",
        "agentnb.plugins.verify.pytest_plugin",
        "-q",
        "-p",
        "no:cacheprovider",
    )
    done = command(tmp_path, *words, "--agentnb-verify")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Cell [3] would fail: `z` is defined only in a cell that was deleted" in done.stdout
    assert "no tests ran" in command(tmp_path, *words).stdout


@pytest.mark.slow
def test_verify_magic_takes_a_path_and_refuses_other_arguments(tmp_path: Path) -> None:
    """`%agents verify` shows the result."""
    path = saved(tmp_path, notebook(cell("print(1)", 1, "1\n")))
    run = commands()["verify"]
    assert run(None, f"'{path}'").ok  # type: ignore[arg-type]
    assert run(None, f"'{path}' --fast").runs == 0  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="takes a notebook's path"):
        run(None, "a b")  # type: ignore[arg-type]


def test_verification_displays_as_a_table_with_escaped_text() -> None:
    finding = Finding(
        kind="error",
        cause=f"`z` is gone {HOSTILE}",
        evidence=HOSTILE,
        advice=HOSTILE,
        cell=CellPosition(index=0, id="a", label=HOSTILE),
    )
    result = Verification(ok=False, findings=(finding,), not_checked=(HOSTILE,), notebook=HOSTILE, cells=1, runs=1)
    formatter = InteractiveShell.instance().display_formatter
    assert formatter is not None
    stored = formatter.format(result)[0]
    assert HOSTILE not in stored["text/html"]
    assert "<code>z</code> is gone" in stored["text/html"]
    assert "<table>" in stored["text/html"]
    assert HOSTILE in stored["text/plain"]


def test_verify_in_a_script_requires_a_notebook_path(tmp_path: Path) -> None:
    done = run_script("import agentnb; agentnb.verify()", cwd=tmp_path)
    assert "The name of this notebook is unknown." in done.stderr
    assert 'agentnb.verify("analysis.ipynb")' in done.stderr


def test_verify_accepts_a_notebook_as_a_dict() -> None:
    """It is the form of nbformat."""
    assert [each.kind for each in agentnb.verify(notebook(cell("z", 1)), run=False).findings] == ["deleted-cell"]
