"""What ``import agentnb`` adds to an IPython process that is already up."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.benchmarks.row import Row

RUNS = 7
LIMIT_MS = 60.0
PROGRAM = """
import time
start = time.perf_counter()
import IPython
middle = time.perf_counter()
import agentnb
end = time.perf_counter()
import agentnb.ipython
loaded = time.perf_counter()
print((middle - start) * 1000, (end - middle) * 1000, (loaded - end) * 1000)
"""


def measure() -> list[Row]:
    """Time both imports in fresh processes; medians."""
    base, added, loaded = map(statistics.median, zip(*(_once() for _ in range(RUNS)), strict=True))
    return [
        Row(what="import agentnb, beside IPython's own", value=added, unit="ms", beside=base, beside_name="IPython"),
        Row(what="import agentnb, after IPython", value=added, unit="ms", at_most=LIMIT_MS),
        Row(what="%load_ext agentnb, its imports", value=loaded, unit="ms"),
    ]


def _once() -> tuple[float, float, float]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, second, third = map(float, done.stdout.split())
    return first, second, third
