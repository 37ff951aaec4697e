"""A look at the user's objects by the cell that runs, which ends in time: a ``__repr__`` may hang.

Looks that others ask for are jobs of the main thread (:class:`agentnb.kernel.job_queue.JobQueue`), which interrupts
them. A cell that prompts an agent is on that thread already: here another thread interrupts it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.ipython.execution import ObjectLook

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LOOK_SECONDS = 20.0
"""Seconds that a look may take."""
_AGAIN_SECONDS = 2.0
_TRIES = 5


def look_in_time(shell: Any, look: Callable[[], T], seconds: float = LOOK_SECONDS) -> T:
    """The result of *look*, called here; on the main thread it is interrupted when its time is up.

    Not bounded: C code that never checks for signals, and threads other than the main one, which get no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return look()
    work, over = ObjectLook(shell, look), threading.Event()
    found: list[T] = []

    def interrupt() -> None:
        wait, tries = seconds, _TRIES
        while tries and not over.wait(wait):  # again: what catches everything catches an interrupt, too
            work.stop("timeout")
            wait, tries = _AGAIN_SECONDS, tries - 1

    watch = threading.Thread(target=interrupt, name="agentnb-look", daemon=True)
    watch.start()
    try:
        work.begin(found.append, loop_is_free=False)
    except Exception as error:
        if work.stopped_by == "user":
            raise KeyboardInterrupt from error
        raise
    finally:
        over.set()
        watch.join()
    if work.stopped_by == "user":
        raise KeyboardInterrupt
    return found[0]
