"""The plug-in: `agentnb eval` has agents do tasks of one's own, and says which answers are right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.command import FAILED, MISUSED, OK, Command, Option, complain, write
from agentnb.distribution import manual
from agentnb.errors import AgentnbError, UsageError
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from agentnb.plugins.evaluate.recordings import Recordings
    from agentnb.plugins.evaluate.results import Evaluation, ResultComparison
    from agentnb.plugins.evaluate.runner import Finished

JOBS = 2
MOST_RUNS, MOST_JOBS = 1_000, 64
LEFT_OUT = 3


def _eval(arguments: argparse.Namespace) -> int:
    try:
        return _evaluated(arguments)
    except AgentnbError as error:
        complain(str(error))
        return MISUSED


def _evaluated(arguments: argparse.Namespace) -> int:
    from agentnb.plugins.evaluate.recordings import check_report, write_report
    from agentnb.plugins.evaluate.report import comparison_lines, progress_line, report, table
    from agentnb.plugins.evaluate.results import check_baseline, compared, read_evaluation
    from agentnb.plugins.evaluate.runner import EvaluationRunner
    from agentnb.plugins.evaluate.task import read_tasks

    if not arguments.words:
        complain("Specify the folder with the tasks: agentnb eval tasks --agents claude.")
        return MISUSED
    runs, jobs = _number(arguments.runs, 1, MOST_RUNS, "--runs"), _number(arguments.jobs, JOBS, MOST_JOBS, "--jobs")
    tasks = read_tasks(arguments.words)
    earlier = _earlier(arguments)
    if earlier is not None:
        arguments.agents = arguments.agents or earlier.agents
        runs = runs if arguments.runs is not None else earlier.runs
    recordings, agents, runs = _recordings(arguments, [each.name for each in tasks], runs)
    baseline = None if arguments.baseline is None else Path(arguments.baseline)
    before = None
    if baseline is not None:
        before = read_evaluation(baseline, "The baseline")
        check_baseline(before, [each.name for each in tasks], agents, baseline)
    files = [None if each is None else Path(each) for each in (arguments.json or arguments.resume, arguments.html)]
    for path in filter(None, files):
        check_report(path)

    def tell(finished: Finished) -> None:
        print(progress_line(finished.result, runs), file=sys.stderr, flush=True)

    answers = [each for each in (baseline, *files) if each is not None]
    done = [] if earlier is None else earlier.done({each.name: each.digest for each in tasks})
    runner = EvaluationRunner(tasks, agents, runs, recordings, answers, done=done)
    finished = runner.run(jobs, tell)
    evaluation = runner.evaluation(finished)
    write(table(evaluation))
    if recordings is not None:
        recordings.save(evaluation)
    comparison = None if before is None else compared(evaluation, before)
    if comparison is not None:
        write("\n".join(["", *comparison_lines(comparison)]))
    if files[0] is not None:
        write_report(files[0], evaluation.text())
    if files[1] is not None:
        write_report(files[1], report(evaluation, finished, comparison))
    return _exit_code(evaluation, comparison)


def _earlier(arguments: argparse.Namespace) -> Evaluation | None:
    from agentnb.plugins.evaluate.results import read_evaluation

    if arguments.resume is None:
        return None
    if arguments.replay is not None:
        raise UsageError("--resume and --replay exclude each other.", hint="A replay makes all runs.")
    return read_evaluation(Path(arguments.resume), "The evaluation")


def _recordings(
    arguments: argparse.Namespace, tasks: Sequence[str], runs: int
) -> tuple[Recordings | None, tuple[str, ...], int]:
    from agentnb.api.configured import configured
    from agentnb.plugins.evaluate.recordings import Recordings

    named = tuple(dict.fromkeys(arguments.agents or ()))
    if arguments.record is not None and arguments.replay is not None:
        raise UsageError("--record and --replay cannot be combined.", hint="Record first, then replay.")
    folder = arguments.record if arguments.record is not None else arguments.replay
    recordings = None
    if folder is not None:
        recordings = Recordings(Path(folder).expanduser().resolve(), is_replayed=arguments.replay is not None)
    if recordings is not None and recordings.recorded is not None:
        agents = named or recordings.recorded.agents
        runs = runs if arguments.runs is not None else recordings.recorded.runs
        recordings.check(tasks, agents, runs)
        return recordings, agents, runs
    if not named:
        raise UsageError(
            "No agent was given.", hint="agentnb eval tasks --agents claude codex; `agentnb agents` lists them."
        )
    for each in named:  # before others are paid for
        configured(each.partition("/")[0], None, None, None)
    return recordings, named, runs


def _number(value: int | None, usual: int, most: int, flag: str) -> int:
    if value is not None and not 1 <= value <= most:
        raise UsageError(f"{flag} {value} is not a number from 1 to {most:,}.")
    return usual if value is None else value


def _exit_code(evaluation: Evaluation, comparison: ResultComparison | None) -> int:
    outcomes = {each.outcome for each in evaluation.results}
    if "broken" in outcomes:
        return MISUSED
    if evaluation.not_run:
        return LEFT_OUT
    if comparison is not None:
        return FAILED if comparison.worse else OK
    return OK if outcomes <= {"right"} else FAILED


COMMANDS = (
    Command(
        "eval",
        "Runs agents on your tasks, each in a fresh copy of its files, and reports which answers are right.",
        "The exit code is 0 if all runs are right or, with --baseline, if no task is worse than in the baseline. "
        "It is 1 otherwise; 2 if something could not be evaluated: a wrong argument, an invalid task or report, a "
        "check that fails, or a recording that is missing or does not match; and 3 if runs were left out because "
        f"the budget of the day was spent. See {manual('how-to/evaluate')}",
        _eval,
        (
            Option("--agents", "the agents, by name; NAME/MODEL chooses a model", "NAME …"),
            Option("--runs", "how many times each agent does each task; 1 by default", "N", kind=int),
            Option("--jobs", f"how many runs to do at the same time; {JOBS} by default", "N", kind=int),
            Option("--baseline", "results of an earlier evaluation to compare with: only worse results fail", "FILE"),
            Option("--json", "write the results to FILE, as JSON", "FILE"),
            Option("--html", "write a one-page report with all transcripts to FILE", "FILE"),
            Option("--resume", "do the runs missing from FILE, which --json wrote, and add their results", "FILE"),
            Option("--record", "record each run in FOLDER", "FOLDER"),
            Option("--replay", "replay the runs recorded in FOLDER, without agents or models", "FOLDER"),
        ),
        ("FOLDER", "tasks, or folders with tasks in them"),
    ),
)
PLUGIN = Plugin(name="evaluate", summary="Evaluates agents on your own tasks.", commands=COMMANDS)
