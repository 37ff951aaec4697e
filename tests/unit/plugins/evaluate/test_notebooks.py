"""Tasks with a notebook: a fresh kernel, changed cells, a run from the top; and files that must stay hidden."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.plugins.evaluate.conftest import Eval, Write, needs_isolation
from tests.unit.plugins.verify.notebooks import cell, notebook

CHECK = """
def check(run):
    assert run.verified, run.findings
    assert run.shown.strip() == "42", run.shown
    assert "x = 40" in run.code and (run.folder / "made.txt").is_file()
    return "SECRET" not in run.answer
"""


@needs_isolation
def test_kernel_tools_work_in_a_kernel_that_cannot_see_the_check(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    """The replay runs the code again, with the same result."""
    places = [str(tmp_path / "tasks/sums"), str(tmp_path / "rec/sums")]
    look = f"import os; print([os.listdir(each) for each in {places}])"
    calls = [
        ["run_code", {"code": f"open('made.txt', 'w').write('1'); {look}"}],
        ["replace_cell", {"cell": "c0", "source": "x = 40"}],
        ["insert_cell", {"source": "print(x + 2)", "below": "c0"}],
    ]
    steps = [step for call in calls for step in ({"start": call}, {"end": 1})]
    original = notebook(cell("x = 1"))
    task("sums", CHECK, json.dumps(steps), {"sums.ipynb": json.dumps(original)}, notebook="sums.ipynb")
    agent("caller", program="calls_kernel.py")
    record = ("--agents", "caller", "--record", str(tmp_path / "rec"))
    done = evaluate(*record)
    row = json.loads((tmp_path / "rec/eval.json").read_text())["results"][0]
    assert done.code == 0, (done, row)
    assert row["answer"].split() == ["true", "true", "true"]
    assert (row["verified"], row["files"]) == (True, ["made.txt (added)", "sums.ipynb (modified)"])
    recorded = (tmp_path / "rec/sums/caller-1.cassette.jsonl").read_text()
    assert "[[], []]" in recorded
    done = evaluate("--replay", str(tmp_path / "rec"), "--json", str(tmp_path / "again.json"))
    assert done.code == 0, done
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "rec/eval.json").read_bytes()


def test_confined_agent_cannot_read_the_check(tmp_path: Path, task: Write, agent: Write, evaluate: Eval) -> None:
    """A notebook that the agent writes without tools is verified, too."""
    folder = task("write", "def check(run):\n    return run.verified is False and bool(run.findings)\n")
    hidden = folder / "check.py"
    bad = json.dumps(notebook(cell("print(unknown)", 1)))
    files = {"made.ipynb": bad}
    agent("curious", {"Do write.": {"files": files, "looks": [str(hidden)]}})
    done = evaluate("--agents", "curious", "--json", str(tmp_path / "out.json"))
    row = json.loads((tmp_path / "out.json").read_text())["results"][0]
    assert (done.code, row["outcome"], row["verified"]) == (0, "right", False), (done, row)
    assert row["answer"].split()[0] == ("PermissionError" if row.get("is_confined") else str(hidden.stat().st_size))
