"""The progress of a batch and its results so far, as values and as text."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import msgspec

from agentnb.api.answers import Answer_co
from agentnb.api.columns import html, lines, on_one_line
from agentnb.errors import UsageError
from agentnb.plugins.map.runner import BatchRunner, money
from agentnb.plugins.map.workspaces import WorkspaceChange, put_into

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentnb.api.session import Session
    from agentnb.plugins.map.asking import BatchQuestion
    from agentnb.plugins.map.cassette import AnswerCassette
    from agentnb.plugins.map.cluster import Cluster
    from agentnb.plugins.map.inputs import InputPrompt
    from agentnb.plugins.map.records import BatchRow, BatchRows

_LISTED = 10


class _Fields(NamedTuple):  # separate: on Python 3.10, a named tuple can't be generic
    number: int
    label: Any
    prompt: str
    state: str
    text: str
    output: Any  # the answer as the requested type; None if no type was requested
    error: str  # why it failed; empty if it did not
    reason: str
    attempts: int
    input_tokens: int | None  # tokens that the model read; None if the agent does not report it
    output_tokens: int | None
    costs: dict[str, float]
    seconds: float
    session: str
    log: str = ""  # the log with its conversation, ``machine:file``; empty for this kernel's log
    changes: tuple[WorkspaceChange, ...] = ()
    folder: str = ""


class BatchResult(_Fields, Generic[Answer_co]):
    """The result of one input."""

    __slots__ = ()
    if TYPE_CHECKING:
        output: Answer_co | None

    def open(self) -> Session:
        """Open the conversation of this input."""
        from agentnb.api.history import resume

        if not self.session:
            raise UsageError(f"Input {self.number} has no conversation.", hint="It was not asked.")
        if self.log:
            raise UsageError(
                f"The conversation of input {self.number} is in another log: {self.log}.",
                hint=f"agentnb.resume({self.session!r}) opens it there.",
            )
        return resume(self.session)

    def keep(self) -> tuple[str, ...]:
        """Apply the agent's changes in its copy to the folder, all or nothing; returns the names of the files."""
        return put_into(Path(self.folder or "."), self.changes)


class BatchStatus(Generic[Answer_co]):
    """The status and the results of a batch that runs or has ended."""

    def __init__(
        self,
        question: BatchQuestion,
        inputs: Iterable[InputPrompt],
        records: BatchRows,
        cassette: AnswerCassette | None,
        *,
        total: int | None,
        cluster: Cluster | None,
    ) -> None:
        self.id: str = records.id
        self.total = total
        self.note: str = records.note
        self.is_shown_here: Callable[[], bool] = lambda: False
        self._question = question
        self._records = records
        self._listeners: list[Callable[[], None]] = []
        self._cluster = cluster
        is_lazy = total is None
        self._runner = BatchRunner(question, inputs, records, cassette, self._notify, is_lazy=is_lazy, cluster=cluster)

    @property
    def done(self) -> bool:
        """True if the batch has ended."""
        return self._runner.ended

    @property
    def counts(self) -> dict[str, int]:
        """Returns how many inputs are running, done, failed and cancelled."""
        return dict(self._runner.counts)

    @property
    def seconds(self) -> float:
        """Returns how many seconds the batch took, or has taken so far."""
        return self._runner.seconds

    @property
    def seconds_left(self) -> float | None:
        """Returns how many seconds the batch may still take, judged by its pace so far; None if that is unknown."""
        ended = sum(number for state, number in self.counts.items() if state != "running")
        if self.total is None or not ended or self.done:
            return None
        return self.seconds / ended * (self.total - ended)

    @property
    def stopped(self) -> str:
        """Returns why the batch ended before its inputs did; '' if it did not."""
        return self._runner.stopped

    @property
    def usage(self) -> dict[str, Any]:
        """Returns the tokens and costs of all inputs, as far as agents report them."""
        runner = self._runner
        return {
            "input_tokens": runner.input_tokens,
            "output_tokens": runner.output_tokens,
            "costs": dict(runner.costs),
            "seconds": round(runner.seconds, 3),
        }

    @property
    def failures(self) -> dict[str, int]:
        """Returns how many inputs failed for each reason, the most frequent first."""
        return self._records.reasons()

    @property
    def results(self) -> Iterator[BatchResult[Answer_co]]:
        """Returns the results so far of all inputs that were asked, in the order of the inputs."""
        return map(self._result, self._records.rows())

    @property
    def failed(self) -> tuple[BatchResult[Answer_co], ...]:
        """Returns the inputs that have failed so far."""
        return tuple(map(self._result, self._records.rows("failed")))

    def latest(self, limit: int, *, reason: str | None = None) -> tuple[BatchResult[Answer_co], ...]:
        """Returns the latest answers, the last one first; with *reason*, the first inputs that failed for it."""
        return tuple(map(self._result, self._records.latest(limit, reason)))

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change, on the batch's thread."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        return "\n".join([self.summary, *lines(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        if not self.done and self.is_shown_here():  # a table would keep showing the old progress
            return "<p>The bar above follows it; <code>wait()</code> waits for its end.</p>"
        head, *rows = self._table()
        notes = "".join(f"<p>{escape(each)}</p>" for each in self._notes())
        return f"<p>{escape(self.summary)}</p>{html(head, rows)}{notes}"

    @property
    def summary(self) -> str:
        """Returns the progress in one line, which is the same in each replay."""
        counts = self.counts
        total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{counts['done']:,}{total} done"]
        parts += [f"{counts[each]:,} {each}" for each in ("running", "failed", "cancelled") if counts[each]]
        if self._runner.costs:
            parts.append(money(self._runner.costs))
        return " · ".join(parts)

    @property
    def pace(self) -> str:
        """Returns the pace and the time left, in words; once the batch has ended, how long it took."""
        ended = self.counts["done"] + self.counts["failed"]
        rate = f"{ended / self.seconds:.3g} per second" if ended and self.seconds > 0 else ""
        left = f"about {_duration(self.seconds_left)} left" if self.seconds_left is not None else ""
        if self._cluster is not None and self._cluster.workers == 0 and not self.done:
            left = "the cluster has no worker"
        return " · ".join(each for each in (rate, left or (_duration(self.seconds) if self.done else "")) if each)

    @property
    def _advice(self) -> str:
        return f"The answers received so far are kept: batch.retry(), or the same call with resume={self.id!r}."

    def _notify(self) -> None:
        for each in self._listeners:
            each()

    def _result(self, row: BatchRow) -> BatchResult[Answer_co]:
        body, wanted = msgspec.structs.asdict(row.body), self._question.wanted
        body["output"] = wanted.check(row.body.output) if wanted is not None and row.state == "done" else None
        return BatchResult(
            number=row.number,
            label=row.label,
            prompt=row.prompt,
            state=row.state,
            attempts=row.attempts,
            **body,
        )

    def _table(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("input", "state", "answer")]
        for row in self._records.rows():
            if len(rows) > _LISTED:
                rows.append((f"and {self._runner.prompt_count - _LISTED:,} more", "", ""))
                break
            answer = row.body.error or row.body.text
            rows.append((on_one_line(str(row.label))[:40], row.state, on_one_line(answer)[:80]))
        return rows

    def _notes(self) -> list[str]:
        failures = [f"{number:,} failed: {reason}" for reason, number in self.failures.items()]
        nearly = "" if self.stopped else self._runner.nearly
        return [each for each in (*failures, nearly, self.stopped if self.done else "") if each]


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"  # noqa: PLR2004 - a digit more where it tells
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"  # noqa: PLR2004 - of an hour
