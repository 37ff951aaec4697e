"""Damaged, endless and greedy notebooks, and those in another language: each gets an answer, and no file changes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import UsageError
from tests.unit.plugins.verify.notebooks import Json, cell, notebook, saved

DAMAGED = {
    "empty": "",
    "no JSON": "{oh no",
    "cut off": json.dumps(notebook(cell("x")))[:-20],
    "a list": "[]",
    "no cells": "{}",
    "cells that are none": '{"cells": [1]}',
    "too deep": "[" * 5000,
    "a number": "3",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_verify_reports_a_damaged_notebook(tmp_path: Path, text: str) -> None:
    """It names the fault and runs nothing."""
    path = tmp_path / "nb.ipynb"
    path.write_text(text)
    for run in (True, False):
        result = agentnb.verify(path, run=run)
        assert [each.kind for each in result.findings] == ["corrupt"]
        assert result.findings[0].cause.startswith("nb.ipynb ")
        assert result.runs == 0


VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.mark.parametrize(
    "widgets",
    [
        3,
        {STATE: 5},
        {STATE: {"state": 3}},
        {STATE: {"state": {"a": {"state": {"up": "IPY_MODEL_a", "in": ["IPY_MODEL_a"]}}}}},
    ],
    ids=["no mapping", "no mapping of states", "no states", "a state within itself"],
)
def test_verify_reads_damaged_states_of_widgets(widgets: object) -> None:
    shown: list[Json] = [{"output_type": "display_data", "data": {VIEW: {"model_id": "a"}}}, {"data": None}]
    assert agentnb.verify(notebook(cell("x = 1", 1, shown), widgets=widgets), run=False).ok


@pytest.mark.parametrize("language", ["R", "julia", "javascript"])
def test_verify_does_not_run_notebooks_in_other_languages(tmp_path: Path, language: str) -> None:
    """It names the language."""
    metadata = {
        "kernelspec": {"name": f"no-such-{language}", "language": language},
        "language_info": {"name": language},
    }
    path = saved(tmp_path, notebook(cell("x <- 1", 1), **metadata))
    (finding,) = agentnb.verify(path).findings
    assert finding.kind == "language"
    assert language.lower() in finding.cause


def test_verify_refuses_missing_files_and_invalid_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        agentnb.verify(tmp_path / "none.ipynb")
    path = saved(tmp_path, notebook(cell("1")))
    for seconds in (0, -1, True, float("nan"), "1"):
        with pytest.raises(UsageError, match="seconds"):
            agentnb.verify(path, seconds=seconds)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is not a folder"):
        agentnb.verify(path, cwd=tmp_path / "none")


@pytest.mark.slow
def test_verify_runs_a_notebook_of_the_2012_format(tmp_path: Path) -> None:
    """Inputs, numbers and outputs have other names in it; the output is compared, or there would be a finding."""
    output = {"output_type": "pyout", "text": ["3"], "prompt_number": 1}
    only = {"cell_type": "code", "input": ["1 + ", "2"], "prompt_number": 1, "outputs": [output]}
    result = agentnb.verify({"worksheets": [{"cells": [only]}]}, cwd=tmp_path)
    assert (result.ok, result.ran) == (True, 1), result


@pytest.mark.slow
def test_verify_stops_an_endless_notebook_at_the_time_limit(tmp_path: Path) -> None:
    """It names the cell that ran at the time limit, and keeps its output only in part."""
    endless = "while True:\n    print('x' * 1000)"
    path = saved(tmp_path, notebook(cell("print(1)", 1, "1\n"), cell(endless, 2, "x\n")))
    result = agentnb.verify(path, seconds=4)
    (finding,) = result.findings
    assert (finding.kind, finding.cell and finding.cell.id) == ("time-limit", "c1")
    assert result.seconds < 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import os, time\nfor _ in range(1000):\n    if os.fork() == 0:\n        time.sleep(60)", "processes"),
        ("with open('big', 'wb') as file:\n    for _ in range(10_000):\n        file.write(bytes(1_000_000))", "disk"),
    ],
    ids=["processes", "disk"],
)
def test_verify_stops_notebooks_that_use_too_many_resources(tmp_path: Path, source: str, kind: str) -> None:
    """None of its files stays."""
    path = saved(tmp_path, notebook(cell(source, 1)))
    (finding,) = agentnb.verify(path, seconds=60).findings
    assert (finding.kind, finding.cell and finding.cell.id) == (kind, "c0"), finding
    assert [each.name for each in tmp_path.iterdir()] == ["nb.ipynb"]


@pytest.mark.slow
def test_verify_runs_a_notebook_with_2000_cells(tmp_path: Path) -> None:
    """Each runs once, in one kernel."""
    cells = [cell(f"x{n} = {n}\nprint(x{n})", n + 1, f"{n}\n") for n in range(2000)]
    result = agentnb.verify(saved(tmp_path, notebook(*cells)), seconds=300)
    assert result.ok, result
    assert result.ran == 2000


@pytest.mark.slow
def test_two_verifications_at_once_do_not_share_files(tmp_path: Path) -> None:
    source = "import os\nassert not os.path.exists('mark')\nopen('mark', 'w').write('x')\nprint(1)"
    path = saved(tmp_path, notebook(cell(source, 1, "1\n")))
    results: list[agentnb.Verification] = []
    threads = [threading.Thread(target=lambda: results.append(agentnb.verify(path))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.ok for each in results] == [True, True]
    assert [each.name for each in tmp_path.iterdir()] == ["nb.ipynb"]


@pytest.mark.slow
def test_verify_only_runs_a_notebook_without_saved_results(tmp_path: Path) -> None:
    """The result says that nothing was compared."""
    result = agentnb.verify(saved(tmp_path, notebook(cell("print(1)"), cell("print(2)"))))
    assert result.ok, result
    assert any("has no saved results" in each for each in result.not_checked)
