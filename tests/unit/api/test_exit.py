"""A program that used agents ends without output or leftovers, and the log has the conversation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.unit.api.conftest import PATIENCE

START = """
import logging
import agentnb
logging.getLogger("asyncio").setLevel(logging.ERROR)  # a busy machine makes callbacks "slow": a warning of dev mode
session = agentnb.start("eliza")
"""
TALK = f"""{START}
print(session.prompt("/say hello").wait(120).text, flush=True)
print(session.health().pid)
"""
LISTED = "import agentnb; print(*(each.title for each in agentnb.history()))"


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program in Python's development mode."""
    command = [sys.executable, "-X", "dev", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    "last", ["", "session.prompt('/hang')", "session.prompt('/write a.txt hello')", "session.close()"]
)
def test_script_exits_without_output_and_stops_its_agent(
    tmp_path: Path, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a closed, an idle or a busy session; the conversation is kept."""
    monkeypatch.setenv("AGENTNB_LOG", str(tmp_path / "log.db"))
    done = ran(TALK + last, tmp_path)
    text, pid = done.stdout.split()
    assert (done.returncode, done.stderr, text) == (0, "", "hello")
    assert not psutil.pid_exists(int(pid))
    assert ran(LISTED, tmp_path).stdout == "/say hello\n"


def test_script_that_ends_at_once_still_writes_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 cannot start a thread while it exits, so the log's thread must run earlier."""
    monkeypatch.setenv("AGENTNB_LOG", str(tmp_path / "log.db"))
    done = ran(START, tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert (tmp_path / "log.db").exists()
