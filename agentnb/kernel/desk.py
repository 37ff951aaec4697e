"""The desk: work for the main thread, taken there when the user's own code leaves it free.

Code of an agent's has to run where the user's does. The main thread is free while the kernel idles, and while a cell
only waits for a turn; where that wait blocks, the waiting one does the work (:meth:`Desk.waiting`), else the main
thread's own loop. Work comes from the host's thread and one piece runs at a time; a piece that itself waits for a turn
leaves the thread free for that turn's work.
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
Stop = Literal["user", "timeout", "cancelled"]
"""Who stopped code: the kernel's interrupt, its time limit, or the end of the turn."""

AGAIN_SECONDS = 2.0
TRIES = 5
GRACE_SECONDS = 3.0

_owners: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("agentnb_owners", default=())


class Work(Protocol[T_co]):
    """A piece of work; its type says what comes of it."""

    def begin(self, done: Callable[[T_co], None], *, loop_is_free: bool) -> None:
        """Begin on the main thread; *done* is called there when it has ended, before this returns or later.

        Args:
            done: Takes what came of it.
            loop_is_free: Whether the thread's running loop, if there is one, goes on meanwhile.
        """
        ...

    def stop(self, why: Stop) -> None:
        """Interrupt it, from another thread; nothing happens where it has ended."""
        ...


class _Job(Generic[T]):
    def __init__(self, work: Work[T], owner: str) -> None:
        self.work = work
        self.owner = owner
        self.started: Future[None] = Future()
        self.ended: Future[T] = Future()


class _Waiter:
    def __init__(self, wake: Call | None) -> None:
        self.wake = wake
        self.context = contextvars.copy_context()


class Desk:
    """The main thread's; one per process (``Environment.main_thread``).

    Attributes:
        post: Has a function called soon on the main thread, by its loop; None where no loop runs there for good.
        occupied: Whether the main thread runs code of the user's.
        grace: Seconds that code which was interrupted may take to end before it is left to itself.
    """

    def __init__(self) -> None:
        self.post: Callable[[Call], None] | None = None
        self.occupied: Callable[[], bool] = lambda: True
        self.grace = GRACE_SECONDS
        self._lock = threading.Lock()
        self._queue: list[_Job[Any]] = []
        self._stack: list[_Job[Any] | _Waiter] = []  # who is at the thread: the last one has it

    # --- from the host's thread ---

    async def do(self, work: Work[T], owner: str, *, patience: float, timeout: float | None = None) -> T:
        """Have *work* done, and wait for what comes of it. Cancelled, it is stopped.

        Args:
            work: What to do.
            owner: The tab whose agent wants it.
            patience: Seconds that it may wait for the main thread.
            timeout: Seconds that it may take; None: as long as it takes.

        Raises:
            KernelBusy: If the main thread was not free in time, or the work does not end though it was interrupted.
        """
        job = _Job(work, owner)
        with self._lock:
            self._queue.append(job)
        try:
            self.call()
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
        message = f"The code was interrupted after {timeout:g} s and does not stop; the kernel is still at it."
        raise KernelBusy(message, hint="Only its end, or a restart of the kernel, frees it.")

    def call(self) -> None:
        """Let the main thread look at its work, whoever is there now; where nobody is, whoever comes to wait looks."""
        with self._lock:
            waiters = [each for each in self._stack if isinstance(each, _Waiter)]
            post = self.post
        wake = waiters[-1].wake if waiters else None
        if wake is not None:
            wake()
        elif post is not None:
            post(self.serve)

    def _busy(self) -> KernelBusy:
        if self.post is None and not self.waited_at:
            hint = "A terminal runs it while a %agent command waits for its turn."
            return KernelBusy("Nothing runs code here now.", hint=hint)
        return KernelBusy("The kernel is busy with a cell.", hint="Try again when that has ended.")

    def _withdraw(self, job: _Job[Any]) -> bool:
        """Take *job* out of the queue; False where it was begun."""
        with self._lock:
            if job not in self._queue:
                return False
            self._queue.remove(job)
            return True

    # --- on the main thread ---

    @contextlib.contextmanager
    def waiting(self, owner: str, wake: Call | None = None) -> Iterator[None]:
        """Leave the thread to agents' work while the body waits for a turn of the tab *owner*.

        Args:
            owner: The tab.
            wake: Makes the body call :meth:`serve`, from any thread; None where the thread's loop goes on, which calls.

        Raises:
            UsageError: If the body belongs to code that this very tab's turn runs: it would wait for itself.
        """
        self.see_that_it_can_wait(owner)
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        waiter = _Waiter(wake)
        with self._lock:
            self._stack.append(waiter)
            waits = bool(self._queue)
        if waits:
            self.call()
        try:
            yield
        finally:
            with self._lock:
                self._stack.remove(waiter)

    @property
    def waited_at(self) -> bool:
        """Whether somebody waits for a turn at the main thread."""
        with self._lock:
            return any(isinstance(each, _Waiter) for each in self._stack)

    @property
    def at_work(self) -> bool:
        """Whether the caller is an agent's work."""
        return bool(_owners.get())

    def see_that_it_can_wait(self, owner: str) -> None:
        """Raise where who asks would wait for itself; see :meth:`waiting`."""
        if owner in _owners.get():
            raise UsageError(
                "Code that an agent runs in the kernel cannot wait for that agent's own turn.",
                hint="Ask in another tab, or with --background.",
            )

    def serve(self, *, loop_is_free: bool = True) -> None:
        """Do what waits, as far as the thread is free for it. On the main thread only."""
        while (taken := self._take()) is not None:
            job, context = taken
            context.run(self._begin, job, loop_is_free)

    def _take(self) -> tuple[_Job[Any], contextvars.Context] | None:
        with self._lock:
            last = self._stack[-1] if self._stack else None
            if not self._queue or isinstance(last, _Job) or (last is None and self.occupied()):
                return None
            job = self._queue.pop(0)
            self._stack.append(job)
        return job, last.context.copy() if last is not None else contextvars.copy_context()

    def _begin(self, job: _Job[Any], loop_is_free: bool) -> None:
        _owners.set((*_owners.get(), job.owner))
        job.started.set_result(None)
        try:
            job.work.begin(lambda outcome: self._end(job, outcome), loop_is_free=loop_is_free)
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits
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
            self.call()


def poster(loop: asyncio.AbstractEventLoop) -> Callable[[Call], None]:
    """What has a function called soon by *loop*, from any thread; one that is closed calls nothing any more."""

    def post(function: Call) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(function)

    return post


def _stop(job: _Job[Any], why: Stop, tries: int = TRIES) -> None:
    """Interrupt *job*, and again while it does not end: an interrupt that comes in a finalizer goes no further."""
    if tries and not job.ended.done():
        job.work.stop(why)
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, _stop, job, why, tries - 1)


async def _in_time(future: Future[Any], seconds: float | None) -> bool:
    """Whether *future* is done within *seconds*; it is left as it is.

    Not ``asyncio.wait_for``: before Python 3.12 that loses a cancellation which comes together with the end.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the host has ended meanwhile
            loop.call_soon_threadsafe(end)

    future.add_done_callback(tell)
    late = None if seconds is None else loop.call_later(seconds, end)
    try:
        await over
    finally:
        if late is not None:
            late.cancel()
    return future.done()
