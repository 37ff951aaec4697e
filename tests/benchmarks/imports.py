"""The processor time of ``import agentnb`` and ``%load_ext agentnb`` in a process with ipykernel and a shell."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.benchmarks.row import Row

RUNS = 7
LIMIT_MS, LIMIT_LOADING_MS = 60.0, 120.0
LIMIT_BESIDE = 1.0
PROGRAM = """
import time
def spent(do):
    start = time.process_time()
    do()
    return (time.process_time() - start) * 1000
def load_ipython():
    import ipykernel.ipkernel
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance()
def load_agentnb():
    import agentnb
def load_extension():
    from IPython.core.getipython import get_ipython
    get_ipython().run_line_magic("load_ext", "agentnb")
def load_anywidget():
    import anywidget
print(spent(load_ipython), spent(load_agentnb), spent(load_extension), spent(load_anywidget))
"""


def measure() -> list[Row]:
    kernel, added, loaded, widgets = map(statistics.median, zip(*(_once() for _ in range(RUNS)), strict=True))
    return [
        Row(what="import agentnb, beside ipykernel", value=added, unit="ms", beside=kernel, beside_name="ipykernel"),
        Row(what="import agentnb", value=added, unit="ms", at_most=LIMIT_MS),
        Row(what="%load_ext agentnb", value=loaded, unit="ms", at_most=LIMIT_LOADING_MS),
        Row(
            what="%load_ext agentnb, beside a widget library",
            value=loaded,
            unit="ms",
            beside=widgets,
            beside_name="import anywidget",
            at_most=LIMIT_BESIDE,
        ),
    ]


def _once() -> tuple[float, float, float, float]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, second, third, fourth = map(float, done.stdout.split())
    return first, second, third, fourth
