"""Agents do tasks: right, wrong, crashed and late ones; recorded, replayed, compared with a baseline."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.plugins.evaluate.conftest import Eval, Write

SAYS = "def check(run):\n    return run.number == 3\n"
WRITES = """
def check(run):
    assert (run.folder / "given.txt").read_text() == "given\\n"
    return run.path("out.txt").read_text() == "done\\n" or "out.txt has other words."
"""
RIGHT = {
    "Do say.": {"answer": "It is 3.\n\nANSWER: 3", "spends": [120, 0.25]},
    "Do write.": {"files": {"out.txt": "done\n", "sub/more.txt": "x"}, "answer": "Written.", "spends": [80, 0.5]},
}
WRONG = {
    "Do say.": {"answer": "ANSWER: <script>alert(1)</script>"},
    "Do write.": {"files": {"out.txt": "other\n"}, "asks": ["rm -rf /", 2]},
}


def test_evaluation_is_replayed_and_compared_with_a_baseline(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    """Results of replays are equal to the byte; the task's own files stay unchanged."""
    task("say", SAYS)
    task_folder = task("write", WRITES, files={"given.txt": "given\n"})
    descriptions = [agent("good", RIGHT), agent("bad", WRONG)]
    recording, first, again = tmp_path / "recording", tmp_path / "first.json", tmp_path / "again.json"
    done = evaluate("--agents", "good", "bad", "--record", str(recording), "--json", str(first))
    assert done.code == 1, done
    rows = {(each["agent"], each["task"]): each for each in json.loads(first.read_text())["results"]}
    assert {at: each["outcome"] for at, each in rows.items()} == {
        ("good", "say"): "right",
        ("good", "write"): "right",
        ("bad", "say"): "wrong",
        ("bad", "write"): "wrong",
    }
    assert rows["good", "write"]["files"] == ["out.txt (added)", "sub/more.txt (added)"]
    assert (rows["good", "say"]["tokens"], rows["good", "say"]["costs"]) == (120, {"USD": 0.25})
    assert (rows["bad", "write"]["asked"], rows["bad", "write"]["why"]) == (2, "out.txt has other words.")
    assert "is not a number" in rows["bad", "say"]["why"]
    lines = [each.split() for each in done.out.splitlines()]
    assert ["good", "2", "0", "0", "0", "0", "200", "0.75", "USD"] == lines[1][:9]
    assert ["say", "1", "of", "1", "0", "of", "1"] in lines
    assert sorted(each.name for each in (task_folder / "workspace").iterdir()) == ["given.txt"]

    assert not [*tmp_path.glob("data/sessions.db*"), *tmp_path.glob("data/changes")]
    for each in descriptions:
        each.unlink()
    before, page = tmp_path / "before.json", tmp_path / "report.html"
    better = json.loads(first.read_text())
    for each in better["results"]:
        each["outcome"] = "right" if each["task"] == "say" else "wrong"
    before.write_text(json.dumps(better))
    reports = ("--json", str(again), "--html", str(page))
    done = evaluate("--replay", str(recording), "--baseline", str(before), *reports)
    assert done.code == 1, done
    assert again.read_bytes() == first.read_bytes() == (recording / "eval.json").read_bytes()
    assert "Worse: say · bad: right in 0 of 1, before in 1 of 1" in done.out
    assert "Better: write · good: right in 1 of 1, before in 0 of 1" in done.out
    text = page.read_text()
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert "&lt;script&gt;" in text
    assert text.count("<details id=") == text.count('href="#run-') == 4


def test_crash_or_timeout_of_an_agent_leaves_its_task_undone(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    """The replay of that does not hang again."""
    task("hang", SAYS, seconds=1)
    task("crash", SAYS)
    agent("odd", {"Do hang.": {"end": "hang"}, "Do crash.": {"end": "crash"}})
    recording = tmp_path / "recording"
    done = evaluate("--agents", "odd", "--record", str(recording))
    assert done.code == 1
    rows = {each["task"]: each for each in json.loads((recording / "eval.json").read_text())["results"]}
    assert [each["outcome"] for each in rows.values()] == ["undone", "undone"]
    assert "exit code 3" in rows["crash"]["why"]
    assert rows["hang"]["why"] == "The agent was still working after 1 s."
    replayed = evaluate("--replay", str(recording), "--json", str(tmp_path / "again.json"))
    assert replayed.code == 1
    assert (tmp_path / "again.json").read_bytes() == (recording / "eval.json").read_bytes()


def test_recording_that_does_not_fit_the_tasks_is_broken(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    """The task changed, or a run is missing. A full disk is named."""
    folder = task("say", SAYS)
    agent("good", RIGHT)
    recording = tmp_path / "recording"
    disk = ("--json", "/dev/full") if Path("/dev/full").exists() else ()
    done = evaluate("--agents", "good", "--record", str(recording), *disk)
    assert (done.code, "/dev/full cannot be written: No space left" in done.err) == ((2, True) if disk else (0, False))
    gate = ("--replay", str(recording), "--baseline", str(recording / "eval.json"))
    done = evaluate(*gate)
    assert (done.code, "Nothing is worse than in the baseline." in done.out) == (0, True), done
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("Do say.", "Say it."))
    done = evaluate(*gate)
    assert done.code == 2, done
    assert "the prompt differs from the recorded one" in done.out
    assert "Changed since the baseline: say." in done.out
    done = evaluate(*gate, "--runs", "2")
    assert (done.code, "Run 2 of good at say is not recorded" in done.err) == (2, True)
    (recording / "say/good-1.cassette.jsonl").unlink()
    done = evaluate(*gate)
    assert (done.code, "good-1.cassette.jsonl is missing" in done.err) == (2, True)
