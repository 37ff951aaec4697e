"""An interrupt while this thread blocks.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a finalizer, a weak reference's callback or
a C function that reports errors and goes on, it is printed and gone; between two lines of a lock it breaks the lock.
Who only waits had better count.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self


class CountedInterrupts:
    """While entered, the first SIGINT is counted instead of raised; each later one raises KeyboardInterrupt as well.

    Only the main thread gets signals. Where SIGINT raises nothing anyway (a shell ignores it for what it starts in the
    background, and that is inherited), it is left so.

    Args:
        on_first: Called at the first one, between any two instructions: it must take no lock.

    Attributes:
        count: How many there have been.

    Example:
        >>> with CountedInterrupts() as interrupts:
        ...     interrupts.count
        0
    """

    def __init__(self, on_first: Callable[[], object] = lambda: None) -> None:
        self.count = 0
        self._on_first = on_first
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, _signal: int, _frame: object) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        self._on_first()
