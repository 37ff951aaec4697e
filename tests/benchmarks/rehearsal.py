"""A rehearsal of code by size of the namespace; the start of a confined agent beside an unconfined one.

A size that does not fit into the free memory is left out, and the table says so.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from agentnb.agent.catalog import custom
from agentnb.agent.confinement import Confine, way_here
from agentnb.agent.process import SpawnedAgent
from tests.benchmarks.row import Row

SIZES = {"10 MB": 10 * 1024**2, "1 GB": 1024**3, "8 GB": 8 * 1024**3}
ARRAY = "8 GB in an array"
"""NumPy requests huge pages where available: a fork then copies a page table that is 512 times smaller."""
ROUNDS = 5
STARTS = 40
LIMIT_MS = 15.0
"""The longest extra start time of a confined agent (issue 18)."""
FREE_BESIDE = 4 * 1024**3
"""Bytes of memory that stay free for the rest of the machine."""

_PROGRAM = """
import statistics, sys, time
if sys.argv[3] == "array":
    import numpy as np
    data = np.ones(int(sys.argv[1]) // 8)
else:
    data = bytearray(int(sys.argv[1]))
    data[::4096] = b"x" * len(data[::4096])  # every page is really there
rows = {"a": list(range(100))}
import agentnb
assert agentnb.rehearse("1").available, agentnb.rehearse("1").reason
taken = []
for _ in range(int(sys.argv[2])):
    begun = time.perf_counter()
    found = agentnb.rehearse("rows['b'] = len(data)")
    taken.append((time.perf_counter() - begun) * 1000)
    assert [each.name for each in found.variables] == ["rows"], found
print(statistics.median(taken))
"""


def measure() -> list[Row]:
    return [*_rehearsals(), *_starts()]


def _rehearsals() -> list[Row]:
    rows, smallest = [], None
    for name, size in [*SIZES.items(), (ARRAY, SIZES["8 GB"])]:
        free = psutil.virtual_memory().available
        if size + FREE_BESIDE > free:
            print(f"no rehearsal with {name}: {free / 1024**3:.0f} GB of memory are free", file=sys.stderr)
            continue
        kind = "array" if name == ARRAY else "bytes"
        command = [sys.executable, "-c", _PROGRAM, str(size), str(ROUNDS), kind]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            print(f"no rehearsal with {name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        taken = float(done.stdout)
        what = f"rehearsal of code, {name} in the namespace"
        rows.append(Row(what=what, value=taken, unit="ms", beside=smallest, beside_name="10 MB" if smallest else ""))
        smallest = smallest or taken
    return rows


def _starts() -> list[Row]:
    way, why = way_here()
    if way is None:
        print(f"no start of a confined agent: {why}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        taken: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(STARTS):  # alternately, so that a busy machine slows both
            for is_confined, each in taken.items():
                each.append(asyncio.run(_start(Path(folder), Confine() if is_confined else None)))
    more = min(taken[True]) - min(taken[False])
    what = f"more time to start an agent confined by {way}"
    return [Row(what=what, value=more, unit="ms", at_most=LIMIT_MS)]


async def _start(folder: Path, confine: Confine | None) -> float:
    """Returns the milliseconds until an agent writes its first bytes."""
    has_output = asyncio.Event()
    begun = time.perf_counter()
    spec = custom(["/bin/sh", "-c", "echo ready; read line"], name="ready")
    process = await SpawnedAgent.spawn(spec, folder, confine=confine, on_output=lambda _: has_output.set())
    await asyncio.wait_for(has_output.wait(), 60)
    taken = (time.perf_counter() - begun) * 1000
    await process.stop()
    return taken
