"""Programs that run without installed packages (``python -I -S``) import only the standard library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROGRAMS = [
    "agent/subreaper",
    "agent/watchdog",
    "kernel/bridge",
    "plugins/rehearsal/command_program",
    "plugins/sandbox/confined_program",
    "plugins/sandbox/own_mounts",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_loads_without_installed_packages(program: str) -> None:
    script = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='loaded')"
    words = [sys.executable, "-I", "-S", "-c", script, str(ROOT), str(ROOT / f"agentnb/{program}.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
