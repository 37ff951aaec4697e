"""A notebook with a batch of many inputs, recorded with an agent and replayed without it."""

from __future__ import annotations

from pathlib import Path

from tests.notebooks.recorded import notebook, record, run_with

CELLS = (
    "import agentnb",
    "batch = agentnb.map('/say A {input} it is.', ['cat', 'dog', 'cat'], agent='opencode', output=None)\nlist(batch)",
    "batch",
)


def test_notebook_with_a_batch_replays_without_its_agent(tmp_path: Path) -> None:
    path = notebook(tmp_path / "many.ipynb", *CELLS)
    record(path)
    assert sorted(each.name for each in tmp_path.glob("many*")) == ["many.batch.jsonl", "many.ipynb"]
    done = run_with("nbval", path)
    assert done.returncode == 0, done.stdout
    path.write_text(path.read_text(encoding="utf-8").replace("'dog'", "'cow'"), encoding="utf-8")
    done = run_with("nbval", path)
    assert done.returncode == 1
    assert "many.batch.jsonl has no answer to this input: /say A cow it is." in done.stdout
