"""What is public is written down here; a change of it is a decision."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest

import agentnb

PUBLIC = """
AgentnbError(message: 'str', *, hint: 'str | None' = None)
Session
  agent cancel chat close prompt queue restart state tab_id title turns
Turn
  add_done_callback cancel done error id plan raise_for_error session snapshot state stop_reason text thoughts
  tool_calls usage wait
agents()
chat(session)
start(agent, *, command, env, cwd, permissions, title)
"""
HEAVY = ["acp", "anywidget", "asyncio", "IPython", "ipywidgets", "msgspec", "pydantic", "traitlets"]


def test_importing_loads_nothing_heavy() -> None:
    """``import agentnb`` brings in neither a front end, nor an agent's SDK, nor a loop."""
    program = f"import sys, agentnb; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
