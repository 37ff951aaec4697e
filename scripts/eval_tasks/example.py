"""An example task: its files, its check, a right solution and wrong ones."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.evaluate.check_program import Run, outcome_of
from agentnb.toml_file import toml_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Files = Mapping[str, str | bytes]

SEED = 33
FEWEST = 10
"""How many wrong solutions a task has at least."""


class Made(NamedTuple):
    """The files that the agent gets, and those that are held back beside the check."""

    workspace: Files
    held: Files = {}  # noqa: RUF012 - a tuple's default


class Solution(NamedTuple):
    """What an agent might say and write."""

    answer: str = "Done."
    files: Files = {}  # noqa: RUF012 - a tuple's default


@dataclass(frozen=True)
class Example:
    """One task.

    Attributes:
        name: The folder's name.
        title: A line for people.
        prompt: What the agent is asked.
        make: Makes the files, from a source of chance.
        solve: Solves it in a folder; its keywords are ways to do it wrong.
        mistakes: Such keywords.
        check: The text of `check.py`.
        vary: Other wrong solutions, made from the right one.
        notebook: The notebook, where there is one.
    """

    name: str
    title: str
    prompt: str
    make: Callable[[random.Random], Made]
    solve: Callable[..., Solution]
    mistakes: tuple[Mapping[str, Any], ...]
    check: str
    vary: Callable[[Solution], Iterator[Solution]]
    notebook: str = ""

    def write(self, tasks: Path) -> Path:
        """Write the task's folder: equal bytes each time."""
        folder = tasks / self.name
        made = self.make(random.Random(f"{SEED} {self.name}"))  # noqa: S311 - data
        notebook = f"notebook = {toml_text(self.notebook)}\n" if self.notebook else ""
        prompt = f'"""\n{self.prompt.strip()}\n"""'
        _put(folder, {"task.toml": f"title = {toml_text(self.title)}\n{notebook}prompt = {prompt}\n"})
        _put(folder, {"check.py": self.check.lstrip(), **made.held})
        _put(folder / "workspace", made.workspace)
        return folder

    def right(self, folder: Path) -> Solution:
        """The right solution of the task written in *folder*."""
        return self.solve(folder / "workspace")

    def wrong(self, folder: Path) -> list[Solution]:
        """Wrong solutions: each differs from the right one, and from the others."""
        right = self.right(folder)
        made = [self.solve(folder / "workspace", **each) for each in self.mistakes]
        unlike = [each for each in made if each == right]
        if unlike:
            raise ValueError(f"{self.name}: {len(unlike)} mistakes make no difference.")
        different: list[Solution] = []
        for each in [*made, *self.vary(right)]:
            if each != right and each not in different:
                different.append(each)
        if len(different) < FEWEST:
            raise ValueError(f"{self.name}: only {len(different)} wrong solutions.")
        return different

    def outcome(self, folder: Path, solution: Solution) -> tuple[str, str]:
        """What the task's check says of a solution, in this process."""
        scope: dict[str, Any] = {}
        with tempfile.TemporaryDirectory(prefix="agentnb-eval-") as temporary:
            workspace = Path(temporary, "workspace")
            shutil.copytree(folder / "workspace", workspace)
            _put(workspace, solution.files)
            order = {"answer": solution.answer, "folder": str(workspace), "task": str(folder), "findings": []}
            run = Run({**order, **_notebook(workspace, self.notebook)})
            exec(compile(self.check, str(folder / "check.py"), "exec"), scope)  # noqa: S102 - ours
            return outcome_of(scope["check"], run)


def _put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _notebook(workspace: Path, name: str) -> dict[str, Any]:
    """The notebook as a check gets it; it counts as verified where its code runs."""
    if not name:
        return {"notebook": None, "verified": None}
    notebook = json.loads((workspace / name).read_text())
    run = Run(
        {"answer": "", "folder": str(workspace), "task": "", "notebook": notebook, "verified": True, "findings": []}
    )
    try:
        printed = run.python(run.code)
    except AssertionError:
        return {"notebook": notebook, "verified": False}
    code = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    code[-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": printed}]
    return {"notebook": notebook, "verified": True}


# --- texts ---


def table(head: str, rows: Any, **options: Any) -> str:
    """Rows as CSV below a head of names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", **options)
    writer.writerow(head.split())
    writer.writerows(rows)
    return text.getvalue()


def notebook_of(*sources: str) -> str:
    """A notebook with these cells of code, not run."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"cell-{n}", "metadata": {}, "source": each, "outputs": [], "execution_count": None}
        for n, each in enumerate(sources, 1)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def csv_of(frame: Any) -> str:
    """A data frame as CSV."""
    return str(frame.to_csv(index=False))


# --- wrong solutions that are made from the right one ---


def vary_table(right: Solution) -> Iterator[Solution]:
    """A table with a fault in its rows, columns or values; or none at all."""
    (name, content), *others = right.files.items()
    text = content if isinstance(content, str) else content.decode()
    head, *rows = list(csv.reader(io.StringIO(text)))

    def made(new_head: list[str], new_rows: list[list[str]]) -> Solution:
        return Solution(right.answer, {name: table(" ".join(new_head), new_rows), **dict(others)})

    yield Solution(right.answer, {})
    yield made(head, [])
    yield made(head, rows[:-1])
    yield made(head, [*rows, rows[0]])
    yield made([*head[:-1], "result"], rows)
    yield made(head[:-1], [each[:-1] for each in rows])
    for change in (lambda x: x * 1.01, lambda x: x + 1, lambda x: -x - 1, lambda x: x / 100, lambda x: round(x) + 2):
        yield made(head, [[*each[:-1], _changed(each[-1], change)] for each in rows])
    yield made(head, [[*each[:-1], last[-1]] for each, last in zip(rows, [*rows[1:], rows[0]], strict=True)])
    yield made(head, [[*rows[0][:-1], ""], *rows[1:]])
    yield made(head, [["x", *rows[0][1:]], *rows[1:]])


def _changed(text: str, change: Callable[[float], float]) -> str:
    with suppress(ValueError):
        return repr(change(float(text)))
    return f"{text}{change(1)}"


def vary_number(right: Solution) -> Iterator[Solution]:
    """Other numbers, and answers that commit to none."""
    value = float(right.answer.rpartition(":")[2])
    for other in (value * 1.01, value * 0.99, value + 1, -value, value * 100, value / 100, 1 / value, 0.0):
        yield Solution(f"ANSWER: {other!r}")
    yield Solution(f"It is {value!r}.")
    yield Solution("ANSWER: unknown")
    yield Solution(f"ANSWER: {value * 2!r} or {value!r}")
    yield Solution("")


def vary_names(right: Solution) -> Iterator[Solution]:
    """Lists with a name too few or too many."""
    names = right.answer.rpartition(":")[2].strip().split(", ")
    for each in names:
        yield Solution(f"ANSWER: {', '.join(other for other in names if other != each)}")
    for more in ("amount", "customer_id", "region"):
        yield Solution(f"ANSWER: {', '.join([*names, more])}")
    yield Solution(f"The columns are {', '.join(names)}.")
    yield Solution("ANSWER: none")
    yield Solution("ANSWER: all of them")
