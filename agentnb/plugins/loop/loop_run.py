"""The run of a loop: one try after another, on a thread of its own."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from agentnb.api.unattended import parts_of_work
from agentnb.api.waiting import POLL_SECONDS
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
from agentnb.plugins.branches.kernel_copy import LONGEST_SECONDS
from agentnb.plugins.branches.preparing import LONGEST_TITLE, CopyInterrupted
from agentnb.plugins.loop.attempt import Attempt, LocalTry, Rules, instructions_for
from agentnb.plugins.loop.ledger import LoopTry
from agentnb.plugins.loop.limits import LimitCheck, Reached, Standing, ask_to_go_on
from agentnb.plugins.map.runner import add_costs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.loop.attempt import BeginTry
    from agentnb.plugins.loop.cluster_try import TryCluster
    from agentnb.plugins.loop.judge import Judge, Judged
    from agentnb.plugins.loop.ledger import Ledger, LoopSpec

LoopState: TypeAlias = Literal["running", "paused", "ended"]
MOST_FAILURES = 5
"""Failed tries in a row that end the loop, since the next one would fail too."""
STOPPED = "It was stopped."
_HOPELESS = (AgentNotFound, AuthenticationRequired, UnknownAgent)
"""Errors that would also occur in the next try."""
_LOST = {
    "running": "The kernel ended in the meantime.",
    "keeping": "The kernel ended while it was being kept: some of its files and cells may be there.",
}


class LoopRun:
    """Runs the tries of one loop.

    Attributes:
        error: The exception that ended it; None if none did.
        answer: True if it goes on after a limit; None until somebody has decided.
        is_interrupted: True if the kernel's stop button ended it.
        cancelled: Set to stop it.
        listeners: Called after each change.
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
        self.host = host
        self.spec = spec
        self.judge = judge
        self.ledger = ledger
        self.state: LoopState = "running"
        self.why: str = ""
        self.rows: list[LoopTry] = []
        self.error: Exception | None = None
        self.answer: bool | None = None
        self.is_interrupted: bool = False
        self.cancelled = threading.Event()
        self.listeners: list[Callable[[], None]] = []
        self.thread = threading.Thread(target=self._run, name="agentnb loop", daemon=True)
        self._runner = runner
        self._folder = folder
        self._cluster = cluster
        self._begin_try: BeginTry = partial(LocalTry, spec.options) if cluster is None else cluster.begin
        self._limits = LimitCheck(spec.limits)
        self._best: tuple[float, ...] = ()
        self._digests: dict[str, str] = {}
        self._count = -1

    @property
    def best(self) -> float:
        """The metric of what was kept: the mean of its measurements."""
        return sum(self._best) / len(self._best)

    @property
    def spent(self) -> Spent:
        costs: dict[str, float] = {}
        for row in self.rows:
            add_costs(costs, row.costs)
        tokens, seconds = sum(each.tokens or 0 for each in self.rows), sum(each.seconds for each in self.rows)
        return Spent(tokens, costs, seconds, sum(1 for each in self.rows if each.number))

    def begin(self, judged: Judged, rows: list[LoopTry]) -> None:
        """Continue from *rows*, on a thread of its own; *judged* is the notebook as it is."""
        for row in rows:
            why = _LOST.get(row.state)
            self._put(row if why is None else replace(row, state="lost", why=why), None, None)
        self._begin_from(judged, "" if not rows else "Resumed.")
        self._count = self._executed()
        self.thread.start()

    def _run(self) -> None:
        with parts_of_work():
            try:
                why = self._tries()
            except CopyInterrupted:
                why, self.is_interrupted = STOPPED, True
            except AgentnbError as error:
                why, self.error = error.message, error
            except Exception as error:  # noqa: BLE001 - whoever waits hears of it
                why, self.error = f"{type(error).__name__}: {error}", error
        if self._cluster is not None:
            self._cluster.close()
        self.why, self.state = why, "ended"
        with suppress(LogError):
            self.ledger.update(replace(self.spec, owner=("", 0, "")), "ended")
        self._tell()

    def _tries(self) -> str:
        """Make one try after another; returns why the loop ended."""
        while True:
            if self.cancelled.is_set():
                return STOPPED
            if reached := self._limits.reached(self._standing(), is_running=False):
                if not self._goes_on(reached):
                    return STOPPED if self.cancelled.is_set() else reached.message
                continue
            if self._is_main_thread_free():
                self._try()

    def _try(self) -> None:
        """Make one try; raises a UsageError if another one makes no sense."""
        if self._executed() != self._count:
            self._measure_anew("You ran cells.")
        number = self.spent.turns + 1
        rules = Rules(self._stop_reason, self._is_gain, self._accepts, self._note_keeping)
        attempt = Attempt(number, self.judge, rules)
        at = self._put(attempt.row)
        held, higher = self.judge.metric.held.names, self.spec.higher_is_better
        instructions = instructions_for(
            number, self.spec.metric, self.best, held, self.rows[:at], higher_is_better=higher
        )
        try:
            attempt.run(self.spec.prompt, self._begin_try, instructions)
        except KernelBusy:  # the user's cell started first
            self.rows.pop()
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
            raise UsageError(why, hint=f"Then continue: agentnb.loop.resume({self.ledger.id!r}).")

    def _stop_reason(self, row: LoopTry) -> str:
        """Returns why a running try must stop, or '' if it may go on."""
        if self.cancelled.is_set():
            return STOPPED
        if row.seconds > self.spec.timeout:
            return f"It took longer than {self.spec.timeout:g} s."
        before, self.rows[-1] = self.rows[-1], row
        if replace(row, seconds=0.0) != replace(before, seconds=0.0):
            self._tell()
        reached = self._limits.reached(self._standing(), is_running=True)
        return reached.message if reached is not None else ""

    def _note_keeping(self, row: LoopTry, difference: str) -> None:
        """Note that the try is being kept; if the kernel is killed meanwhile, that note remains."""
        self._put(replace(row, state="keeping"), len(self.rows) - 1, difference)

    def _why_hopeless(self) -> str:
        last = [each for each in self.rows if each.number][-MOST_FAILURES:]
        if len(last) == MOST_FAILURES and all(each.state == "failed" for each in last):
            return f"{MOST_FAILURES} tries in a row failed. {last[-1].why}"
        return ""

    # ------------------------------------------------------------ what is better

    def _is_gain(self, value: float) -> bool:
        return all(value > each if self.spec.higher_is_better else value < each for each in self._best)

    def _accepts(self, judged: Judged) -> bool:
        if judged.digests != self._digests:
            names = [name for name, digest in judged.digests.items() if self._digests.get(name) != digest]
            self._measure_anew(f"{', '.join(names[:8])} changed in the notebook.")
        return all(map(self._is_gain, judged.values)) and len(judged.values) > self.spec.again

    def _measure_anew(self, why: str) -> None:
        """Measure the changed notebook, which is now the one to beat; raises a UsageError if that fails."""
        try:
            judged = self.judge.notebook()
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
        at = len(self.rows) - 1 if self.rows and self.rows[-1].state == "running" else len(self.rows)
        if at < len(self.rows):  # insert it before the try that is being measured
            running = self.rows.pop()
            self._put(row)
            self._put(running)
        else:
            self._put(row)

    def _executed(self) -> int:
        return int(getattr(getattr(self.host.environment.shell, "ip", None), "execution_count", 0))

    # ------------------------------------------------------------ limits

    def _standing(self) -> Standing:
        without = 0
        for row in reversed(self.rows):
            if row.state in ("kept", "start"):
                break
            without += row.state not in ("running", "keeping", "lost")
        return Standing(self.spent, time.time(), self.best, without, self.spec.higher_is_better)

    def _goes_on(self, reached: Reached) -> bool:
        """Pause and ask if the user is there; False if nobody is, the loop cannot go on, or the answer is no."""
        host = self.host
        if reached.then is None or not host.loop.submit(host.environment.attended()).result():
            return False
        self.state, self.why, self.answer = "paused", reached.message, None
        self._tell()
        title = f"Loop: {self.spec.prompt}"[:LONGEST_TITLE].splitlines()[0]
        question = host.loop.submit(ask_to_go_on(host, self._folder, title, reached))
        while not question.done() and self.answer is None:
            if self.cancelled.wait(POLL_SECONDS):
                self.answer = False
        goes_on = question.result() if self.answer is None else self.answer
        question.cancel()
        self.state, self.why = "running", ""
        if goes_on:
            self._limits.go_on(reached, self._standing())
        self._tell()
        return goes_on

    def _is_main_thread_free(self) -> bool:
        """Wait until the user's code has ended; False if the loop is cancelled or reaches a limit before that."""
        look = self._runner.look(lambda: None)
        work = self.host.environment.job_queue.run(look, "", patience=LONGEST_SECONDS)
        free = self.host.loop.submit(work)
        while not free.done():
            is_over = self._limits.reached(self._standing(), is_running=False) is not None
            if self.cancelled.wait(POLL_SECONDS) or is_over:
                free.cancel()
                return False
        free.result()
        return True

    def _put(self, row: LoopTry, at: int | None = None, difference: str | None = "") -> int:
        """Write a row at *at*, or at the end if None; returns the place. If *difference* is None, the old one stays."""
        at = len(self.rows) if at is None else at
        if row.number and at < len(self.rows) and self.rows[at].number != row.number:
            at = next(place for place, each in enumerate(self.rows) if each.number == row.number)
        self.ledger.put(at, row, difference)
        self.rows[at : at + 1] = [row]
        self._tell()
        return at

    def _tell(self) -> None:
        for each in self.listeners:
            each()
