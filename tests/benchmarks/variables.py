"""Variables kept for undo before an agent's code runs: time and memory, beside a copy of the same frame.

The time is that of the whole watch without the code: reachable objects, the snapshot, and the names.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from agentnb.kernel.variables.kinds import Reach
from agentnb.kernel.variables.watch import VariableWatch, Watches
from agentnb.memory import resident_memory
from tests.benchmarks.row import Row

ROUNDS = 9
ROWS, COLUMNS = 1_250_000, 100
MANY = 10_000
MOST_MS = 5.0
MOST_MS_OF_MANY = 20.0
MOST_MEMORY = 0.05
MOST_TO_A_COPY = 0.05


def measure() -> list[Row]:
    frame = pd.DataFrame(np.zeros((ROWS, COLUMNS)) + 1)
    size = int(frame.memory_usage().sum())
    copied = _best(frame.copy)
    memory = resident_memory()
    watches = [_begun({"df": frame}, "df['x'] = 1") for _ in range(ROUNDS)]
    memory = max(0, resident_memory() - memory) // ROUNDS
    kept = min(seconds for seconds, _ in watches)
    many: dict[str, Any] = {f"name_{number}": [number] for number in range(MANY)}
    quiet = min(_begun(many, "print(1)")[0] for _ in range(ROUNDS))
    wide = pd.DataFrame(np.zeros((10, 5_000)))
    of_wide = min(_begun({"wide": wide}, "wide.iloc[0, 0] = 1")[0] for _ in range(ROUNDS))
    return [
        Row(what="keep a frame of 1 GB", value=kept * 1000, unit="ms", at_most=MOST_MS),
        Row(
            what="keep a frame of 1 GB, to a copy",
            value=kept * 1000,
            unit="ms",
            beside=copied * 1000,
            beside_name="DataFrame.copy()",
            at_most=MOST_TO_A_COPY,
        ),
        Row(what="keep a frame of 1 GB, memory", value=memory / size * 100, unit="%", at_most=MOST_MEMORY * 100),
        Row(what="keep a frame of 5,000 columns", value=of_wide * 1000, unit="ms", at_most=MOST_MS_OF_MANY),
        Row(what=f"code that touches none of {MANY:,} names", value=quiet * 1000, unit="ms", at_most=MOST_MS_OF_MANY),
    ]


def _best(work: Any) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _begun(names: dict[str, Any], code: str) -> tuple[float, VariableWatch]:
    """Returns the seconds before code runs, and the watch."""
    watch = VariableWatch(lambda: dict(names), Reach(code), Watches(), lambda _changes: None)
    began = time.perf_counter()
    watch.begin_step()
    return time.perf_counter() - began, watch
