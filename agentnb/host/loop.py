"""The host's thread: one daemon thread that runs one asyncio loop.

Only this thread touches anything stateful (agents, sessions, log, policy, delivery). Jupyter's threads (main,
subshells, IOPub) hand over work with :meth:`HostLoop.post` and wait, if they must, with :meth:`HostLoop.call`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

WIND_UP = 0.5
"""Seconds that running tasks get to end when the loop is stopped."""


class HostLoop:
    """A private asyncio loop on a daemon thread called *name*."""

    def __init__(self, name: str = "agentnb-host") -> None:
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def inside(self) -> bool:
        """True if the caller is on the host's thread."""
        return threading.current_thread() is self._thread

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return self._loop.time()

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Run *function* soon on the host's thread; safe from any thread, never waits."""
        self.see_that_it_runs_here()
        self._loop.call_soon_threadsafe(function, *args)

    def later(self, seconds: float, function: Callable[..., object], *args: object) -> asyncio.TimerHandle:
        """Run *function* after *seconds*; on the host's thread only."""
        return self._loop.call_later(seconds, function, *args)

    def call(self, function: Callable[..., T], *args: object) -> T:
        """Run *function* on the host's thread and wait for its result."""
        if self.inside:
            return function(*args)
        self.see_that_it_runs_here()
        done: Future[T] = Future()
        self._loop.call_soon_threadsafe(_settle, done, function, args)
        return done.result()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start *coroutine* on the host's thread; safe from any thread."""
        try:
            self.see_that_it_runs_here()
        except UsageError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start *coroutine* as a task, referenced until it ends; on the host's thread only."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop(self, timeout: float = 2.0) -> None:
        """Stop the loop and join the thread, at most *timeout* seconds."""
        if self._loop.is_closed() or self.inside or self.forked:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout)

    @property
    def forked(self) -> bool:
        """True if this is a copy in a forked process (``multiprocessing``), which has no thread that runs it."""
        return os.getpid() != self._pid

    def see_that_it_runs_here(self) -> None:
        """Raise if the loop does not run in this process."""
        if self.forked:
            raise UsageError(
                "This session can only be used in the process that started it, and this is a fork of that process.",
                hint="Start another one here with agentnb.start().",
            )

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._wind_up()
            self._loop.close()

    def _wind_up(self) -> None:
        """Cancel the remaining tasks: asyncio complains about pending tasks of a closed loop."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left, timeout=WIND_UP))


def _settle(done: Future[T], function: Callable[..., T], args: tuple[object, ...]) -> None:
    try:
        done.set_result(function(*args))
    except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
        done.set_exception(error)
