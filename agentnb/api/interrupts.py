"""An interrupt while this thread waits, and whether a loop runs on it.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a finalizer, a weak reference's callback or
a C function that reports errors and goes on, it is printed and gone; between two lines of a lock it breaks the lock.
Who only waits had better count.
"""

from __future__ import annotations

import _thread
import asyncio
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


def raise_later(count: int) -> None:
    """Count the first interrupt; raise KeyboardInterrupt at each later one."""
    if count > 1:
        raise KeyboardInterrupt


class CountedInterrupts:
    """While entered, each SIGINT calls a function instead of raising somewhere. Only the main thread gets signals.

    The handler before is put back on leaving, always: Python's default one would end the kernel while its loop waits.

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
    """Send SIGINT to the main thread, from any other."""
    if sys.platform == "win32":
        _thread.interrupt_main()  # noticed between two instructions only
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs on this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def nest() -> bool:
    """Make the running loop re-entrant; False where it is of a kind that cannot be."""
    import nest_asyncio

    run = asyncio.run
    try:
        nest_asyncio.apply()
    except ValueError:
        return False
    finally:
        asyncio.run = run  # nest-asyncio's own never closes its loops, for the rest of the process
    return True
