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
from msgspec.structs import replace

import agentnb
from tests.conftest import ROOT
from tests.unit.forked import run_agentnb, run_script
from tests.unit.plugins.verify.notebooks import cell, notebook, ran, saved

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.slow
def test_verify_command_writes_json_junit_and_exit_code(tmp_path: Path) -> None:
    """0: all verified; 1: findings; 2: an unreadable notebook, or none is given."""
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
    fast = run_agentnb("verify", "bad.ipynb", "--fast", cwd=tmp_path)
    assert (fast.returncode, "Not checked: No cell was run." in fast.stdout) == (1, True)
    assert run_agentnb("verify", cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_pytest_option_fails_notebooks_that_are_not_verified(tmp_path: Path) -> None:
    """The findings are its message; without the option nothing is collected."""
    saved(tmp_path, notebook(cell("print(1)", 1, "1\n")), "good.ipynb")
    saved(tmp_path, notebook(*ran("x = 1"), cell("print(z)", 3)), "bad.ipynb")
    words = "-m pytest -q --disable-plugin-autoload -p agentnb.plugins.verify.pytest_plugin -p no:cacheprovider"
    command = [sys.executable, *words.split()]
    options = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    done = subprocess.run([*command, "--agentnb-verify"], check=False, **options)  # type: ignore[call-overload]
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Cell [3] would fail: `z` is defined only in a cell that was deleted" in done.stdout
    assert "no tests ran" in subprocess.run(command, check=False, **options).stdout  # type: ignore[call-overload]


MAGIC = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
for words in sys.argv[1:]:
    result = shell.run_line_magic("agents", f"verify {words}")
    print(result and (result.ok, result.runs))
"""


@pytest.mark.slow
def test_verify_magic_takes_a_path_and_refuses_other_arguments(tmp_path: Path) -> None:
    """`%agents verify` shows the result."""
    saved(tmp_path, notebook(cell("print(1)", 1, "1\n")), "a b.ipynb")
    done = run_script(MAGIC, "'a b.ipynb'", "'a b.ipynb' --fast", cwd=tmp_path)
    assert done.stdout.split("\n")[:2] == ["(True, 1)", "(True, 0)"], done.stderr
    for words, why in {
        "a b": "`%agents verify` takes a notebook's path",
        "it's": "Put a path in double quotes.",
    }.items():
        refused = run_script(MAGIC, words, cwd=tmp_path)
        assert why in refused.stdout + refused.stderr


def test_verification_displays_as_a_table_with_escaped_text() -> None:
    result = agentnb.verify(notebook(cell("print(z)", 1)), run=False)
    finding = result.findings[0]
    assert finding.cell is not None
    place = replace(finding.cell, label=HOSTILE)
    cause = f"`z` is gone {HOSTILE}"
    finding = replace(finding, cause=cause, evidence=HOSTILE, advice=HOSTILE, cell=place)
    result = replace(result, findings=(finding,), not_checked=(HOSTILE,), notebook=HOSTILE)
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
