"""A loop as its user sees it: its progress, and the operations on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.api.unattended import give_up
from agentnb.api.waiting import with_main_thread
from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.plugins.branches.kernel_copy import LONGEST_SECONDS
from agentnb.plugins.loop.ledger import LedgerView, html_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from typing_extensions import Self

    from agentnb.budget import Spent
    from agentnb.plugins.loop.judge import Judged
    from agentnb.plugins.loop.ledger import LoopTry
    from agentnb.plugins.loop.loop_run import LoopRun, LoopState


class Loop:
    """A loop with a metric. Made by ``agentnb.loop(...)``; its ledger when displayed.

    Example:
        >>> loop = agentnb.loop("Improve the model", metric="score(model)", tries=20)  # doctest: +SKIP
        >>> loop.wait().best  # doctest: +SKIP
        0.91

    Attributes:
        id: Its id, for ``agentnb.loop.resume(id)``.
        held: The names and files that tries must not change.
        notes: Notes about it, a sentence each.
    """

    def __init__(self, run: LoopRun) -> None:
        self.id: str = run.ledger.id
        self.held: tuple[str, ...] = tuple(run.judge.metric.held.names)
        self.notes: list[str] = [run.ledger.note] if run.ledger.note else []
        self.is_shown_here: Callable[[], bool] = lambda: False
        self._run = run

    # ------------------------------------------------------------ how far it is

    @property
    def prompt(self) -> str:
        """The task."""
        return self._run.spec.prompt

    @property
    def metric(self) -> str:
        """The metric, as it was written."""
        return self._run.spec.metric

    @property
    def state(self) -> LoopState:
        """``"running"``, ``"paused"`` at a limit, or ``"ended"``."""
        return self._run.state

    @property
    def why(self) -> str:
        """Why it is paused or has ended; empty while it runs."""
        return self._run.why

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._run.state == "ended"

    @property
    def tries(self) -> tuple[LoopTry, ...]:
        """The ledger: a row for each try, and for each measurement of the notebook as it is."""
        return tuple(self._run.rows)

    @property
    def best(self) -> float:
        """The metric of what was kept; of the notebook at the beginning where nothing was."""
        return self._run.best

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher metric is better."""
        return self._run.spec.higher_is_better

    @property
    def spent(self) -> Spent:
        """What all tries have used together."""
        return self._run.spent

    def difference(self, number: int) -> str:
        """Returns what a try changed: diffs of files, texts of cells, names of variables.

        Args:
            number: The try's number, from 1.
        """
        for at, row in enumerate(self._run.rows):
            if row.number == number:
                return self._run.ledger.difference(at)
        raise UsageError(f"There is no try {number!r}.", hint=f"There are {self.spent.turns}, counted from 1.")

    @property
    def view(self) -> LedgerView:
        """The data that its display shows."""
        fields = (self.metric, self.tries, self.best, self._run.state, self._run.why, self.spent)
        return LedgerView(*fields, self.held, tuple(self.notes), self.difference)

    # ------------------------------------------------------------ what can be done

    def wait(self, timeout: float | None = None) -> Self:
        """Block until it has ended. An interrupt (Ctrl-C, the kernel's stop button) stops it.

        Args:
            timeout: Seconds; None waits forever.

        Raises:
            AgentnbError: If it ended because something failed. Kept tries stay.
            TimeoutError: If it takes longer; it continues. If nobody watches the notebook (nbconvert, papermill), it
                is stopped when the cell that gave up ends.
        """
        seconds = LONGEST_SECONDS if timeout is None else timeout
        late = TimeoutError(f"The loop has not ended within {seconds:g} s.")
        self._run.is_interrupted = False
        try:
            with_main_thread(self._run.host, new_id(), self._joined(), seconds, late)
        except TimeoutError:
            give_up(self)
            raise
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self._run.is_interrupted:
            raise KeyboardInterrupt
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    def cancel(self) -> None:
        """Stop it: the running try is discarded, kept tries stay."""
        self._run.cancelled.set()

    def go_on(self) -> None:
        """Continue after it was paused at a limit, like the card in the chat.

        Raises:
            UsageError: If it is not paused.
        """
        if self._run.state != "paused":
            raise UsageError(f"The loop is {self._run.state}, not paused.", hint="agentnb.loop.resume() continues it.")
        self._run.answer = True

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change, on the loop's thread."""
        self._run.listeners.append(listener)

    def __repr__(self) -> str:
        return "\n".join(lines_of(self.view))

    def _repr_html_(self) -> str:
        if self.is_shown_here():
            return "<p>The ledger above follows it.</p>" if not self.done else ""
        return html_of(self.view)

    def begin(self, judged: Judged, rows: list[LoopTry]) -> None:
        """Go on from *rows*, on a thread of its own; *judged* is the notebook as it is."""
        self._run.begin(judged, rows)

    async def _awaited(self) -> Self:
        with self._run.host.environment.job_queue.waiting(new_id()):  # tries are copied and kept on this thread
            try:
                return await self._joined()
            except asyncio.CancelledError:
                self.cancel()
                raise

    async def _joined(self) -> Self:
        await asyncio.to_thread(self._run.thread.join)
        if self._run.error is not None:
            raise self._run.error
        return self
