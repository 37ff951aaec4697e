"""Evaluations within the budget of a day: other use of the day counts, and later evaluations continue."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.unit.plugins.evaluate.conftest import Eval, Write

SAYS = "def check(run):\n    return run.number == 3\n"
SOLUTIONS = {f"Do {name}.": {"answer": "ANSWER: 3", "spends": [100, 2.0]} for name in "abcd"}


def limit(folder: Path, budget: str) -> None:
    """Sets the day's budget in the user's settings."""
    (folder / "settings" / "settings.toml").write_text(f'budget_day = "{budget}"\n')


def rows_of(results: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(results.read_text())["results"]
    return rows


def test_runs_beyond_the_daily_budget_can_be_resumed_later(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    """The exit code is 3; earlier use of the day counts, and no conversation is left in the log."""
    for name in "abcd":
        task(name, SAYS)
    agent("good", SOLUTIONS)
    limit(tmp_path, "2 turns")
    results = tmp_path / "results.json"
    done = evaluate("--agents", "good", "--jobs", "1", "--json", str(results))
    rows = rows_of(results)
    assert [each["outcome"] for each in rows] == ["right", "right", "not run", "not run"], done
    assert (done.code, "2 runs left out" in done.out) == (3, True)
    assert "Today's budget" in rows[2]["why"]
    again = evaluate("--agents", "good", "--jobs", "1")
    assert (again.code, again.out.count("not run")) == (3, 4)
    limit(tmp_path, "20 turns")
    resumed = evaluate("--resume", str(results))
    assert (resumed.code, [each["outcome"] for each in rows_of(results)]) == (0, ["right"] * 4), resumed
    assert evaluate("--resume", str(results), "--replay", str(tmp_path)).code == 2
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "sessions.db")) as log:
        assert log.execute("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM usage)").fetchone() == (0, 4)


def test_resume_repeats_a_run_whose_check_has_changed(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    folders = [task(name, SAYS) for name in "ab"]
    agent("good", SOLUTIONS)
    results, recording = tmp_path / "results.json", tmp_path / "recording"
    words = ("--agents", "good", "--jobs", "1", "--record", str(recording), "--json", str(results))
    assert evaluate(*words).code == 0
    limit(tmp_path, "1 turn")
    baseline = tmp_path / "baseline.json"
    baseline.write_bytes(results.read_bytes())
    left = evaluate("--agents", "good", "--jobs", "1", "--baseline", str(baseline))
    assert (left.code, "Nothing is worse" in left.out) == (3, True), left
    (folders[1] / "check.py").write_text("def check(run):\n    return False\n")
    limit(tmp_path, "20 turns")
    assert evaluate("--resume", str(results), "--record", str(recording)).code == 1
    assert [each["outcome"] for each in rows_of(results)] == ["right", "wrong"]
    assert evaluate("--replay", str(recording)).code == 1
