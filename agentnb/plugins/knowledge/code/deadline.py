"""Runs an analysis on a thread of its own and ends it when its time is up."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from agentnb.errors import UsageError
from agentnb.swallowed import is_swallowed

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

END_SECONDS = 1.0
"""Seconds that an analysis may take to end once its time is up."""
AGAIN_SECONDS = 0.25
"""Seconds until an analysis that has not ended gets the exception again: one may be lost where all are caught."""
STEP = 0.001


class TimeIsUp(BaseException):
    """Raised within an analysis whose time is up. No ``Exception``, so that the analysis does not catch it."""


class Deadline:
    """Runs one piece of work at a time.

    An analysis by another library has no way to be stopped, so its thread gets an exception. A thread that continues
    (because it is in C code) is left alone, and no other work runs before it has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stuck: threading.Thread | None = None

    def run(self, work: Callable[[], T], seconds: float) -> T:
        late = UsageError(
            f"The analysis took more than {seconds:g} s and was stopped.", hint="Ask about a smaller file or notebook."
        )
        if not self._lock.acquire(timeout=seconds):
            raise late
        try:
            if self._stuck is not None and self._stuck.is_alive():
                raise late
            run: _Run[T] = _Run(work)
            run.thread.start()
            run.thread.join(seconds)
            if run.thread.is_alive():
                run.end()
                self._stuck = run.thread
                raise late
            return run.result()
        finally:
            self._lock.release()


class _Run(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._do, name="agentnb-code", daemon=True)

    def _do(self) -> None:
        with suppress(TimeIsUp):  # raised a second time while the first is handled
            try:
                self._results.append(self._work())
            except BaseException as error:  # noqa: BLE001 - raised again on the thread that waits
                self._error = error

    def end(self) -> None:
        identifier = self.thread.ident or 0
        until = time.monotonic() + END_SECONDS
        while self.thread.is_alive() and (left := until - time.monotonic()) > 0:
            if is_swallowed(sys._current_frames().get(identifier)):  # noqa: SLF001 - the documented way to see them
                self.thread.join(STEP)
                continue
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identifier), ctypes.py_object(TimeIsUp))
            self.thread.join(min(AGAIN_SECONDS, left))

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]
