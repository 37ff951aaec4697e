"""The end of a program that used agents: nothing is said, nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.unit.api.conftest import PATIENCE

TALK = """
import logging
import agentnb
logging.getLogger("asyncio").setLevel(logging.ERROR)  # a busy machine makes callbacks "slow": a warning of dev mode
session = agentnb.start("eliza")
print(session.prompt("/say hello").wait(120).text, flush=True)
print(session.health().pid)
"""


@pytest.mark.parametrize("last", ["", "session.prompt('/hang')", "session.close()"])
def test_a_script_ends_quietly_and_takes_its_agent_along(tmp_path: Path, last: str) -> None:
    """Whether the session was closed, idle, or in the middle of a turn."""
    command = [sys.executable, "-X", "dev", "-c", TALK + last]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    text, pid = done.stdout.split()
    assert (done.returncode, done.stderr, text) == (0, "", "hello")
    assert not psutil.pid_exists(int(pid))
