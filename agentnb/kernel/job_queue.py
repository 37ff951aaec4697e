"""A queue of jobs for the main thread, which runs them when the user's own code leaves it free.

An agent's code has to run on the thread where the user's code runs. That thread is free while the kernel is idle, and
while a cell only waits for a turn. If the wait blocks the thread, the waiting code runs the jobs
(:meth:`JobQueue.waiting`); otherwise the thread's event loop runs them. Jobs come from the host's thread and one runs
at a time. A job that itself waits for a turn leaves the thread free for the jobs of that turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from agentnb.errors import KernelBusy, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Call = Callable[[], None]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Stop = Literal["user", "timeout", "cancelled", "stopped"]
"""The cause of a stop: the kernel's interrupt, the time limit, the end of the turn, or the user stopping only it."""

AGAIN_SECONDS = 2.0
TRIES = 5
GRACE_SECONDS = 6.0
GO_ON = "The turn goes on. Ask the user before you run it again."  # to an agent whose code the user stopped

_owners: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("agentnb_owners", default=())


class MainThreadWork(Protocol[T_co]):
    """Something to run on the main thread; its type parameter is the type of its result."""

    def begin(self, done: Callable[[T_co], None], *, loop_is_free: bool) -> None:
        """Begin on the main thread; *done* is called there when it has ended, before this returns or later."""

    def stop(self, why: Stop) -> None:
        """Interrupt it, from another thread; does nothing once it has ended."""


class _Job(Generic[T]):
    def __init__(self, work: MainThreadWork[T], owner: str) -> None:
        self.work = work
        self.owner = owner
        self.started: Future[None] = Future()
        self.ended: Future[T] = Future()


class _Waiter:
    def __init__(self, wake: Call | None) -> None:
        self.wake = wake
        self.context = contextvars.copy_context()


class JobQueue:
    """The jobs of one process's main thread; one queue per process (``Environment.job_queue``)."""

    def __init__(self) -> None:
        self.schedule: Callable[[Call], None] | None = None
        self.is_main_thread_busy: Callable[[], bool] = lambda: True
        self.grace = GRACE_SECONDS
        self._lock = threading.Lock()
        self._queue: list[_Job[Any]] = []
        self._stack: list[_Job[Any] | _Waiter] = []  # occupants of the thread; the last entry is running

    # --- from the host's thread ---

    async def run(self, work: MainThreadWork[T], owner: str, *, patience: float, timeout: float | None = None) -> T:
        job = _Job(work, owner)
        with self._lock:
            self._queue.append(job)
        try:
            self.wake()
            if not await _in_time(job.started, patience) and self._withdraw(job):
                raise self._busy()
            if await _in_time(job.ended, timeout):
                return job.ended.result()
            _stop(job, "timeout")
            if await _in_time(job.ended, self.grace):
                return job.ended.result()
        except asyncio.CancelledError:
            if not self._withdraw(job):
                _stop(job, "cancelled")
            raise
        message = f"The code was interrupted after {timeout:g} s but has not stopped; the kernel is still running it."
        raise KernelBusy(message, hint="Wait until it ends, or restart the kernel.")

    def stop(self, work: MainThreadWork[Any]) -> None:
        """Stop only *work*, for the user: interrupt it if it runs, drop it if it is still queued; else no effect."""
        with self._lock:
            jobs = [each for each in (*self._queue, *self._stack) if isinstance(each, _Job)]
        job = next((each for each in jobs if each.work is work), None)
        if job is None:
            return
        if self._withdraw(job):
            job.ended.set_exception(UsageError("Stopped by the user before it began.", hint=GO_ON))
            job.started.set_result(None)
        else:
            _stop(job, "stopped")

    def wake(self) -> None:
        """Make the main thread run its jobs, by the innermost waiting code if any, else by the thread's loop."""
        with self._lock:
            waiters = [each for each in self._stack if isinstance(each, _Waiter)]
            schedule = self.schedule
        wake = waiters[-1].wake if waiters else None
        if wake is not None:
            wake()
        elif schedule is not None:
            schedule(self.run_pending)

    def _busy(self) -> KernelBusy:
        if self.schedule is None and not self.has_waiter:
            hint = "In a terminal, agents' code runs only while a %agent command or your own code waits for a turn."
            return KernelBusy("Nothing can run code in this terminal now.", hint=hint)
        return KernelBusy("The kernel is busy with a cell.", hint="Try again when the cell has ended.")

    def _withdraw(self, job: _Job[Any]) -> bool:
        """Take *job* out of the queue; False if it has already begun."""
        with self._lock:
            if job not in self._queue:
                return False
            self._queue.remove(job)
            return True

    # --- on the main thread ---

    @contextlib.contextmanager
    def waiting(self, owner: str, wake: Call | None = None) -> Iterator[None]:
        """Let jobs run on this thread while the body waits for a turn of the tab *owner*."""
        self.check_can_wait(owner)
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        if wake is None and self.schedule is None:
            wake = self._wake_by_running_loop()
        waiter = _Waiter(wake)
        with self._lock:
            self._stack.append(waiter)
            waits = bool(self._queue)
        if waits:
            self.wake()
        try:
            yield
        finally:
            with self._lock:
                self._stack.remove(waiter)

    def _wake_by_running_loop(self) -> Call | None:
        """Have the loop running on this thread run the jobs, as in a script or terminal; None if there is no loop."""
        try:
            schedule = scheduler_of(asyncio.get_running_loop())
        except RuntimeError:
            return None
        return lambda: schedule(self.run_pending)

    @property
    def has_waiter(self) -> bool:
        """True if code on the main thread waits for a turn."""
        with self._lock:
            return any(isinstance(each, _Waiter) for each in self._stack)

    @property
    def is_kernel_busy(self) -> bool:
        """True if the main thread is running a cell that does not wait for a turn."""
        return self.is_main_thread_busy() and not self.has_waiter

    @property
    def is_running_job(self) -> bool:
        """True if the caller itself runs as one of these jobs."""
        return bool(_owners.get())

    def check_can_wait(self, owner: str) -> None:
        """Raise :class:`UsageError` if the caller would wait for itself; see :meth:`waiting`."""
        if owner in _owners.get():
            raise UsageError(
                "Code that an agent runs in the kernel cannot wait for that agent's own turn.",
                hint="Ask in another tab, or with --background.",
            )

    def run_pending(self, *, loop_is_free: bool = True) -> None:
        """Run the queued jobs until the queue is empty or the thread is taken. Call it on the main thread only."""
        while (taken := self._take()) is not None:
            job, context = taken
            context.run(self._begin, job, loop_is_free)

    def _take(self) -> tuple[_Job[Any], contextvars.Context] | None:
        with self._lock:
            last = self._stack[-1] if self._stack else None
            if not self._queue or isinstance(last, _Job) or (last is None and self.is_main_thread_busy()):
                return None
            job = self._queue.pop(0)
            self._stack.append(job)
        return job, last.context.copy() if last is not None else contextvars.copy_context()

    def _begin(self, job: _Job[Any], loop_is_free: bool) -> None:
        _owners.set((*_owners.get(), job.owner))
        job.started.set_result(None)
        try:
            job.work.begin(lambda outcome: self._end(job, outcome), loop_is_free=loop_is_free)
        except Exception as error:  # noqa: BLE001 - whatever it is, `run` waits for it
            self._end(job, None, error)
        except BaseException as error:  # noqa: BLE001 - raised on the host's thread it would end that thread
            self._end(job, None, KernelBusy(f"The code ended with {type(error).__name__}."))

    def _end(self, job: _Job[T], outcome: T, error: Exception | None = None) -> None:
        with self._lock:
            self._stack.remove(job)
            waits = bool(self._queue)
        if error is not None:
            job.ended.set_exception(error)
        else:
            job.ended.set_result(outcome)
        if waits:
            self.wake()


def scheduler_of(loop: asyncio.AbstractEventLoop) -> Callable[[Call], None]:
    """Returns a function that schedules a call on *loop* from any thread; no effect once the loop is closed."""

    def schedule(function: Call) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(function)

    return schedule


def _stop(job: _Job[Any], why: Stop, tries: int = TRIES) -> None:
    """Interrupt *job* until it ends, up to *tries* times: Python drops an interrupt that arrives inside a finalizer."""
    if tries and not job.ended.done():
        job.work.stop(why)
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, _stop, job, why, tries - 1)


async def _in_time(future: Future[Any], seconds: float | None) -> bool:
    """True if *future* is done within *seconds*; the future itself is not cancelled."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the host's loop was closed meanwhile
            loop.call_soon_threadsafe(end)

    future.add_done_callback(tell)
    late = None if seconds is None else loop.call_later(seconds, end)
    try:
        await over
    finally:
        if late is not None:
            late.cancel()
    return future.done()
