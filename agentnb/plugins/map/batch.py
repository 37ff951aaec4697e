"""A batch: the answers in the order of the inputs, usable while it runs."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from agentnb.api.answers import Answer_co
from agentnb.api.columns import on_one_line
from agentnb.api.unattended import give_up
from agentnb.errors import BatchFailed, UsageError
from agentnb.plugins.map.asking import CANCEL_SECONDS
from agentnb.plugins.map.batch_status import BatchResult, BatchStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator

    from typing_extensions import Self

    from agentnb.plugins.map.asking import BatchQuestion
    from agentnb.plugins.map.cassette import AnswerCassette
    from agentnb.plugins.map.cluster import Cluster
    from agentnb.plugins.map.inputs import InputPrompt
    from agentnb.plugins.map.records import BatchRows

__all__ = ["Batch", "BatchResult", "OnError"]

OnError: TypeAlias = Literal["raise", "keep"]
_POLL_SECONDS = 0.2  # a blocked main thread wakes this often, so that Ctrl-C works on every platform


class Batch(BatchStatus[Answer_co], Sequence[Answer_co]):
    """Answers in the order of the inputs: each a text, or a value of the type in ``output=``.

    Reading an answer waits for it. If its input failed, this raises :class:`agentnb.BatchFailed`, or returns None with
    ``on_error="keep"``. An interrupt (Ctrl-C, the kernel's stop button) during the wait cancels the batch; finished
    answers are kept.

    Args:
        question: The part that is the same for all inputs.
        inputs: The prompts.
        records: The store of the rows.
        cassette: The cassette that records answers; None if they are not recorded.
        total: How many inputs there are; None if that is not known in advance.
        on_error: What happens when a failed answer is read.
        concurrency: How many inputs are asked at once.
        cluster: The cluster that runs the agents; None for this machine.

    Attributes:
        id: Its id, for ``resume=``.
        total: As given.
        note: Why it cannot be resumed later; empty if it can.

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
        super().__init__(question, inputs, records, cassette, total=total, cluster=cluster)
        self._on_error = on_error
        self._concurrency = concurrency
        self._changed = threading.Condition()
        self.listen(self._wake)
        self._runner.run(concurrency)

    # ------------------------------------------------------------ answers

    def __len__(self) -> int:
        if self.total is None:
            self.wait(check=False)
            return self._runner.prompt_count
        return self.total

    @overload
    def __getitem__(self, at: int) -> Answer_co: ...

    @overload
    def __getitem__(self, at: slice) -> list[Answer_co]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        number = at + len(self) if at < 0 else at
        if number < 0 or (self.total is not None and number >= self.total):
            raise IndexError(f"The batch has no input {at}.")
        try:
            return self._value(self.result(number))
        except IndexError:
            self._raise_if_broken()
            if not self.stopped or self._on_error == "raise":
                raise
            return None

    def __iter__(self) -> Iterator[Answer_co]:
        number = 0
        while True:
            try:
                result = self.result(number)
            except IndexError:
                break
            yield self._value(result)
            number += 1
        self._raise_if_broken()
        if self.stopped and self._on_error == "raise":
            raise self._failed_early()
        unanswered: Iterator[Any] = (None for _ in range(number, self.total or 0))
        yield from unanswered

    def result(self, number: int) -> BatchResult[Answer_co]:
        """Returns the result of one input, once it has ended.

        Args:
            number: The input's place, from 0.

        Raises:
            IndexError: If there is no such input, or the batch ended before it was asked.
        """

        def is_over() -> bool:
            row = self._records.row(number) if number < self._runner.prompt_count else None
            return self.done or (row is not None and row.state != "running")

        self._wait_for(is_over)
        row = self._records.row(number)
        if row is None:
            raise IndexError(f"The batch has no input {number}." if not self.stopped else self.stopped)
        return self._result(row)

    def as_completed(self) -> Iterator[BatchResult[Answer_co]]:
        """The results as they arrive, in no particular order."""
        for each in self._completed():
            if isinstance(each, BatchResult):
                yield each
            else:
                self._wait_for(each)

    async def __aiter__(self) -> AsyncIterator[BatchResult[Answer_co]]:
        for each in self._completed():
            if isinstance(each, BatchResult):
                yield each
            else:
                await self._until(each)

    def wait(self, timeout: float | None = None, *, check: bool | None = None) -> Self:
        """Block until it has ended.

        Args:
            timeout: Seconds; None waits forever.
            check: True to raise if an input failed; None to do as ``on_error`` says.

        Raises:
            BatchFailed: If an input failed, or the batch ended before its inputs did.
            TimeoutError: If it has not ended by then; it continues. If nobody watches the notebook (nbconvert,
                papermill), it is cancelled when the cell that gave up ends.
        """
        if not self._wait_for(lambda: self.done, timeout):
            until = "is cancelled when this cell ends" if give_up(self) else "goes on"
            raise TimeoutError(f"The batch has not ended within {timeout:g} s; it {until}.")
        return self._checked(check)

    def wait_until_begun(self) -> None:
        """Block until inputs are asked.

        Raises:
            AgentnbError: If they cannot be asked: a cluster does not answer, or lacks something.
        """
        self._wait_for(self._runner.opened.is_set)
        self._raise_if_broken()

    def __await__(self) -> Generator[Any, None, Self]:
        yield from self._until(lambda: self.done).__await__()
        return self._checked(None)

    def to_frame(self) -> Any:
        """Returns a pandas data frame with a row for each asked input, indexed by the labels of the inputs.

        Raises:
            UsageError: If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("A data frame needs pandas.", hint="%pip install pandas, or use batch.results.") from error
        rows = [each._asdict() for each in self.results]
        columns = [each for each in BatchResult._fields if each not in {"number", "label"}]
        return pd.DataFrame(
            [[row[each] for each in columns] for row in rows], index=[row["label"] for row in rows], columns=columns
        )

    # ------------------------------------------------------------ what can be done

    def cancel(self) -> None:
        """Cancel it: running inputs are cancelled, and the rest is not sent. Finished answers are kept."""
        self._runner.cancel()

    def retry(self) -> Self:
        """Ask again for inputs that failed, were cancelled, or were not asked; returns at once.

        Raises:
            UsageError: If it is running.
        """
        if not self.done:
            raise UsageError("The batch is running.", hint="Wait for it, or cancel it.")
        self._runner.ask_again([row.number for row in self._records.rows("failed", "cancelled")])
        self._runner.run(self._concurrency)
        return self

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

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

    def _completed(self) -> Iterator[BatchResult[Answer_co] | Callable[[], bool]]:
        """Yields the inputs that have ended, as they end; between them, a condition to wait for."""
        last = 0
        while True:
            is_over = self.done
            while rows := self._records.ended_after(last):
                last = rows[-1].ended or last
                yield from map(self._result, rows)
            if is_over:
                self._raise_if_broken()
                return
            yield lambda after=last: self.done or bool(self._records.ended_after(after))  # type: ignore[misc]

    def _checked(self, check: bool | None) -> Self:
        if self._runner.nearly and not self.stopped:
            warnings.warn(self._runner.nearly, stacklevel=3)
        if check if check is not None else self._on_error == "raise":
            self._raise_if_broken()
            first = next(self._records.rows("failed"), None)
            if first is not None:
                raise self._failure(self._result(first))
            if self.stopped:
                raise self._failed_early()
        return self

    def _value(self, result: BatchResult[Answer_co]) -> Any:
        if result.state == "done":
            return result.text if self._question.wanted is None else result.output
        if result.state == "running":  # the batch failed before it recorded this input's result
            self._raise_if_broken()
        if self._on_error == "raise":
            raise self._failure(result)
        return None

    def _failure(self, result: BatchResult[Answer_co]) -> BatchFailed:
        more = self.counts["failed"] - 1
        others = f" {more:,} more failed." if more > 0 else ""
        why = result.error or f"it was {result.state}"
        message = f"Input {result.number} ({on_one_line(str(result.label))[:60]}) failed: {why}{others}"
        return BatchFailed(message, hint=self._advice, batch=self)

    def _failed_early(self) -> BatchFailed:
        return BatchFailed(f"The batch ended early: {self.stopped}", hint=self._advice, batch=self)

    def _raise_if_broken(self) -> None:
        if self._runner.broken is not None:
            raise self._runner.broken
