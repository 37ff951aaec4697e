"""Runs the front end's own tests from Python, on files that Python made for them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parents[1] / "js"
LONGEST = 900  # seconds; for a busy machine

needs_node = pytest.mark.skipif(not (JS / "node_modules/vitest").is_dir(), reason="js/node_modules is not installed")
"""Skips a test if the front end's tools are not installed."""


def run_vitest(test: str, **environment: str) -> None:
    """Runs one of the front end's tests.

    Args:
        test: Its file, below ``js``.
        environment: Its environment variables.

    Raises:
        AssertionError: If it fails; with its output.
    """
    npx = shutil.which("npx")
    assert npx is not None, "node is not installed"
    run = subprocess.run(
        [npx, "vitest", "run", "--reporter=dot", test],
        cwd=JS,
        env={**os.environ, **environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
