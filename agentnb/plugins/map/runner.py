"""Asks inputs: several sessions at a time, each for one input, until the inputs end or something stops it.

All of it runs on its own thread with its own event loop, so that the user's thread is free. Another thread reads the
user's iterator, so that a slow iterator delays no answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.api.answers import AnswerUnfit
from agentnb.api.attachments import attachments_of
from agentnb.api.unattended import parts_of_work
from agentnb.budget import Spent, read_budget, uses_of
from agentnb.errors import (
    AgentDied,
    AgentnbError,
    AgentNotFound,
    AuthenticationRequired,
    BudgetExceeded,
    CassetteError,
    TurnCancelled,
    TurnRefused,
    TurnTimeout,
    UnknownAgent,
    UsageError,
)
from agentnb.plugins.map.asking import (
    CANCEL_SECONDS,
    CLOSE_SECONDS,
    AnswerRefused,
    ClusterLost,
    Job,
    SessionWorker,
    WorkerLost,
    check_answer,
)
from agentnb.plugins.map.inputs import Taking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.plugins.map.asking import BatchQuestion
    from agentnb.plugins.map.cassette import AnswerCassette
    from agentnb.plugins.map.cluster import Cluster, ClusterWorker
    from agentnb.plugins.map.inputs import InputPrompt
    from agentnb.plugins.map.records import BatchRows, Body, RowState

BUSY_TRIES = 8
"""Times that an agent may report a busy model before the input counts as failed."""
LONGEST_PAUSE = 60.0
BUDGET_SECONDS = 0.5
"""Seconds between checks of what the running inputs have used of the budget."""
_BUSY = re.compile(r"\b(?:429|503|529)\b|rate.?limit|too many requests|overloaded|quota exceeded", re.IGNORECASE)
_HOPELESS = (AgentNotFound, AuthenticationRequired, BudgetExceeded, CassetteError, UnknownAgent)
"""Errors that would also occur with the next input."""


class BatchRunner:
    def __init__(
        self,
        question: BatchQuestion,
        inputs: Iterable[InputPrompt],
        records: BatchRows,
        cassette: AnswerCassette | None,
        on_change: Callable[[], None],
        *,
        is_lazy: bool = False,
        cluster: Cluster | None = None,
    ) -> None:
        self.opened: threading.Event = threading.Event()
        self.prompt_count: int = 0
        self.counts: dict[str, int] = dict.fromkeys(("running", "done", "failed", "cancelled"), 0)
        self.ended: bool = False
        self.stopped: str = ""
        self.broken: BaseException | None = None
        self.costs: dict[str, float] = {}
        self.input_tokens: int = 0
        self.output_tokens: int = 0
        self.turns: int = 0
        self.nearly: str = ""
        self._limits = read_budget(question.budget, scope="batch", hint="Resume it with a larger budget.")
        self._busy: set[SessionWorker | ClusterWorker] = set()
        self._replayed: set[tuple[str, int]] = set()
        self._question = question
        self._inputs = Taking(inputs, on_thread=is_lazy)
        self._taking = asyncio.Lock()
        self._cluster = cluster
        self._again: deque[Job] = deque()
        self._records = records
        self._cassette = cassette
        self._on_change = on_change
        self._checks: dict[int, Callable[[Any], Any]] = {}
        self._jobs: dict[int, Job] = {}  # unfinished jobs, for data that their rows lack
        self._began = time.monotonic()
        self._ended_at = self._began
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._cancelled = False
        self._calm_at = 0.0
        self._pauses = 0
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Returns how many seconds the batch took, or has taken so far."""
        return (self._ended_at if self.ended else time.monotonic()) - self._began

    def run(self, concurrency: int) -> None:
        """Start the batch on a thread of its own."""
        self.ended, self.stopped, self.broken, self._cancelled = False, "", None, False
        self._taking = asyncio.Lock()
        threading.Thread(target=self._run, args=[concurrency], name="agentnb-batch", daemon=True).start()

    def ask_again(self, numbers: Iterable[int]) -> None:
        """Let the next :meth:`run` ask these inputs once more."""
        for number in numbers:
            row = self._records.row(number)
            if row is not None and number in self._jobs:
                self.counts[row.state] -= 1
                self.counts["running"] += 1
                self._records.again(number)
                self._again.append(self._jobs[number])

    def cancel(self, why: str = "It was cancelled.") -> None:
        """End the batch: cancel the inputs that are being asked, and ask no others. From any thread."""
        with self._lock:
            if self.ended or self._cancelled:
                return
            self._cancelled = True
            self.stopped = self.stopped or why
            loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._cancel_workers)

    # ------------------------------------------------------------ on the runner's thread

    def _run(self, concurrency: int) -> None:
        with parts_of_work():
            asyncio.run(self._main(concurrency))

    async def _main(self, concurrency: int) -> None:
        with self._lock:
            self._loop = asyncio.get_running_loop()
        try:
            if self._cluster is not None:
                await self._cluster.open()
            self.opened.set()
            with self._lock:
                self._workers = [asyncio.create_task(self._work(number)) for number in range(concurrency)]
            if self._cancelled:
                self._cancel_workers()
            watch = asyncio.create_task(self._keep_budget())
            ended = await asyncio.gather(*self._workers, return_exceptions=True)
            watch.cancel()
            for each in ended:
                if isinstance(each, Exception) and not isinstance(each, asyncio.CancelledError):
                    self.broken = self.broken or each
            if self._cassette is not None:
                self._cassette.save(self._question.name)
        except Exception as error:  # noqa: BLE001 - told by whoever waits
            self.broken = self.broken or error
        finally:
            self._inputs.pause()
            if self._cluster is not None and self._cancelled:
                await self._cluster.cancel()
            if self._cluster is not None:
                await self._cluster.close()
            with self._lock:
                self._loop = None
                self.ended = True
            self._ended_at = time.monotonic()
            self.opened.set()
            self._on_change()

    def _cancel_workers(self) -> None:
        for each in self._workers:
            each.cancel()

    def _asking(self, worker: int) -> SessionWorker | ClusterWorker:
        if self._cluster is None:
            return SessionWorker(self._question, worker % self._question.processes)
        from agentnb.plugins.map.cluster import ClusterWorker

        return ClusterWorker(self._cluster)

    async def _work(self, worker: int) -> None:
        asking = self._asking(worker)
        try:
            while True:
                async with self._taking:
                    job = await self._next()
                if job is None:
                    return
                await self._answer(job, asking)
                self._on_change()
        finally:
            await asking.close(CANCEL_SECONDS if self._cancelled else CLOSE_SECONDS)

    async def _next(self) -> Job | None:
        """Returns the next unanswered input; None if there is none, or if the batch is to end."""
        while not self.stopped and self.broken is None:
            if self._again:
                return self._again.popleft() if self._may_ask() else None
            try:
                prompt = await self._inputs.take()
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - the user's iterator; told by whoever waits
                self.broken = error
                return None
            if prompt is None or not self._may_ask():
                self._inputs.put_back(prompt)
                return None
            number, self.prompt_count = self.prompt_count, self.prompt_count + 1
            key = self._question.key(prompt.text)
            try:
                attachments = await asyncio.to_thread(attachments_of, prompt.context) if prompt.context else ()
                copy, kept = self._records.begin(
                    number, prompt.label, prompt.text, key, partial(self._recorded, key, prompt.text)
                )
            except AgentnbError as error:  # the cassette lacks the prompt, or the log cannot be written
                self.broken = error
                return None
            if kept is None:
                self.counts["running"] += 1
                job = self._jobs[number] = Job(number, prompt.text, key, copy, attachments)
                if prompt.check is not None:
                    self._checks[number] = prompt.check
                return job
            self.counts["done"] += 1
            if (key, copy) not in self._replayed:
                self._count(kept.body)
            self._on_change()
        return None

    async def _answer(self, job: Job, asking: SessionWorker | ClusterWorker) -> None:
        """Ask until there is an answer, and keep the result."""
        state: RowState = "cancelled"
        asking.begin()
        self._busy.add(asking)
        self.turns += 1
        try:
            state, body = await self._tried(job, asking)
        except BaseException as error:
            body = asking.body(error=self.stopped or str(error), reason="cancelled")
            raise
        finally:
            self._busy.discard(asking)
            self.counts["running"] -= 1
            self.counts[state] += 1
            self._records.end(job.number, state, body)
            self._count(body)
        self._stop_where_wanted(state, body)

    async def _tried(self, job: Job, asking: SessionWorker | ClusterWorker) -> tuple[RowState, Body]:
        failures, busy, again = 0, 0, job
        while True:
            await self._until_calm()
            self._records.count_question(job.number)
            try:
                body = await self._checked_answer(again, asking)
            except ClusterLost as error:
                self.stopped = self.stopped or str(error)
                return "cancelled", asking.body(error=str(error), reason="cluster lost")
            except (AgentnbError, AnswerUnfit) as error:
                if _is_busy(error) and busy < BUSY_TRIES:
                    busy += 1
                    self._pause()
                    continue
                failures += 1
                again = _with_refusal(job, error)
                if failures > self._question.retries or isinstance(error, (*_HOPELESS, TurnRefused, UsageError)):
                    if isinstance(error, _HOPELESS):
                        self.stopped = self.stopped or str(error)
                    return "failed", asking.body(error=str(error), reason=_reason(error))
            else:
                self._pauses = 0
                del self._jobs[job.number]
                if self._cassette is not None:
                    self._cassette.keep(self._question.name, job.key, job.copy, job.text, body)
                return "done", body

    async def _checked_answer(self, job: Job, asking: SessionWorker | ClusterWorker) -> Body:
        """Ask once, and have the user's function check the answer."""
        body = await asking.ask(job)
        if (check := self._checks.get(job.number)) is not None:
            await asyncio.to_thread(check_answer, check, body)
        return body

    def _recorded(self, key: str, prompt: str, copy: int) -> Body | None:
        body = None if self._cassette is None else self._cassette.answer(key, copy, prompt)
        if body is not None:
            self._replayed.add((key, copy))  # its cost was counted when it was recorded
        return body

    def _pause(self) -> None:
        now = time.monotonic()
        if now < self._calm_at:
            return  # another worker has started the pause
        self._calm_at = now + min(self._question.backoff * 2**self._pauses, LONGEST_PAUSE)
        self._pauses += 1

    async def _until_calm(self) -> None:
        left = self._calm_at - time.monotonic()
        if left > 0:
            await asyncio.sleep(left)
            await self._until_calm()  # another worker may have extended the pause

    def _count(self, body: Body) -> None:
        self.input_tokens += body.input_tokens or 0
        self.output_tokens += body.output_tokens or 0
        add_costs(self.costs, body.costs)

    async def _keep_budget(self) -> None:
        """Cancel the inputs that are being asked once they use up the budget."""
        while True:
            await asyncio.sleep(BUDGET_SECONDS)
            if self._busy and (why := self._used_up()):
                self.cancel(why)

    def _may_ask(self) -> bool:
        """True if one more input may be asked; otherwise the batch is stopped."""
        self.stopped = self.stopped or self._used_up(more_turns=1)
        return not self.stopped

    def _used_up(self, more_turns: int = 0) -> str:
        """Returns why no more may be used, or ''. Answers under way count as far as they are."""
        bodies = [each.body() for each in self._busy]
        costs = dict(self.costs)
        for body in bodies:
            add_costs(costs, body.costs)
        tokens = self.input_tokens + self.output_tokens
        tokens += sum((each.input_tokens or 0) + (each.output_tokens or 0) for each in bodies)
        spent = Spent(tokens=tokens, costs=costs, seconds=self.seconds, turns=self.turns + more_turns)
        uses = uses_of(self._limits, {"batch": spent})
        self.nearly = next((each.nearly for each in uses if each.is_nearly_reached), "")
        return " ".join(f"{each.message} {each.limit.hint}" for each in uses if each.is_reached)

    def _stop_where_wanted(self, state: RowState, body: Body) -> None:
        question = self._question
        if state == "failed" and question.stops_at_failure:
            self.stopped = self.stopped or f"An input failed: {body.error}"
        elif question.max_failures is not None and self.counts["failed"] >= question.max_failures:
            self.stopped = self.stopped or f"{self.counts['failed']} inputs failed (max_failures)."
        if question.max_cost is not None and any(each >= question.max_cost for each in self.costs.values()):
            self.stopped = self.stopped or f"It cost {money(self.costs)} (max_cost={question.max_cost:g})."
        self._used_up()


def add_costs(costs: dict[str, float], more: Mapping[str, float]) -> None:
    for currency, amount in more.items():
        costs[currency] = costs.get(currency, 0.0) + amount


def _with_refusal(job: Job, error: Exception) -> Job:
    """Returns *job* with the reason why a check refused its last answer, if one did."""
    if not isinstance(error, AnswerRefused):
        return job
    return replace(job, text=f"{job.text}\n\nAn earlier answer was not accepted: {error}")


def _is_busy(error: Exception) -> bool:
    return not isinstance(error, (AnswerUnfit, TurnTimeout)) and _BUSY.search(str(error)) is not None


def _reason(error: Exception) -> str:
    """Returns a few words that failures of one kind share."""
    if isinstance(error, AnswerUnfit):
        return "answer not accepted" if isinstance(error, AnswerRefused) else "answer does not fit"
    if isinstance(error, TurnTimeout):
        return "timeout"
    if isinstance(error, TurnRefused):
        return "refused"
    if isinstance(error, TurnCancelled):
        return "cancelled by the agent"
    if isinstance(error, WorkerLost):
        return "worker stopped"
    if isinstance(error, AgentDied) or "stopped" in str(error):
        return "agent stopped"
    return "model is busy" if _is_busy(error) else " ".join(re.sub(r"\d+", "…", str(error)).split())[:80]


def money(costs: Mapping[str, float]) -> str:
    return " + ".join(f"{amount:.2f} {currency}" for currency, amount in sorted(costs.items()))
