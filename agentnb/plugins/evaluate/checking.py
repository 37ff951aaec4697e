"""Runs a task's check in a process of its own: without network, with limits of time and memory, on a copy."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.evaluate import check_program
from agentnb.plugins.rehearsal.command import rehearse_command
from agentnb.plugins.verify.run import ProgramExchange, end_all, start_silent
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from typing_extensions import Self

    from agentnb.plugins.evaluate.results import Outcome
    from agentnb.plugins.evaluate.task import Task

MEMORY = 4 * 1024**3
"""Bytes of memory that a check may use."""
LARGEST_REPORT = 64 * 1024


class Left(NamedTuple):
    """The result of an agent's run: its answer, workspace and findings, and its notebook as run from the top."""

    answer: str
    folder: Path
    notebook: dict[str, Any] | None
    verified: bool | None
    findings: tuple[str, ...]


class Checked(NamedTuple):
    outcome: Outcome
    why: str = ""


def check(task: Task, left: Left) -> Checked:
    return check_closed_in(task, left) or check_in_the_open(task, left)


def check_closed_in(task: Task, left: Left) -> Checked | None:
    """Run the check confined, like a preview; returns None if nothing can be confined here."""
    with _Exchange(_order(task, left)) as exchange:
        ended = rehearse_command(
            f"exec {shlex.join(exchange.command)}",
            left.folder,
            env=_environment(),
            seconds=task.check_seconds,
            descriptors=exchange.descriptors,
        )
        if not ended.available:
            return None
        return exchange.outcome() or _trouble(ended.error, task.check_seconds, ended.exit_code)


def check_in_the_open(task: Task, left: Left) -> Checked:
    """Run the check where nothing can be confined: the workspace is discarded, too, and Python refuses the network."""
    with _Exchange({**_order(task, left), "block_network": True}) as exchange:
        process = start_silent(exchange.command, left.folder, _environment(), exchange.descriptors)
        late = None
        try:
            process.wait(task.check_seconds)
        except subprocess.TimeoutExpired:
            late = "It took longer than its limit"
        finally:
            end_all(process)
        return exchange.outcome() or _trouble(late, task.check_seconds, process.returncode)


def _order(task: Task, left: Left) -> dict[str, Any]:
    places = {"folder": str(left.folder), "task": str(task.folder)}
    return {**left._asdict(), **places, "memory": MEMORY, "block_network": False}


def _trouble(error: str | None, seconds: float, status: int | None) -> Checked:
    if error is not None and "longer than" in error:
        return Checked("broken", f"check.py was still running after {seconds:g} s (check_seconds in task.toml).")
    how = error.rstrip(".") if error else f"it ended with exit code {status}"
    return Checked("broken", f"check.py gave no answer: {how}.")


def _environment() -> dict[str, str]:
    return {**os.environ, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


class _Exchange(ProgramExchange):
    def __init__(self, order: Mapping[str, Any]) -> None:
        super().__init__(check_program.__file__, order)
        os.set_blocking(self._reading, False)

    def outcome(self) -> Checked | None:
        """Returns the result, once the check has ended; None if there is none."""
        try:
            report = read_json(os.read(self._reading, LARGEST_REPORT))
            return Checked(report["outcome"], report["why"])
        except (BlockingIOError, ValueError, KeyError, TypeError):
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        for each in (self._reading, self._reporting):
            os.close(each)
