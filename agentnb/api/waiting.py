"""Waits for the host, with a time limit and through interrupts, and calls the user's functions.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a finalizer, a weak reference's callback or
a C function that reports errors and continues, it is printed and lost; between two lines of a lock it breaks the lock.
So code that only waits counts interrupts instead.

The host's thread serves every conversation: code that blocks or raises there would stop all of them.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import signal
import sys
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.credentials import logger
from agentnb.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from logging import Logger

    from typing_extensions import Self

    from agentnb.host.host import Host


T = TypeVar("T")

POLL_SECONDS = 0.2
"""Seconds between two checks of a blocked main thread, so that Ctrl-C works on every platform."""


def within(host: Host, work: Coroutine[Any, Any, T], timeout: float, title: str) -> T:
    """Run *work* for the agent called *title* and return its result; cancels it after *timeout* seconds."""
    late = AgentError(
        f"{title} did not answer within {timeout:g} s.", hint="Restart the agent, or give it longer (timeout=…)."
    )
    return in_time(host, work, timeout, late, gives_up=True)


def in_time(host: Host, work: Coroutine[Any, Any, T], timeout: float, late: Exception, *, gives_up: bool = False) -> T:
    """Run *work* on the host's thread and return its result; must not be called on that thread."""
    future = host.loop.submit(work)
    try:
        return future.result(timeout)
    except TooLong as error:
        if future.done():
            raise
        if gives_up:
            future.cancel()
        raise late from error


def with_main_thread(host: Host, tab_id: str, work: Coroutine[Any, Any, T], timeout: float, late: Exception) -> T:
    """Like :func:`in_time`; meanwhile, if this is the main thread, it also does the jobs that *work* has for it."""
    if threading.current_thread() is not threading.main_thread():
        return in_time(host, work, timeout, late)
    queue, woken, deadline = host.environment.job_queue, threading.Event(), time.monotonic() + timeout
    with queue.waiting(tab_id, woken.set):
        future = host.loop.submit(work)
        future.add_done_callback(lambda _: woken.set())
        while not future.done():
            if time.monotonic() > deadline:
                raise late
            woken.wait(POLL_SECONDS)
            woken.clear()
            queue.run_pending(loop_is_free=False)
    return future.result()


def raise_later(count: int) -> None:
    """Ignore the first interrupt; raise KeyboardInterrupt at each later one."""
    if count > 1:
        raise KeyboardInterrupt


class CountedInterrupts:
    """While entered, each SIGINT calls a function instead of raising somewhere. Only the main thread gets signals.

    The previous handler is always restored on exit: Python's default one would end the kernel while its loop waits.

    Example:
        >>> with CountedInterrupts() as interrupts:
        ...     interrupts.count
        0
    """

    def __init__(self, on_interrupt: Callable[[int], object] = raise_later, *, always: bool = False) -> None:
        self.count: int = 0
        self._on_interrupt = on_interrupt
        self._always = always
        self._before: Any = None

    def __enter__(self) -> Self:
        self._armed = threading.current_thread() is threading.main_thread() and (
            self._always or callable(signal.getsignal(signal.SIGINT))
        )
        if self._armed:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._armed:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, _signal: int, _frame: object) -> None:
        self.count += 1
        self._on_interrupt(self.count)


def interrupt_main_thread() -> None:
    """Send SIGINT to the main thread, from any other thread."""
    if sys.platform == "win32":
        _thread.interrupt_main()  # takes effect only between two bytecode instructions
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def nest() -> bool:
    """Make the running loop re-entrant; returns False if its type does not support that."""
    import nest_asyncio

    run = asyncio.run
    try:
        nest_asyncio.apply()
    except ValueError:
        return False
    finally:
        asyncio.run = run  # nest-asyncio's asyncio.run never closes its loops
    return True


log: Logger = logger("agentnb.api")


def start_user_code(function: Callable[..., Any], *args: Any) -> None:
    """Call *function* on a new daemon thread; errors that it raises are logged."""

    def run() -> None:
        try:
            function(*args)
        except BaseException:  # any exception ends only this call
            log.exception("%s raised", getattr(function, "__qualname__", "a callback"))

    try:
        threading.Thread(target=run, name="agentnb-callback", daemon=True).start()
    except RuntimeError:
        log.debug("callbacks are no longer called: the interpreter is shutting down")


async def run_beside(work: Callable[[], Coroutine[Any, Any, T]], timeout: float) -> T:
    """Run the coroutine of *work* on a new daemon thread with its own loop and return its result; *work* may block."""
    call = _Call(work)
    start_user_code(call.run)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(call.result), timeout)
    finally:
        call.cancel()


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.result: Future[T] = Future()
        self._work = work
        self._lock = threading.Lock()
        self._task: asyncio.Task[T] | None = None

    def run(self) -> None:
        if not self.result.set_running_or_notify_cancel():
            return
        loop = asyncio.new_event_loop()
        try:
            self._task = loop.create_task(self._work())
            self.result.set_result(loop.run_until_complete(self._task))
        except Exception as error:  # noqa: BLE001 - raised where the result is wanted
            self.result.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - raised on the host's thread it would end that thread
            self.result.set_exception(RuntimeError(f"raised {type(error).__name__}"))
        finally:
            with self._lock:
                self._task = None
            loop.close()

    def cancel(self) -> None:
        with self._lock, contextlib.suppress(RuntimeError):
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
