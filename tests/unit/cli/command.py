"""Runs the command line."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT


def run(*words: str, stdin: int = subprocess.DEVNULL, **env: str) -> subprocess.CompletedProcess[str]:
    """Returns what `agentnb` with these words prints, with *env* besides our own environment."""
    return subprocess.run(
        [sys.executable, "-m", "agentnb", *words],
        cwd=ROOT,
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
