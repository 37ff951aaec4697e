"""The TypeScript tests of one file, with data that Python made."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parents[2] / "js"
needs_vitest = pytest.mark.skipif(
    not (JS / "node_modules/vitest").is_dir(), reason="js/node_modules is not installed (`make static`)"
)


def vitest(file: str, **environment: str) -> None:
    """Run the test file *file* of ``js/`` with these variables; its failures are this test's."""
    npx = shutil.which("npx")
    assert npx is not None
    run = subprocess.run(
        [npx, "vitest", "run", "--reporter=dot", file],
        cwd=JS,
        env={**os.environ, **environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
