"""The results of an evaluation: one for each run, as a file keeps them, and compared with an earlier evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.map.runner import add_costs, money
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's answer, permission requests and usage in a run.

    Attributes:
        asked: How often it asked for permission.
        denied: How often that was denied.
        tokens: The tokens that it used, if it reports them.
        costs: The cost by currency, if it reports it.
        is_confined: True if it could reach only its workspace.
    """

    answer: str = ""
    asked: int = 0
    denied: int = 0
    tokens: int | None = None
    costs: dict[str, float] = {}
    seconds: float = 0.0
    is_confined: bool = False


FORM = 1
Outcome: TypeAlias = Literal["right", "wrong", "undone", "broken", "not run"]
"""``right`` and ``wrong``: the check's result. ``undone``: the agent did not finish. ``broken``: not the agent's fault:
the check failed, or the recording does not fit. ``not run``: the budget of a day is used up."""
NOTHING_TO_CHECK = ("undone", "not run")
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "undone", "broken")


class RunResult(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one run, besides its figures.

    Attributes:
        agent: The agent, as the user named it.
        run: The run's number, from 1.
        why: Why it is not right, a sentence.
        files: The files that it changed in its workspace.
        verified: True if the notebook that it left runs from the top; None if it left none.
        findings: Why it is not verified, a sentence each.
    """

    task: str
    agent: str
    run: int
    outcome: Outcome
    why: str = ""
    files: tuple[str, ...] = ()
    verified: bool | None = None
    findings: tuple[str, ...] = ()


class TaskSummary(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    digest: str


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """All results.

    Attributes:
        agentnb_eval: The version of the file format.
        agents: The agents, as the user named them.
        runs: How often each agent did each task.
        results: The results, ordered by agent, task and run.
    """

    agentnb_eval: int
    tasks: dict[str, TaskSummary]
    agents: tuple[str, ...]
    runs: int
    results: tuple[RunResult, ...]

    def of(self, agent: str, task: str | None = None) -> list[RunResult]:
        return [each for each in self.results if each.agent == agent and task in (None, each.task)]

    @property
    def not_run(self) -> list[RunResult]:
        return [each for each in self.results if each.outcome == "not run"]

    def done(self, tasks: Mapping[str, str]) -> list[RunResult]:
        """Returns the results for *tasks* (digests by name) that need not be produced again."""
        same = {name for name, known in self.tasks.items() if tasks.get(name) == known.digest}
        return [each for each in self.results if each.task in same and each.outcome != "not run"]

    def text(self) -> str:
        """Returns the text of the file, which is equal for equal results."""
        return f"{msgspec.json.format(msgspec.json.encode(self, order='sorted')).decode()}\n"


SUMS_HEAD = ("right", "wrong", "undone", "broken", "verified", "asked", "tokens", "cost", "time")


def sums_of(results: Sequence[RunResult]) -> tuple[str, ...]:
    """Returns the totals over all runs of an agent, as cells below :data:`SUMS_HEAD`."""
    costs: dict[str, float] = {}
    for each in results:
        add_costs(costs, each.costs)
    verified = [each.verified for each in results if each.verified is not None]
    tokens = [each.tokens for each in results if each.tokens is not None]
    return (
        *(str(sum(each.outcome == outcome for each in results)) for outcome in OUTCOMES),
        f"{sum(verified)} of {len(verified)}" if verified else "",
        str(sum(each.asked for each in results)),
        f"{sum(tokens):,}" if tokens else "",
        money(costs),
        f"{sum(each.seconds for each in results):.1f} s",
    )


def read_evaluation(path: Path, what: str) -> Evaluation:
    """Returns the evaluation in the file *path*, which errors call *what*; raises a UsageError if it cannot be read."""
    hint = "agentnb eval … --json FILE writes one."
    try:
        evaluation = read_record(path.read_bytes(), Evaluation)
    except OSError as error:
        raise UsageError(f"{what} {path} cannot be read: {error.strerror}.", hint=hint) from None
    except ValueError as error:
        raise UsageError(f"{what} {path} has no results of an evaluation: {error}.", hint=hint) from None
    if evaluation.agentnb_eval > FORM:
        raise UsageError(f"{what} {path} was written by a newer agentnb.", hint="Update agentnb.")
    return evaluation


class ResultComparison(NamedTuple):
    """An evaluation compared with an earlier one: sentences on what is worse, what is better, and other notes."""

    worse: tuple[str, ...]
    better: tuple[str, ...]
    notes: tuple[str, ...]


def check_baseline(before: Evaluation, tasks: Sequence[str], agents: Sequence[str], path: Path) -> None:
    """Raise a UsageError if *before* shares no task or no agent with these, or has tasks that are not run now."""
    for what, wanted, known in (("tasks", tasks, before.tasks), ("agents", agents, before.agents)):
        if not set(wanted) & set(known):
            message = f"The baseline {path} is of other {what}: {', '.join(known)}."
            raise UsageError(message, hint="Write one of these with --json.")
    missing = sorted(before.tasks.keys() - set(tasks))
    if missing:
        raise UsageError(
            f"The baseline {path} has tasks that are not run: {', '.join(missing)}.",
            hint="Run them as well, or write a new baseline with --json.",
        )


def compared(now: Evaluation, before: Evaluation) -> ResultComparison:
    """Compare each agent's right answers to each task with those of an earlier evaluation."""
    agents = [each for each in now.agents if each in before.agents]
    common = [each for each in now.tasks if each in before.tasks]
    worse: list[str] = []
    better: list[str] = []
    for agent in agents:
        for task in common:
            if any(each.outcome == "not run" for each in (*before.of(agent, task), *now.of(agent, task))):
                continue
            rates = [rate_of(each.of(agent, task)) for each in (before, now)]
            if rates[1].part != rates[0].part:
                line = f"{task} · {agent}: right in {rates[1].words}, before in {rates[0].words}"
                (worse if rates[1].part < rates[0].part else better).append(line)
    changed = [each for each in common if now.tasks[each].digest != before.tasks[each].digest]
    notes = [f"Changed since the baseline: {', '.join(changed)}."] if changed else []
    new = [each for each in now.tasks if each not in before.tasks] + [each for each in now.agents if each not in agents]
    notes += [f"Not in the baseline: {', '.join(new)}."] if new else []
    return ResultComparison(tuple(worse), tuple(better), tuple(notes))


class Rate(NamedTuple):
    """The share of some runs that are right."""

    right: int
    runs: int

    @property
    def part(self) -> float:
        """From 0 to 1."""
        return self.right / self.runs if self.runs else 0.0

    @property
    def words(self) -> str:
        """Such as ``1 of 2``."""
        return f"{self.right} of {self.runs}"


def rate_of(results: Sequence[RunResult]) -> Rate:
    return Rate(sum(each.outcome == "right" for each in results), len(results))
