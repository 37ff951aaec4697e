"""The results as lines of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.api.columns import lines, on_one_line, shortened
from agentnb.plugins.evaluate.results import SUMS_HEAD, rate_of, sums_of

if TYPE_CHECKING:
    from agentnb.plugins.evaluate.results import Evaluation, ResultComparison, RunResult

LONGEST_REASON = 160


def progress_line(result: RunResult, runs: int) -> str:
    """A run that has ended, in a line."""
    number = f" · {result.run} of {runs}" if runs > 1 else ""
    return f"{result.task} · {result.agent}{number}: {_outcome(result)} ({result.seconds:.1f} s)"


def table(evaluation: Evaluation) -> str:
    """The sums of each agent, then each task, then why runs are not right."""
    sums = [(agent, *sums_of(evaluation.of(agent)).cells) for agent in evaluation.agents]
    tasks = [
        (name, *(right_of(evaluation.of(agent, name)) for agent in evaluation.agents)) for name in evaluation.tasks
    ]
    reasons = [progress_line(each, evaluation.runs) for each in evaluation.results if each.outcome != "right"]
    left = len(evaluation.not_run)
    if left:
        runs = f"{left} run{'' if left == 1 else 's'}"
        reasons.append(f"{runs} left out. Later: the same command with --resume and the file that --json wrote.")
    parts = [lines([("agent", *SUMS_HEAD), *sums]), lines([("task", *evaluation.agents), *tasks]), reasons]
    return "\n\n".join("\n".join(each) for each in parts if each)


def comparison_lines(comparison: ResultComparison) -> list[str]:
    """What is worse and better than the baseline."""
    return [
        *(f"Worse: {each}" for each in comparison.worse),
        *(f"Better: {each}" for each in comparison.better),
        *comparison.notes,
        *([] if comparison.worse else ["Nothing is worse than in the baseline."]),
    ]


def right_of(results: list[RunResult]) -> str:
    """How many of the runs of a task are right.

    Example:
        >>> from agentnb.plugins.evaluate.results import RunResult
        >>> right_of([RunResult(task="sum", agent="tour", run=1, outcome="right")])
        '1 of 1'
    """
    return rate_of(results).words


def _outcome(result: RunResult) -> str:
    why = shortened(on_one_line(result.why), LONGEST_REASON)
    return f"{result.outcome}: {why}" if why else result.outcome
