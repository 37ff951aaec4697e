"""Backoff: how long to wait before an agent that keeps dying is started again."""

from __future__ import annotations

FIRST = 0.5
CAP = 30.0
TRIES = 5


class Backoff:
    """The deaths in a row of one agent. The first restart is at once, each later one waits twice as long.

    Args:
        first: Seconds before the second restart.
        cap: The longest wait, in seconds.
        tries: How many restarts nobody asks for: after so many deaths in a row only a prompt or the user starts it.

    Example:
        >>> backoff = Backoff(first=1, cap=4)
        >>> for _ in range(5): backoff.died()
        >>> backoff.seconds, backoff.hopeless
        (4, True)
    """

    def __init__(self, *, first: float = FIRST, cap: float = CAP, tries: int = TRIES) -> None:
        self.deaths = 0
        self._first = first
        self._cap = cap
        self._tries = tries

    @property
    def seconds(self) -> float:
        """How long to wait before the next start."""
        if self.deaths <= 1:
            return 0.0
        return min(self._cap, self._first * float(1 << min(self.deaths - 2, 30)))

    @property
    def hopeless(self) -> bool:
        """Whether it died so often that it is started only when someone wants it."""
        return self.deaths >= self._tries

    def died(self) -> None:
        """It died once more."""
        self.deaths += 1

    def lives(self) -> None:
        """It has done its work, or the user wants it anew: what was is forgotten."""
        self.deaths = 0
