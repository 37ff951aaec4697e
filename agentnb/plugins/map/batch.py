"""A batch: the answers in the order of the inputs, usable while it runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import msgspec

from agentnb.api.columns import html, lines, on_one_line
from agentnb.api.unattended import give_up
from agentnb.errors import BatchFailed, UsageError
from agentnb.plugins.map.asking import CANCEL_SECONDS
from agentnb.plugins.map.runner import BatchRunner, money
from agentnb.plugins.map.workspaces import WorkspaceChange, put_into

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator

    from typing_extensions import Self

    from agentnb.api.session import Session
    from agentnb.plugins.map.asking import BatchQuestion
    from agentnb.plugins.map.cassette import AnswerCassette
    from agentnb.plugins.map.cluster import Cluster
    from agentnb.plugins.map.inputs import InputPrompt
    from agentnb.plugins.map.records import BatchRow, BatchRows

OnError: TypeAlias = Literal["raise", "keep"]
_POLL_SECONDS = 0.2  # a blocked main thread looks up this often, so that Ctrl-C comes through on every platform
_LISTED = 10


class BatchResult(NamedTuple):
    """What came of one input.

    Attributes:
        number: Its place among the inputs, from 0.
        label: Its key or index label; its place where it has none.
        prompt: What was asked.
        state: ``"running"``, ``"done"``, ``"failed"`` or ``"cancelled"``.
        text: The answer.
        output: The answer as the type that was wanted; None where none was.
        error: Why it failed; empty where it did not.
        reason: The kind of failure, in a few words.
        attempts: How often it was asked.
        input_tokens: Tokens that the model read; None where the agent does not say.
        output_tokens: Tokens that it wrote; None likewise.
        costs: Money spent, by currency (ISO 4217).
        seconds: How long it took.
        session: The id of its session, as :func:`agentnb.resume` takes it.
        log: Where its conversation is kept, ``machine:file``; empty where that is the log of this kernel.
        changes: What the agent changed in a workspace of its own (``cwd="isolated"``).
        folder: The folder that this was a copy of.
    """

    number: int
    label: Any
    prompt: str
    state: str
    text: str
    output: Any
    error: str
    reason: str
    attempts: int
    input_tokens: int | None
    output_tokens: int | None
    costs: dict[str, float]
    seconds: float
    session: str
    log: str = ""
    changes: tuple[WorkspaceChange, ...] = ()
    folder: str = ""

    def open(self) -> Session:
        """Open its conversation.

        Raises:
            UsageError: If it has none.
        """
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
        """Make in the folder what the agent changed in its copy, all or nothing; says which files.

        Raises:
            FilesConflict: If one of the files changed since it was copied; nothing is written then.
            UsageError: If a content was too large to be kept.
        """
        return put_into(Path(self.folder or "."), self.changes)


class Batch(Sequence[Any]):
    """Answers in the order of the inputs: each its text, or its value where ``output=`` says a type.

    Reading an answer waits for it. An input that failed raises :class:`agentnb.BatchFailed` there, or is None with
    ``on_error="keep"``. An interrupt (Ctrl-C, the kernel's stop button) while it is waited for cancels the batch;
    finished answers are kept.

    Args:
        question: What is the same for all inputs.
        inputs: The prompts.
        records: Where the rows are.
        cassette: Where answers are recorded; None where they are not.
        total: How many inputs there are; None where only going through them tells.
        on_error: What reading a failed answer does.
        concurrency: How many inputs are asked at once.
        cluster: Where agents are asked; None: here.

    Attributes:
        id: Its id, for ``resume=``.
        total: As given.
        note: What is to be said about where it is kept; empty where all is well.

    Example:
        >>> batch = agentnb.map("Name the colour of {input}.", ["grass", "snow"], agent="claude")  # doctest: +SKIP
        >>> list(batch)  # doctest: +SKIP
        ['Green.', 'White.']
    """

    def __init__(
        self,
        question: BatchQuestion,
        inputs: Iterable[InputPrompt],
        records: BatchRows,
        cassette: AnswerCassette | None,
        *,
        total: int | None,
        on_error: OnError,
        concurrency: int,
        cluster: Cluster | None = None,
    ) -> None:
        self.id = records.id
        self.total = total
        self.note = records.note
        self._question = question
        self._records = records
        self._on_error = on_error
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self.is_shown_here: Callable[[], bool] = lambda: False
        """Says whether something shows how far it is in the cell that runs; then its table is left out there."""
        self._concurrency = concurrency
        self._cluster = cluster
        self._runner = BatchRunner(
            question, inputs, records, cassette, self._notify, is_lazy=total is None, cluster=cluster
        )
        self._runner.run(concurrency)

    # ------------------------------------------------------------ how far it is

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._runner.ended

    @property
    def counts(self) -> dict[str, int]:
        """How many inputs are running, done, failed and cancelled."""
        return dict(self._runner.counts)

    @property
    def seconds(self) -> float:
        """How long it took; until now while it runs."""
        return self._runner.seconds

    @property
    def seconds_left(self) -> float | None:
        """How long it may still take, by what it took until now; None where nobody can say."""
        ended = sum(number for state, number in self.counts.items() if state != "running")
        if self.total is None or not ended or self.done:
            return None
        return self.seconds / ended * (self.total - ended)

    @property
    def stopped(self) -> str:
        """Why it ended before its inputs did; empty where it did not."""
        return self._runner.stopped

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens and money of all inputs, as far as agents say them."""
        runner = self._runner
        return {
            "input_tokens": runner.input_tokens,
            "output_tokens": runner.output_tokens,
            "costs": dict(runner.costs),
            "seconds": round(runner.seconds, 3),
        }

    @property
    def failures(self) -> dict[str, int]:
        """How many inputs failed for each reason, the most frequent first."""
        return self._records.reasons()

    # ------------------------------------------------------------ answers

    def __len__(self) -> int:
        if self.total is None:
            self.wait(check=False)
            return self._runner.asked
        return self.total

    @overload
    def __getitem__(self, at: int) -> Any: ...

    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        number = at + len(self) if at < 0 else at
        if number < 0:
            raise IndexError(f"The batch has no input {at}.")
        if self.total is not None and number >= self.total:
            raise IndexError(f"The batch has no input {at}.")
        try:
            return self._value(self._waited(number))
        except IndexError:
            self._raise_if_broken()
            if not self.stopped or self._on_error == "raise":
                raise
            return None

    def __iter__(self) -> Iterator[Any]:
        number = 0
        while True:
            try:
                result = self._waited(number)
            except IndexError:
                break
            yield self._value(result)
            number += 1
        self._raise_if_broken()
        if self.stopped and self._on_error == "raise":
            raise BatchFailed(f"The batch ended early: {self.stopped}", hint=self._advice, batch=self)
        yield from (None for _ in range(number, self.total or 0))

    def result(self, number: int) -> BatchResult:
        """What came of one input, once it has ended.

        Args:
            number: Its place, from 0.

        Raises:
            IndexError: If there is no such input, or the batch ended before it was asked.
        """
        return self._waited(number)

    @property
    def results(self) -> Iterator[BatchResult]:
        """What is there now, in the order of the inputs: all that were asked."""
        return map(self._result, self._records.rows())

    @property
    def failed(self) -> tuple[BatchResult, ...]:
        """The inputs that failed until now."""
        return tuple(map(self._result, self._records.rows("failed")))

    def latest(self, limit: int, *, reason: str | None = None) -> tuple[BatchResult, ...]:
        """What was answered last, the last one first; or the first inputs that failed for a reason.

        Args:
            limit: How many at most.
            reason: One of :attr:`failures`; None for answers.
        """
        return tuple(map(self._result, self._records.latest(limit, reason)))

    def as_completed(self) -> Iterator[BatchResult]:
        """What ends, as it ends; in no promised order."""
        last = 0
        while True:
            is_over = self.done
            while rows := self._records.ended_after(last):
                last = rows[-1].ended or last
                yield from map(self._result, rows)
            if is_over:
                self._raise_if_broken()
                return
            self._wait_for(partial(self._has_ended_after, last))

    async def __aiter__(self) -> AsyncIterator[BatchResult]:
        last = 0
        while True:
            is_over = self.done
            while rows := self._records.ended_after(last):
                last = rows[-1].ended or last
                for each in rows:
                    yield self._result(each)
            if is_over:
                self._raise_if_broken()
                return
            await self._until(partial(self._has_ended_after, last))

    def wait(self, timeout: float | None = None, *, check: bool | None = None) -> Self:
        """Block until it has ended.

        Args:
            timeout: Seconds; None waits for ever.
            check: Whether a failed input raises; None: as ``on_error`` says.

        Raises:
            BatchFailed: If an input failed, or the batch ended before its inputs did.
            TimeoutError: If it has not ended by then; it goes on. Where nobody watches the notebook (nbconvert,
                papermill), it is cancelled when the cell that gave up ends.
        """
        if not self._wait_for(lambda: self.done, timeout):
            until = "is cancelled when this cell ends" if give_up(self) else "goes on"
            raise TimeoutError(f"The batch has not ended within {timeout:g} s; it {until}.")
        return self._checked(check)

    def wait_until_begun(self) -> None:
        """Block until inputs are asked.

        Raises:
            AgentnbError: If they cannot be: a cluster does not answer, or lacks something.
        """
        self._wait_for(self._runner.opened.is_set)
        self._raise_if_broken()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    def to_frame(self) -> Any:
        """A pandas data frame: a row for each input that was asked, with the labels of the inputs as its index.

        Raises:
            UsageError: If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("A data frame needs pandas.", hint="%pip install pandas, or use batch.results.") from error
        rows = list(self.results)
        columns = [each for each in BatchResult._fields if each not in {"number", "label"}]
        return pd.DataFrame(
            [[getattr(row, each) for each in columns] for row in rows],
            index=[row.label for row in rows],
            columns=columns,
        )

    # ------------------------------------------------------------ what can be done

    def cancel(self) -> None:
        """End it: what is being asked is cancelled, the rest is not asked. Finished answers are kept."""
        self._runner.cancel()

    def retry(self) -> Self:
        """Ask again what failed or was cancelled, and what was not asked; returns at once.

        Raises:
            UsageError: If it runs.
        """
        if not self.done:
            raise UsageError("The batch runs.", hint="Wait for it, or cancel it.")
        self._runner.ask_again([row.number for row in self._records.rows("failed", "cancelled")])
        self._runner.run(self._concurrency)
        return self

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change, on the batch's thread."""
        self._listeners.append(listener)

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        return "\n".join([self.summary, *lines(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        if not self.done and self.is_shown_here():  # a table would say for ever how far it was
            return "<p>The bar above follows it; <code>wait()</code> waits for its end.</p>"
        head, *rows = self._table()
        notes = "".join(f"<p>{escape(each)}</p>" for each in self._notes())
        return f"<p>{escape(self.summary)}</p>{html(head, rows)}{notes}"

    @property
    def summary(self) -> str:
        """How far it is, in a line: the same in each replay."""
        counts = self.counts
        total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{counts['done']:,}{total} done"]
        parts += [f"{counts[each]:,} {each}" for each in ("running", "failed", "cancelled") if counts[each]]
        if self._runner.costs:
            parts.append(money(self._runner.costs))
        return " · ".join(parts)

    @property
    def pace(self) -> str:
        """How fast it is and how long it may take, in words; how long it took, once it has ended."""
        ended = self.counts["done"] + self.counts["failed"]
        rate = f"{ended / self.seconds:.3g} per second" if ended and self.seconds > 0 else ""
        left = f"about {_duration(self.seconds_left)} left" if self.seconds_left is not None else ""
        if self._cluster is not None and self._cluster.workers == 0 and not self.done:
            left = "the cluster has no worker"
        return " · ".join(each for each in (rate, left or (_duration(self.seconds) if self.done else "")) if each)

    # ------------------------------------------------------------ inside

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for each in self._listeners:
            each()

    def _wait_for(self, is_so: Callable[[], bool], timeout: float | None = None) -> bool:
        until = None if timeout is None else time.monotonic() + timeout
        try:
            with self._changed:
                while not is_so():
                    left = _POLL_SECONDS if until is None else min(_POLL_SECONDS, until - time.monotonic())
                    if left <= 0:
                        return False
                    self._changed.wait(left)
        except KeyboardInterrupt:
            self._runner.cancel("It was interrupted.")
            with self._changed:
                self._changed.wait_for(lambda: self.done, CANCEL_SECONDS)
            raise
        return True

    async def _until(self, is_so: Callable[[], bool]) -> None:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            loop.call_soon_threadsafe(news.set)

        self._listeners.append(listener)
        try:
            while not is_so():
                news.clear()
                if not is_so():
                    await news.wait()
        except asyncio.CancelledError:
            self._runner.cancel()
            raise
        finally:
            self._listeners.remove(listener)

    async def _awaited(self) -> Self:
        await self._until(lambda: self.done)
        return self._checked(None)

    def _checked(self, check: bool | None) -> Self:
        if check if check is not None else self._on_error == "raise":
            self._raise_if_broken()
            first = next(self._records.rows("failed"), None)
            if first is not None:
                raise self._failure(self._result(first))
            if self.stopped:
                raise BatchFailed(f"The batch ended early: {self.stopped}", hint=self._advice, batch=self)
        return self

    def _waited(self, number: int) -> BatchResult:
        self._wait_for(lambda: self.done or self._is_over(number))
        row = self._records.row(number)
        if row is None:
            raise IndexError(f"The batch has no input {number}." if not self.stopped else self.stopped)
        return self._result(row)

    def _is_over(self, number: int) -> bool:
        if number >= self._runner.asked:
            return False
        row = self._records.row(number)
        return row is not None and row.state != "running"

    def _has_ended_after(self, last: int) -> bool:
        return self.done or bool(self._records.ended_after(last))

    def _value(self, result: BatchResult) -> Any:
        if result.state == "done":
            return result.text if self._question.wanted is None else result.output
        if result.state == "running":  # the batch broke before it could keep how the input ended
            self._raise_if_broken()
        if self._on_error == "raise":
            raise self._failure(result)
        return None

    def _failure(self, result: BatchResult) -> BatchFailed:
        more = self.counts["failed"] - 1
        others = f" {more:,} more failed." if more > 0 else ""
        why = result.error or f"it was {result.state}"
        message = f"Input {result.number} ({on_one_line(str(result.label))[:60]}) failed: {why}{others}"
        return BatchFailed(message, hint=self._advice, batch=self)

    @property
    def _advice(self) -> str:
        return f"The answers that came are kept: batch.retry(), or the same call with resume={self.id!r}."

    def _raise_if_broken(self) -> None:
        if self._runner.broken is not None:
            raise self._runner.broken

    def _result(self, row: BatchRow) -> BatchResult:
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
                rows.append((f"and {self._runner.asked - _LISTED:,} more", "", ""))
                break
            said = row.body.error or row.body.text
            rows.append((on_one_line(str(row.label))[:40], row.state, on_one_line(said)[:80]))
        return rows

    def _notes(self) -> list[str]:
        failures = [f"{number:,} failed: {reason}" for reason, number in self.failures.items()]
        return [each for each in (*failures, self.stopped if self.done else "") if each]


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"  # noqa: PLR2004 - a digit more where it tells
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"  # noqa: PLR2004 - of an hour
