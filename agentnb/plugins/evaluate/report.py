"""The results as one self-contained, inert HTML page, whatever agents and checks wrote."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.api.columns import lines, on_one_line, shortened
from agentnb.credentials import Credentials
from agentnb.plugins.evaluate.results import SUMS_HEAD, rate_of, sums_of
from agentnb.plugins.export.page import entry_html, page_of, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentnb.plugins.evaluate.results import Evaluation, ResultComparison, RunResult
    from agentnb.plugins.evaluate.runner import Finished


TITLE = "Evaluation"
LONGEST_TRANSCRIPT = 200_000
LONGEST_DIFF = 20_000


def report(evaluation: Evaluation, finished: Sequence[Finished], comparison: ResultComparison | None = None) -> str:
    """Returns the whole page: the sums, a table of tasks, and each run with its transcript."""
    body = "\n".join(
        [
            f"<h1>{TITLE}</h1>",
            _sums(evaluation),
            *([_compared(comparison)] if comparison is not None else []),
            _tasks(evaluation),
            '<h2>Runs</h2><div class="runs">',
            *_runs(evaluation, finished),
            "</div>",
        ]
    )
    return page_of(TITLE, body, Path(__file__).with_name("report.css").read_text(encoding="utf-8"))


def _sums(evaluation: Evaluation) -> str:
    rows = [[_cell(agent), *map(_number, sums_of(evaluation.of(agent)))] for agent in evaluation.agents]
    count = f"{len(evaluation.tasks)} tasks, {evaluation.runs} run{'' if evaluation.runs == 1 else 's'} of each agent."
    return f"<p>{count}</p>{_table(('agent', *SUMS_HEAD), rows)}"


def _compared(comparison: ResultComparison) -> str:
    rows = [("Worse", each) for each in comparison.worse] + [("Better", each) for each in comparison.better]
    words = [f"<strong>{name}:</strong> {text(line)}" for name, line in rows]
    words += map(text, comparison.notes)
    words += [] if comparison.worse else ["Nothing is worse."]
    items = "".join(f"<li>{each}</li>" for each in words)
    return f"<h2>Compared with the baseline</h2>\n<ul>{items}</ul>"


def _tasks(evaluation: Evaluation) -> str:
    rows = []
    for name, task in evaluation.tasks.items():
        cells = [_cell(name)]
        for agent in evaluation.agents:
            links = (
                f'<a class="{each.outcome}" href="#{_anchor(evaluation, each)}">{each.outcome}</a>'
                for each in evaluation.of(agent, name)
            )
            cells.append(f"<td>{' '.join(links)}</td>")
        rows.append([*cells, _cell(task.title)])
    return f"<h2>Tasks</h2>{_table(('task', *evaluation.agents, 'title'), rows)}"


def _runs(evaluation: Evaluation, finished: Sequence[Finished]) -> Iterable[str]:
    hidden = Credentials(dict(os.environ)).hidden
    for name, task in evaluation.tasks.items():
        yield f"<h3>{text(name)}: {text(task.title)}</h3>"
        for each in finished:
            if each.result.task == name:
                yield _run(evaluation, each, hidden)


def _run(evaluation: Evaluation, finished: Finished, hidden: Callable[[str], str]) -> str:
    result = finished.result
    facts = [
        ("Why", result.why),
        ("Notebook", "" if result.verified is None else "verified" if result.verified else "not verified"),
        ("Found", "; ".join(result.findings)),
        ("Files", ", ".join(result.files)),
        ("Asked for permission", f"{result.asked} ({result.denied} denied)" if result.asked else ""),
        ("Confined", "yes" if result.is_confined else "no: it could read and write elsewhere"),
        ("Tokens", "" if result.tokens is None else f"{result.tokens:,}"),
    ]
    rows = "".join(f"<tr><th>{name}</th>{_cell(hidden(value))}</tr>" for name, value in facts if value)
    head = f'{text(result.agent)}, run {result.run}: <span class="{result.outcome}">{result.outcome}</span>'
    diffs = "".join(
        f"<details><summary>{text(each.path)} ({each.status})</summary>"
        f"<pre><code>{text(hidden(each.diff[:LONGEST_DIFF]))}</code></pre></details>"
        for each in finished.changes
        if each.diff
    )
    transcript = "".join(entry_html(replace(entry, source=hidden(_cut(entry.source)))) for entry in finished.transcript)
    return (
        f'<details id="{_anchor(evaluation, result)}"><summary>{head} ({result.seconds:.1f} s)</summary>'
        f'<table class="facts">{rows}</table>{diffs}{transcript}</details>'
    )


def _anchor(evaluation: Evaluation, result: RunResult) -> str:
    """Returns a safe anchor name for a run: names of tasks and agents may contain anything."""
    task, agent = [*evaluation.tasks].index(result.task), evaluation.agents.index(result.agent)
    return f"run-{task + 1}-{agent + 1}-{result.run}"


def _cut(source: str) -> str:
    if len(source) <= LONGEST_TRANSCRIPT:
        return source
    return f"{source[:LONGEST_TRANSCRIPT]}\n\n*{len(source) - LONGEST_TRANSCRIPT:,} characters are left out here.*"


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f"<th>{text(each)}</th>" for each in head)
    body = "".join(f"<tr>{''.join(each)}</tr>" for each in rows)
    return f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(words: str) -> str:
    return f"<td>{text(words)}</td>"


def _number(words: str) -> str:
    return f'<td class="number">{text(words)}</td>'


LONGEST_REASON = 160


def progress_line(result: RunResult, runs: int) -> str:
    number = f" · {result.run} of {runs}" if runs > 1 else ""
    why = shortened(on_one_line(result.why), LONGEST_REASON)
    outcome = f"{result.outcome}: {why}" if why else result.outcome
    return f"{result.task} · {result.agent}{number}: {outcome} ({result.seconds:.1f} s)"


def table(evaluation: Evaluation) -> str:
    """Returns the sums of each agent, then each task, then the reasons runs are not right."""
    sums = [(agent, *sums_of(evaluation.of(agent))) for agent in evaluation.agents]
    tasks = [
        (name, *(rate_of(evaluation.of(agent, name)).words for agent in evaluation.agents)) for name in evaluation.tasks
    ]
    reasons = [progress_line(each, evaluation.runs) for each in evaluation.results if each.outcome != "right"]
    left = len(evaluation.not_run)
    if left:
        runs = f"{left} run{'' if left == 1 else 's'}"
        reasons.append(f"{runs} left out. Later: the same command with --resume and the file that --json wrote.")
    parts = [lines([("agent", *SUMS_HEAD), *sums]), lines([("task", *evaluation.agents), *tasks]), reasons]
    return "\n\n".join("\n".join(each) for each in parts if each)


def comparison_lines(comparison: ResultComparison) -> list[str]:
    return [
        *(f"Worse: {each}" for each in comparison.worse),
        *(f"Better: {each}" for each in comparison.better),
        *comparison.notes,
        *([] if comparison.worse else ["Nothing is worse than in the baseline."]),
    ]
