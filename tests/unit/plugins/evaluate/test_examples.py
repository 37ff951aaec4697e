"""The example tasks: a right solution passes each check, a wrong one fails."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from scripts.eval_tasks.tables import JOIN
from scripts.make_eval_tasks import EXAMPLES, hunt
from tests.conftest import ROOT
from tests.unit.plugins.evaluate.conftest import Eval


def test_examples_accept_right_and_reject_wrong_solutions(tmp_path: Path) -> None:
    counts, odd = hunt(tmp_path)
    assert odd == []
    assert counts["right: right"] == len(EXAMPLES) == 20
    assert counts["wrong: wrong"] >= 200


def test_example_task_of_the_docs_works_unchanged(tmp_path: Path, evaluate: Eval) -> None:
    page = (ROOT / "docs/how-to/evaluate.md").read_text(encoding="utf-8")
    toml, check = (
        re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0] for language in ("toml", "python")
    )
    folder = JOIN.write(tmp_path)
    (folder / "task.toml").write_text(toml)
    (folder / "check.py").write_text(check)
    assert f'title = "{JOIN.title}"\n' in toml
    assert "There is no agent called 'nobody'" in evaluate("--agents", "nobody", tasks=folder).err  # not the task
    manual = dataclasses.replace(JOIN, check=check)
    assert manual.outcome(folder, manual.right(folder)) == ("right", "")
    assert {manual.outcome(folder, each)[0] for each in manual.wrong(folder)} == {"wrong"}
