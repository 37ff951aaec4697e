"""The one clock: reducers never look at it, the time comes with the action (``action.time``)."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
