"""Functions that users hand in: each call runs on a thread of its own, never on the host's.

The host's thread serves every conversation: code that blocks or raises there would stop all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.credentials import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from logging import Logger

T = TypeVar("T")

log: Logger = logger("agentnb.api")


def start_user_code(function: Callable[..., Any], *args: Any) -> None:
    """Call *function* on a new daemon thread; what it raises is logged."""

    def run() -> None:
        try:
            function(*args)
        except BaseException:  # whatever it is, it ends this call only
            log.exception("%s raised", getattr(function, "__qualname__", "a callback"))

    try:
        threading.Thread(target=run, name="agentnb-callback", daemon=True).start()
    except RuntimeError:
        log.debug("callbacks are no longer called: the interpreter is shutting down")


async def run_beside(work: Callable[[], Coroutine[Any, Any, T]], timeout: float) -> T:
    """Returns what *work* returns: a coroutine that runs on a new daemon thread, on a loop of its own. It may block."""
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
        """Cancel it, if it still runs."""
        with self._lock, contextlib.suppress(RuntimeError):
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
