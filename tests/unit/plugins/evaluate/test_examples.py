"""The example tasks: a right solution passes each check, and no wrong one does."""

from __future__ import annotations

from pathlib import Path

from agentnb.plugins.evaluate.task import read_tasks
from scripts.make_eval_tasks import EXAMPLES, hunt, write_tasks


def test_examples_pass_their_right_solutions_and_no_wrong_one(tmp_path: Path) -> None:
    counts, odd = hunt(tmp_path)
    assert odd == []
    assert counts["right: right"] == len(EXAMPLES) == 20
    assert counts["wrong: wrong"] >= 200


def test_examples_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_tasks(tmp_path / name)
    one, other = (read_tasks([str(tmp_path / name)]) for name in ("one", "other"))
    assert [each.digest for each in one] == [each.digest for each in other]
