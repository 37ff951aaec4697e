"""A host's loop without a thread: its clock moves when the test says so, its timers fire in their order."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from typing import Any

from agentnb.host.loop import HostLoop


class ManualLoop(HostLoop):
    """Time in whole milliseconds, so that what is due at the same moment is due at the same moment everywhere."""

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
        """No agent comes: what would wait for one ends here."""
        coroutine.close()
        return self.done

    def advance(self, milliseconds: int) -> None:
        """Let time pass; what is due is done when it is due."""
        end = self.now + milliseconds
        while self._timers and self._timers[0][0] <= end:
            self.now, _, do = heappop(self._timers)
            do()
        self.now = end
