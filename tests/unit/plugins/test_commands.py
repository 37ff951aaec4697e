"""Commands that plug-ins add to the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.unit.forked import run_agentnb


def test_changes_command_reports_that_nothing_changed(tmp_path: Path) -> None:
    done = run_agentnb("changes", AGENTNB_DATA_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "No saved conversation has changed anything.\n")
    done = run_agentnb("changes", "abc", AGENTNB_DATA_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "No session whose id begins with 'abc'" in done.stderr


def test_eliza_command_fails_when_stdin_is_not_a_pipe() -> None:
    done = run_agentnb("eliza")
    assert done.returncode == 1
    assert done.stderr == (
        "agentnb: eliza cannot start: stdin is not a pipe. An ACP client starts it with pipes for stdin and stdout.\n"
    )


def test_eliza_command_exits_when_stdin_is_closed() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as closed:
        assert closed.stdout is not None
        command = [sys.executable, "-m", "agentnb", "eliza"]
        done = subprocess.run(command, stdin=closed.stdout, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
