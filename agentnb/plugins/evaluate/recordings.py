"""The cassettes in which the runs of an evaluation are recorded, one per run, and from which they are replayed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agentnb.cassette.recorder import check_place
from agentnb.cassette.switch import MODE, PATH
from agentnb.errors import UsageError
from agentnb.plugins.evaluate.results import NOTHING_TO_CHECK, Evaluation, RunResult, read_evaluation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RESULTS = "eval.json"
SUFFIX = ".cassette.jsonl"
_UNSAFE = re.compile(r"[^\w.-]+")


class Recordings:
    """A folder with a cassette for each run, and the results of the recorded runs (None while recording)."""

    def __init__(self, folder: Path, *, is_replayed: bool) -> None:
        self.folder = folder
        self.is_replayed = is_replayed
        self.recorded: Evaluation | None = None
        if not is_replayed:
            check_place(folder / RESULTS)
            return
        if not (folder / RESULTS).is_file():
            raise UsageError(
                f"There is no recording in {folder}: {RESULTS} is missing.",
                hint="agentnb eval … --record FOLDER makes one.",
            )
        self.recorded = read_evaluation(folder / RESULTS, "The recording")

    def prepared(self, tasks: Sequence[str]) -> list[Path]:
        """Returns the folders of the tasks, which are created for a recording, and the results file."""
        folders = [self.folder / each for each in tasks]
        for each in () if self.is_replayed else folders:
            each.mkdir(parents=True, exist_ok=True)
        return [*folders, self.folder / RESULTS]

    def environment(self, task: str, agent: str, run: int) -> dict[str, str]:
        path = self._cassette(task, agent, run)
        return {PATH: str(path), MODE: "replay" if self.is_replayed else "record", "AGENTNB_IDS": "counted"}

    def result(self, task: str, agent: str, run: int) -> RunResult | None:
        """Returns the result of a run when it was recorded; None while it is being recorded."""
        if self.recorded is None:
            return None
        return next((each for each in self.recorded.of(agent, task) if each.run == run), None)

    def check(self, tasks: Sequence[str], agents: Sequence[str], runs: int) -> None:
        """Raise a UsageError unless all runs to replay are recorded."""
        if not self.is_replayed:
            return
        wanted = [(task, agent, run) for agent in agents for task in tasks for run in range(1, runs + 1)]
        for each in wanted:
            known = self.result(*each)
            path = self._cassette(*each)
            if known is None or (known.outcome not in NOTHING_TO_CHECK and not path.is_file()):
                task, agent, run = each
                raise UsageError(
                    f"Run {run} of {agent} at {task} is not recorded: {path} is missing.",
                    hint="Record it with --record, or name other tasks, agents or --runs.",
                )

    def save(self, evaluation: Evaluation) -> None:
        if not self.is_replayed:
            write_report(self.folder / RESULTS, evaluation.text())

    def _cassette(self, task: str, agent: str, run: int) -> Path:
        return self.folder / task / f"{_UNSAFE.sub('-', agent)}-{run}{SUFFIX}"


def check_report(path: Path) -> None:
    """Raise a UsageError if a report cannot be written, before agents cost anything."""
    can = os.access(path, os.W_OK) if path.exists() else os.access(path.parent, os.W_OK)
    if path.is_dir() or not path.parent.is_dir() or not can:
        raise UsageError(f"{path} cannot be written.", hint="Specify a file in a folder that you can write to.")


def write_report(path: Path, text: str) -> None:
    """Write a report.

    Raises:
        UsageError: If it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Specify another file.") from None
