"""A kernel with a model that agents improve, for the tests of loops."""

from __future__ import annotations

import contextlib
import sys
from ast import literal_eval
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests.kernel.running_kernel import RunningKernel

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENTS = Path(__file__).parents[1] / "agents"
SETUP = f"""
import agentnb, json, os, sys, tempfile, threading, numpy as np
tempfile.tempdir = os.environ["TMPDIR"] = os.path.join(os.getcwd(), "..", "temporary")
os.makedirs(tempfile.tempdir, exist_ok=True)
AGENT = {{"command": [{sys.executable!r}, {str(AGENTS / "improves.py")!r}], "directories": [{str(AGENTS)!r}]}}
def loop(*steps, metric="score()", agent=AGENT, **options):
    return agentnb.loop(json.dumps(steps), metric=metric, agent=agent, **options)
def outcome(made):
    return [each.state for each in made.tries], made.best, made.why
"""
CELLS = """
for name in [each for each in globals() if not each.startswith("_") and each not in OURS]: del globals()[name]
for name in os.listdir(): os.remove(name)
class Model:
    def __init__(self, x): self.x = x
    def __repr__(self): return f"Model({self.x})"
y_test = np.array([1, 2, 3])
open("test.csv", "w").write("truth")
def score():
    assert open("test.csv").read() == "truth"
    return model.x * np.size(y_test) / 3
model = Model(1)
"""


@contextlib.contextmanager
def started(folder: Path) -> Iterator[RunningKernel]:
    """Starts a kernel with the tests' helpers."""
    (folder / "work").mkdir(exist_ok=True)
    with RunningKernel.started("ipykernel7", folder / "work") as kernel:
        value(kernel, f"%load_ext agentnb\nexec({SETUP!r}, globals())\nOURS = {{*globals(), 'OURS', 'CELLS'}}")
        yield kernel


def value(kernel: RunningKernel, code: str, **options: Any) -> Any:
    """Returns the value of the last line of *code*."""
    result = kernel.run(code, **options)
    assert result.status == "ok", result.traceback or result.error
    with contextlib.suppress(SyntaxError, ValueError):  # the value is not a literal
        return literal_eval(result.values[-1]) if result.values else None
    return None


def run_of(x: float) -> dict[str, Any]:
    return {"run": f"model.x = {x}"}


def loop(*steps: dict[str, Any], **options: Any) -> str:
    """Returns code that runs a loop and evaluates to its outcome."""
    words = "".join(f", {name}={option!r}" for name, option in options.items())
    return f"made = loop(*{list(steps)!r}{words}).wait(); outcome(made)"


def is_watchdog(process: psutil.Process) -> bool:
    """True for the process that ends a killed program's children; it lives with the program."""
    with contextlib.suppress(psutil.Error):
        return any("watchdog" in word for word in process.cmdline())
    return False
