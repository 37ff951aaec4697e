"""The example tasks: a right solution passes each check, a wrong one fails."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from agentnb.plugins.evaluate.task import read_tasks
from scripts.eval_tasks.tables import JOIN
from scripts.make_eval_tasks import EXAMPLES, hunt, write_tasks
from tests.conftest import ROOT


def test_examples_accept_right_and_reject_wrong_solutions(tmp_path: Path) -> None:
    counts, odd = hunt(tmp_path)
    assert odd == []
    assert counts["right: right"] == len(EXAMPLES) == 20
    assert counts["wrong: wrong"] >= 200


def test_examples_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_tasks(tmp_path / name)
    one, other = (read_tasks([str(tmp_path / name)]) for name in ("one", "other"))
    assert [each.digest for each in one] == [each.digest for each in other]


def test_example_task_of_the_docs_works_unchanged(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/evaluate.md").read_text(encoding="utf-8")
    toml, check = (
        re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0] for language in ("toml", "python")
    )
    folder = JOIN.write(tmp_path)
    (folder / "task.toml").write_text(toml)
    (folder / "check.py").write_text(check)
    assert read_tasks([str(folder)])[0].title == JOIN.title
    manual = dataclasses.replace(JOIN, check=check)
    assert manual.outcome(folder, manual.right(folder)) == ("right", "")
    assert {manual.outcome(folder, each)[0] for each in manual.wrong(folder)} == {"wrong"}
