"""A cell and the sidebar import agentnb at the same moment on two threads; so do a user's threads."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

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


IMPORTS = [
    "from agentnb.components import Component, Tool",
    "from agentnb.testing import assert_text, run_reducer_case",
    "from agentnb.errors import AgentnbError",
    "from agentnb.agent import AgentSpec",
    "import agentnb; agentnb.Session",
    "import agentnb.host.host",
    "import agentnb.acp.agent",
    "import agentnb.policy.engine",
    "import agentnb.state.codec",
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attempt", range(2))
def test_cell_and_sidebar_can_import_agentnb_concurrently(cell: str, attempt: int) -> None:
    """Neither gets a half imported module; the order of the two varies."""
    assert run(*([cell, SIDEBAR] if attempt % 2 else [SIDEBAR, cell])) == (0, "")


@pytest.mark.parametrize(("one", "other"), [*pairwise(IMPORTS)])
def test_two_threads_can_import_packages_concurrently(one: str, other: str) -> None:
    """Also by plain import statements, which ignore agentnb's lock."""
    assert run(one, other) == (0, "")


def run(*codes: str) -> tuple[int, str]:
    """Runs each code on a thread of one fresh process; returns the exit code and errors."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *codes], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
