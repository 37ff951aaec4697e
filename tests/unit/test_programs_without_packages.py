"""Programs that run without installed packages (``python -I -S``) import only the standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentnb.agent import subreaper, watchdog
from agentnb.kernel import bridge
from agentnb.plugins.rehearsal import command_program
from agentnb.plugins.sandbox import confined_program, own_mounts
from tests.conftest import ROOT

PROGRAMS = [
    Path(str(each.__file__)) for each in (bridge, command_program, confined_program, own_mounts, subreaper, watchdog)
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.stem)
def test_program_loads_without_installed_packages(program: Path) -> None:
    script = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='loaded')"
    words = [sys.executable, "-I", "-S", "-c", script, str(ROOT), str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
