"""Cost of a replay: a turn from a cassette beside the same turn with the agent, and the replayer's start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.row import Row

TURNS = 40
PROGRAM = """
import sys, time
import agentnb
begun = time.perf_counter()
session = agentnb.start("eliza", cwd=sys.argv[1], permissions="allow")
session.prompt("Hello").wait(60)
print((time.perf_counter() - begun) * 1000)
for number in range(int(sys.argv[2])):
    begun = time.perf_counter()
    session.prompt("/tool search").wait(60, check=False).raise_for_error()
    print((time.perf_counter() - begun) * 1000)
"""


def measure() -> list[Row]:
    """Returns medians of turns in one process each."""
    with tempfile.TemporaryDirectory() as folder:
        live_start, live = _run(folder, "off")
        _run(folder, "record")
        start, replayed = _run(folder, "replay")
    return [
        Row(
            what="a replayed turn, beside the agent's own", value=replayed, unit="ms", beside=live, beside_name="eliza"
        ),
        Row(what="a replayed turn", value=replayed, unit="ms", at_most=20.0),
        Row(
            what="the first replayed turn, with its start",
            value=start,
            unit="ms",
            beside=live_start,
            beside_name="eliza",
        ),
    ]


def _run(folder: str, mode: str) -> tuple[float, float]:
    cassette = str(Path(folder) / "bench.cassette.jsonl")
    env = {**os.environ, "AGENTNB_CASSETTE": cassette, "AGENTNB_CASSETTE_MODE": mode}
    command = [sys.executable, "-c", PROGRAM, folder, str(TURNS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    first, *others = map(float, done.stdout.split())
    return first, statistics.median(others)
