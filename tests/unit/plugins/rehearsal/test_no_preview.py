"""If a command cannot be previewed because no process can be created, the answer says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.no_preview import NO_PROCESSES
from tests.rehearsal_here import needs_namespaces

SCRIPT = f"""
import glob, agentnb{NO_PROCESSES}
found = agentnb.rehearse(command="touch ran")
print(found.available)
print(found.summary)
print(glob.glob("*"), glob.glob("tmp/*"))
"""


@needs_namespaces
def test_rehearsal_that_is_impossible_says_why(tmp_path: Path) -> None:
    """Nothing runs or is left; the display begins with *No preview*."""
    (tmp_path / "tmp").mkdir()
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    available, summary, left = done.stdout.splitlines() or ("", "", done.stderr)
    assert available == "False"
    assert summary.startswith("No preview: The command could not be started: ")
    assert left == "['tmp'] []"
