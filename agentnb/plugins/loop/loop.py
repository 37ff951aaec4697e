"""A loop that runs: one try after another on a thread of its own, and how far it is."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec.structs import replace

from agentnb.api.unattended import give_up, parts_of_work
from agentnb.api.waiting import POLL_SECONDS, with_main_thread
from agentnb.budget import Spent
from agentnb.errors import (
    AgentnbError,
    AgentNotFound,
    AuthenticationRequired,
    KernelBusy,
    LogError,
    UnknownAgent,
    UsageError,
)
from agentnb.ids import new_id
from agentnb.plugins.branches.kernel_copy import LONGEST_SECONDS
from agentnb.plugins.branches.preparing import CopyInterrupted
from agentnb.plugins.loop.asking import ask_to_go_on
from agentnb.plugins.loop.attempt import Attempt, Rules, instructions_for
from agentnb.plugins.loop.ledger import LoopTry
from agentnb.plugins.loop.ledger_view import LedgerView, html_of, lines_of
from agentnb.plugins.loop.limits import LimitCheck, Reached, Standing
from agentnb.plugins.loop.local_try import local_tries
from agentnb.plugins.map.runner import add_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from typing_extensions import Self

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.loop.cluster_try import TryCluster
    from agentnb.plugins.loop.judge import Judge, Judged
    from agentnb.plugins.loop.ledger import Ledger, LoopSpec
    from agentnb.plugins.loop.running_try import BeginTry

LoopState: TypeAlias = Literal["running", "paused", "ended"]
MOST_FAILURES = 5
"""So many tries that fail in a row end the loop: the next would, too."""
STOPPED = "It was stopped."
_HOPELESS = (AgentNotFound, AuthenticationRequired, UnknownAgent)
"""Errors that the next try would meet, too."""
_LOST = {
    "running": "The kernel ended in the meantime.",
    "keeping": "The kernel ended while it was being kept: some of its files and cells may be there.",
}
LONGEST_TITLE = 60


class Loop:
    """A loop with a metric. Made by ``agentnb.loop(...)``; its ledger when displayed.

    Example:
        >>> loop = agentnb.loop("Improve the model", metric="score(model)", tries=20)  # doctest: +SKIP
        >>> loop.wait().best  # doctest: +SKIP
        0.91

    Attributes:
        id: Its id, for ``agentnb.loop.resume(id)``.
        held: What tries must not change.
        notes: Notes about it, a sentence each.
    """

    def __init__(
        self,
        host: Host,
        runner: CodeRunner,
        folder: Path,
        spec: LoopSpec,
        *,
        judge: Judge,
        ledger: Ledger,
        cluster: TryCluster | None = None,
    ) -> None:
        self.id: str = ledger.id
        self.held: tuple[str, ...] = tuple(judge.metric.held.names)
        self.notes: list[str] = [ledger.note] if ledger.note else []
        self.is_shown_here: Callable[[], bool] = lambda: False
        self._host = host
        self._runner = runner
        self._folder = folder
        self._spec = spec
        self._judge = judge
        self._ledger = ledger
        self._cluster = cluster
        self._begin_try: BeginTry = local_tries(spec.options) if cluster is None else cluster.begin
        self._limits = LimitCheck(spec.limits)
        self._rows: list[LoopTry] = []
        self._best: tuple[float, ...] = ()
        self._digests: dict[str, str] = {}
        self._count = -1
        self._state: LoopState = "running"
        self._why = ""
        self._error: Exception | None = None
        self._answer: bool | None = None
        self._is_interrupted = False
        self._cancelled = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="agentnb loop", daemon=True)

    # ------------------------------------------------------------ how far it is

    @property
    def prompt(self) -> str:
        """The task."""
        return self._spec.prompt

    @property
    def metric(self) -> str:
        """The metric, as it was written."""
        return self._spec.metric

    @property
    def state(self) -> LoopState:
        """``"running"``, ``"paused"`` at a limit, or ``"ended"``."""
        return self._state

    @property
    def why(self) -> str:
        """Why it is paused or has ended; empty while it runs."""
        return self._why

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._state == "ended"

    @property
    def tries(self) -> tuple[LoopTry, ...]:
        """The ledger: a row for each try, and for each measurement of the notebook as it is."""
        return tuple(self._rows)

    @property
    def best(self) -> float:
        """The metric of what was kept; of the notebook at the beginning where nothing was."""
        return sum(self._best) / len(self._best)

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher metric is better."""
        return self._spec.higher_is_better

    @property
    def spent(self) -> Spent:
        """What all tries have used together."""
        costs: dict[str, float] = {}
        for row in self._rows:
            add_costs(costs, row.costs)
        tokens, seconds = sum(each.tokens or 0 for each in self._rows), sum(each.seconds for each in self._rows)
        return Spent(tokens, costs, seconds, sum(1 for each in self._rows if each.number))

    def difference(self, number: int) -> str:
        """What a try changed: diffs of files, texts of cells, names of variables.

        Args:
            number: The try's number, from 1.
        """
        for at, row in enumerate(self._rows):
            if row.number == number:
                return self._ledger.difference(at)
        raise UsageError(f"There is no try {number!r}.", hint=f"There are {self.spent.turns}, counted from 1.")

    @property
    def view(self) -> LedgerView:
        """The data that its display shows."""
        fields = (self.metric, self.tries, self.best, self._state, self._why, self.spent)
        return LedgerView(*fields, self.held, tuple(self.notes), self.difference)

    # ------------------------------------------------------------ what can be done

    def wait(self, timeout: float | None = None) -> Self:
        """Block until it has ended. An interrupt (Ctrl-C, the kernel's stop button) stops it.

        Args:
            timeout: Seconds; None waits forever.

        Raises:
            AgentnbError: If it ended because something failed. What was kept stays.
            TimeoutError: If it takes longer; it continues. Where nobody watches the notebook (nbconvert, papermill), it
                is stopped when the cell that gave up ends.
        """
        seconds = LONGEST_SECONDS if timeout is None else timeout
        late = TimeoutError(f"The loop has not ended within {seconds:g} s.")
        self._is_interrupted = False
        try:
            with_main_thread(self._host, new_id(), self._joined(), seconds, late)
        except TimeoutError:
            give_up(self)
            raise
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self._is_interrupted:
            raise KeyboardInterrupt
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    def cancel(self) -> None:
        """Stop it: the running try is discarded, kept tries stay."""
        self._cancelled.set()

    def go_on(self) -> None:
        """Continue after it was paused at a limit, like the card in the chat.

        Raises:
            UsageError: If it is not paused.
        """
        if self._state != "paused":
            raise UsageError(f"The loop is {self._state}, not paused.", hint="agentnb.loop.resume() continues it.")
        self._answer = True

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change, on the loop's thread."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        return "\n".join(lines_of(self.view))

    def _repr_html_(self) -> str:
        if self.is_shown_here():
            return "<p>The ledger above follows it.</p>" if not self.done else ""
        return html_of(self.view)

    # ------------------------------------------------------------ how it runs

    def begin(self, judged: Judged, rows: list[LoopTry]) -> None:
        """Go on from *rows*, on a thread of its own; *judged* is the notebook as it is."""
        for row in rows:
            why = _LOST.get(row.state)
            self._put(row if why is None else replace(row, state="lost", why=why), None, None)
        self._begin_from(judged, "" if not rows else "Resumed.")
        self._count = self._executed()
        self._thread.start()

    def _run(self) -> None:
        with parts_of_work():
            try:
                why = self._tries()
            except CopyInterrupted:
                why, self._is_interrupted = STOPPED, True
            except AgentnbError as error:
                why, self._error = error.message, error
            except Exception as error:  # noqa: BLE001 - whoever waits hears of it
                why, self._error = f"{type(error).__name__}: {error}", error
        if self._cluster is not None:
            self._cluster.close()
        self._why, self._state = why, "ended"
        with suppress(LogError):
            self._ledger.update(replace(self._spec, owner=("", 0, "")), "ended")
        self._tell()

    def _tries(self) -> str:
        """One try after another; returns why it ended."""
        while True:
            if self._cancelled.is_set():
                return STOPPED
            if reached := self._limits.reached(self._standing(), is_running=False):
                if not self._goes_on(reached):
                    return STOPPED if self._cancelled.is_set() else reached.message
                continue
            if self._is_main_thread_free():
                self._try()

    def _try(self) -> None:
        """One try.

        Raises:
            UsageError: If no further one makes sense.
        """
        if self._executed() != self._count:
            self._measure_anew("You ran cells.")
        number = self.spent.turns + 1
        rules = Rules(self._stop_reason, self._is_gain, self._accepts, self._note_keeping)
        attempt = Attempt(number, self._judge, rules)
        at = self._put(attempt.row)
        told = instructions_for(
            number, self.metric, self.best, self.held, self._rows[:at], higher_is_better=self.higher_is_better
        )
        try:
            attempt.run(self.prompt, self._begin_try, told)
        except KernelBusy:  # you were faster
            self._rows.pop()
            return
        except CopyInterrupted:
            self._put(replace(attempt.row, state="stopped", why=STOPPED), at, attempt.difference)
            raise
        except (AgentnbError, OSError) as error:
            why = error.message if isinstance(error, AgentnbError) else f"{error.strerror or error}."
            attempt.row = replace(attempt.row, state="failed", why=why)
            if isinstance(error, (*_HOPELESS, OSError)) or isinstance(error.__cause__, OSError):
                attempt.ends_loop = why
        row = attempt.row
        self._put(row, at, attempt.difference)
        if row.state == "kept" and attempt.judged is not None:
            self._best = attempt.judged.values
        elif row.state == "conflict":
            self._measure_anew("After the conflict.")
        if why := attempt.ends_loop or self._why_hopeless():
            raise UsageError(why, hint=f"Then continue: agentnb.loop.resume({self.id!r}).")

    def _stop_reason(self, row: LoopTry) -> str:
        """Why a running try is to stop."""
        if self._cancelled.is_set():
            return STOPPED
        if row.seconds > self._spec.timeout:
            return f"It took longer than {self._spec.timeout:g} s."
        before, self._rows[-1] = self._rows[-1], row
        if replace(row, seconds=0.0) != replace(before, seconds=0.0):
            self._tell()
        reached = self._limits.reached(self._standing(), is_running=True)
        return reached.message if reached is not None else ""

    def _note_keeping(self, row: LoopTry, difference: str) -> None:
        """Note that it is being kept: a kernel that is killed meanwhile leaves that note."""
        self._put(replace(row, state="keeping"), len(self._rows) - 1, difference)

    def _why_hopeless(self) -> str:
        last = [each for each in self._rows if each.number][-MOST_FAILURES:]
        if len(last) == MOST_FAILURES and all(each.state == "failed" for each in last):
            return f"{MOST_FAILURES} tries in a row failed. {last[-1].why}"
        return ""

    # ------------------------------------------------------------ what is better

    def _is_gain(self, value: float) -> bool:
        return all(value > each if self.higher_is_better else value < each for each in self._best)

    def _accepts(self, judged: Judged) -> bool:
        if judged.digests != self._digests:
            names = [name for name, digest in judged.digests.items() if self._digests.get(name) != digest]
            self._measure_anew(f"{', '.join(names[:8])} changed in the notebook.")
        return all(map(self._is_gain, judged.values)) and len(judged.values) > self._spec.again

    def _measure_anew(self, why: str) -> None:
        """The notebook has changed: it is the one to beat now.

        Raises:
            UsageError: If it cannot be measured.
        """
        try:
            judged = self._judge.notebook()
        except CopyInterrupted:
            raise
        except AgentnbError as error:
            raise UsageError(f"The metric fails on the notebook as it is now. {error.message}") from error
        self._count = self._executed()
        if judged.values != self._best or judged.digests != self._digests:
            self._begin_from(judged, why)

    def _begin_from(self, judged: Judged, why: str) -> None:
        self._best, self._digests = judged.values, judged.digests
        row = LoopTry(number=0, state="start", values=judged.values, why=why)
        at = len(self._rows) - 1 if self._rows and self._rows[-1].state == "running" else len(self._rows)
        if at < len(self._rows):  # before the try that is measured
            running = self._rows.pop()
            self._put(row)
            self._put(running)
        else:
            self._put(row)

    def _executed(self) -> int:
        return int(getattr(getattr(self._host.environment.shell, "ip", None), "execution_count", 0))

    # ------------------------------------------------------------ limits

    def _standing(self) -> Standing:
        without = 0
        for row in reversed(self._rows):
            if row.state in ("kept", "start"):
                break
            without += row.state not in ("running", "keeping", "lost")
        return Standing(self.spent, time.time(), self.best, without, self.higher_is_better)

    def _goes_on(self, reached: Reached) -> bool:
        """Pause and ask where somebody is there; False where nobody is, or the aim is reached."""
        host = self._host
        if reached.then is None or not host.loop.submit(host.environment.attended()).result():
            return False
        self._state, self._why, self._answer = "paused", reached.message, None
        self._tell()
        title = f"Loop: {self.prompt}"[:LONGEST_TITLE].splitlines()[0]
        asked = host.loop.submit(ask_to_go_on(host, self._folder, title, reached))
        while not asked.done() and self._answer is None:
            if self._cancelled.wait(POLL_SECONDS):
                self._answer = False
        goes_on = asked.result() if self._answer is None else self._answer
        asked.cancel()
        self._state, self._why = "running", ""
        if goes_on:
            self._limits.go_on(reached, self._standing())
        self._tell()
        return goes_on

    def _is_main_thread_free(self) -> bool:
        """Wait until the user's code has ended; False if a limit may be reached before."""
        look = self._runner.look(lambda: None)
        work = self._host.environment.job_queue.run(look, "", patience=LONGEST_SECONDS)
        free = self._host.loop.submit(work)
        while not free.done():
            is_over = self._limits.reached(self._standing(), is_running=False) is not None
            if self._cancelled.wait(POLL_SECONDS) or is_over:
                free.cancel()
                return False
        free.result()
        return True

    # ------------------------------------------------------------ inside

    def _put(self, row: LoopTry, at: int | None = None, difference: str | None = "") -> int:
        """Write a row at a place, the next one if None; returns the place. Without *difference* that stays."""
        at = len(self._rows) if at is None else at
        if row.number and at < len(self._rows) and self._rows[at].number != row.number:
            at = next(place for place, each in enumerate(self._rows) if each.number == row.number)
        self._ledger.put(at, row, difference)
        self._rows[at : at + 1] = [row]
        self._tell()
        return at

    def _tell(self) -> None:
        for each in self._listeners:
            each()

    async def _awaited(self) -> Self:
        with self._host.environment.job_queue.waiting(new_id()):  # a try is copied and kept on this thread
            try:
                return await self._joined()
            except asyncio.CancelledError:
                self.cancel()
                raise

    async def _joined(self) -> Self:
        await asyncio.to_thread(self._thread.join)
        if self._error is not None:
            raise self._error
        return self
