"""A host loop without a thread: the test moves its clock, and due timers fire in order."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from typing import Any

from agentnb.host.loop import HostLoop


class ManualLoop(HostLoop):
    """Counts time in whole milliseconds, so that timers due together here are also due together in the real client."""

    def __init__(self) -> None:
        self.now = 100_000
        self._timers: list[tuple[int, int, Callable[[], object]]] = []
        self._made = count()

        self.done: Future[Any] = Future()
        self.done.set_result(None)

    @property
    def inside(self) -> bool:
        return True

    def time(self) -> float:
        return self.now / 1000

    def later(self, seconds: float, function: Callable[..., object], *args: object) -> Any:
        heappush(self._timers, (self.now + round(seconds * 1000), next(self._made), lambda: function(*args)))

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        return function(*args)

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Closes the coroutine: no agent starts here."""
        coroutine.close()
        return self.done

    def advance(self, milliseconds: int) -> None:
        """Moves the clock and runs the timers that are due."""
        end = self.now + milliseconds
        while self._timers and self._timers[0][0] <= end:
            self.now, _, do = heappop(self._timers)
            do()
        self.now = end
