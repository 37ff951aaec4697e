"""The end of a run tells the processor time of all its programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

TESTS = """
import subprocess, sys
BUSY = "import time\\nwhile time.process_time() < 1: pass"

def test_with_a_program():
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


def test_a_run_when_its_programs_worked_tells_what_they_took(tmp_path: Path) -> None:
    """A program of a worker counts, too."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.processor_time",
        "-p",
        "xdist.plugin",
        "--numprocesses",
        "1",
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    told = re.search(r"^processor time: at least (\d+) s, all programs of this run", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout
    assert told is not None, done.stdout
    assert sys.platform == "win32" or int(told[1]) >= 1
