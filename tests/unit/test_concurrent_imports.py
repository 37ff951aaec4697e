"""A cell and the sidebar load agentnb at the same moment, each on its thread."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
sys.setswitchinterval(1e-5)
failed, begun = [], threading.Barrier(2)

def load(code):
    begun.wait()
    try:
        exec(code)
    except Exception as error:
        failed.append(repr(error))

threads = [threading.Thread(target=load, args=(code,)) for code in sys.argv[1:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("; ".join(failed) or 0)
"""
SIDEBAR = "from agentnb.ipython.lab import imported; imported('agentnb.api.start', 'agentnb.ipython.lab_boot')"
CELLS = [
    "import agentnb; agentnb.start",
    "import agentnb; agentnb.chat; agentnb.Session",
    "import agentnb; agentnb.history",
    "from agentnb.one_at_a_time import imported; imported('agentnb.api.start', 'agentnb.ipython.prompt_command')",
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attempt", range(4))
def test_a_cell_and_the_sidebar_may_load_agentnb_at_the_same_moment(cell: str, attempt: int) -> None:
    """Neither sees a module that is half there; the order of the two differs from run to run."""
    codes = [cell, SIDEBAR] if attempt % 2 else [SIDEBAR, cell]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *codes], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
