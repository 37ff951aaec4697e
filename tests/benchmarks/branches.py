"""Three branches beside a kernel with large frames: their start time, and the memory of all processes."""

from __future__ import annotations

import json
import sys
import tempfile
from ast import literal_eval
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.row import Row
from tests.kernel.running_kernel import RunningKernel

SIZE = 1024**3
"""The size of all frames, in bytes."""
FRAMES = 4
COLUMNS = 8
TRIES = 3
LONGEST_MS = 1000.0
LARGEST = 1.3
"""The largest memory, as a multiple of the kernel's alone."""
AGENTS = Path(__file__).parents[1] / "agents"
CALLS = [{"start": ["run_code", {"code": "score = frames[0].iloc[0, 0]"}]}, {"end": 1}, {"say": "done"}]
SETUP = f"""
import agentnb, time, numpy as np, pandas as pd
AGENT = {{"command": [{sys.executable!r}, {str(AGENTS / "calls_kernel.py")!r}], "directories": [{str(AGENTS)!r}]}}
PROMPT = {json.dumps(CALLS)!r}
rows = {SIZE // FRAMES // COLUMNS // 8}
frames = [pd.DataFrame(np.random.rand(rows, {COLUMNS})) for _ in range({FRAMES})]
agentnb.branches(PROMPT, 1, agents=[AGENT]).wait().discard()
"""
BEGIN = f"""
begun = time.perf_counter()
tries = agentnb.branches(PROMPT, {TRIES}, agents=[AGENT])
(time.perf_counter() - begun) * 1000
"""


def measure() -> list[Row]:
    if sys.platform != "linux" or psutil.virtual_memory().available < 4 * SIZE:
        print("no branches: they need Linux and 4 GB of memory that is free", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        with RunningKernel.started("python3", Path(folder) / "work") as kernel:
            _value(kernel, f"import os; os.environ['JUPYTER_DATA_DIR'] = {folder!r}; 1")
            _value(kernel, f"%load_ext agentnb\nexec({SETUP!r}, globals())\n1")
            alone = _memory(kernel)
            taken = _value(kernel, BEGIN)
            begun = _memory(kernel)
            states = _value(kernel, "[each.state for each in tries.wait()]")
            ended = _memory(kernel)
            _value(kernel, "tries.discard(); 1")
    if states != ["done"] * TRIES:
        raise RuntimeError(f"the tries are {states}")
    name = f"{TRIES} branches of a kernel with 1 GB of frames"
    return [
        Row(what=f"{name}: begin", value=taken, unit="ms", at_most=LONGEST_MS),
        _row(f"{name}, begun: memory", begun, alone),
        _row(f"{name}, ended: memory", ended, alone),
    ]


def _row(what: str, value: float, alone: float) -> Row:
    return Row(what=what, value=value, unit="MB", beside=alone, beside_name="the kernel alone", at_most=LARGEST)


def _value(kernel: RunningKernel, code: str) -> Any:
    result = kernel.run(code, timeout=300)
    if result.status != "ok":
        raise RuntimeError(result.error)
    return literal_eval(result.values[-1])


def _memory(kernel: RunningKernel) -> float:
    """Returns the memory in MB of the kernel and its children; shared pages count once."""
    own = psutil.Process(kernel.pid)
    return sum(_proportional(each) for each in (own, *own.children(recursive=True))) / 1e6


def _proportional(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0
