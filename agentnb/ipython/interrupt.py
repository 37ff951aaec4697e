"""The kernel's interrupt, while a cell awaits a turn.

ipykernel's own handler is looked at only when something wakes the loop, which can take seconds. This one wakes the loop
itself and lets the turn be cancelled in order.
"""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self


def interrupt_main_thread() -> None:
    """Send SIGINT to the main thread, from any other."""
    if sys.platform == "win32":
        _thread.interrupt_main()  # noticed between two instructions only
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class AgentInterrupted(KeyboardInterrupt):
    """The user interrupted a cell that waited for an agent. One line in the notebook, and queued cells abort."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class Interrupts:
    """While entered, each SIGINT calls *on_interrupt* on the running loop, at once, instead of raising somewhere.

    Only the main thread gets signals; on any other this does nothing. The handler before is put back on leaving,
    always: Python's default one would end the kernel while its loop waits.
    """

    def __init__(self, on_interrupt: Callable[[int], None]) -> None:
        self.count = 0
        self._on_interrupt = on_interrupt
        self._before: Any = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        # The cell's context says which cell printed text belongs to.
        self._context = contextvars.copy_context()
        self._armed = threading.current_thread() is threading.main_thread()
        if self._armed:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._armed:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, _signal: int, _frame: object) -> None:
        self.count += 1
        self._loop.call_soon_threadsafe(self._on_interrupt, self.count, context=self._context)
