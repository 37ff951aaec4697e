"""A kernel verifies its own notebook from its history, without any change to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.unit.plugins.verify.notebooks import cell, notebook, saved

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

pytestmark = pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # the same on any kernel
FACTS = "import json; print(json.dumps([sorted(globals()), sorted(os.listdir()), len(In)]))"


def test_verify_names_a_deleted_cell_and_changes_nothing(kernel: RunningKernel, tmp_path: Path) -> None:
    """With and without a run; also as a magic."""
    path = saved(tmp_path, notebook(cell("x = gone + 1", 4), cell("print(x)", 5, "2\n")))
    kernel.run(f"%load_ext agentnb\nimport os, json; os.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    kernel.run("gone = 1")
    kernel.run("x = gone + 1")
    kernel.run("import agentnb\nfound = json_text = None")
    before = json.loads(kernel.run(FACTS).stdout)
    fast = kernel.run("print(agentnb.verify(run=False))").stdout
    assert "`gone` is defined only in a deleted cell (run as [3])" in fast
    whole = kernel.run("print(agentnb.verify())").stdout
    assert "`gone` is defined only in a deleted cell (run as [3])" in whole
    assert "NameError" in whole
    stored = kernel.run("%agents verify --fast").values
    assert any("deleted cell" in each for each in stored)
    after = json.loads(kernel.run(FACTS).stdout)
    assert [{*after[0]} - {*before[0]} - {each for each in after[0] if each.startswith("_")}, after[1]] == [
        set(),
        before[1],
    ]


def test_verify_option_verifies_the_notebook_the_agent_wrote(kernel: RunningKernel) -> None:
    """The agent gets the findings in the same turn."""
    line = f"{sys.executable} {ROOT / 'tests/agents/mends_notebooks.py'}"
    write = f"from agentnb.agent.own_agents import write_agent\nwrite_agent('mends', {line!r}, {{}}, state='')"
    kernel.run(f"%load_ext agentnb\n{write}")
    result = kernel.run("%agent -n -a mends --permissions allow --verify Sum them")
    text = "".join(result.displayed()) + result.stdout
    assert "Mended: True." in text, result
    assert "made.ipynb: verified (1 of 1 cells run" in text
