"""If a preview is impossible, the answer says why: no process can be created, or a graphics card is in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.no_preview import GRAPHICS_CARD, NO_PROCESSES
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces


@pytest.mark.parametrize(
    ("setup", "argument", "reason"),
    [
        (NO_PROCESSES, "'ran = 1'", "This kernel could not be copied: Function not implemented."),
        (NO_PROCESSES, "command='touch ran'", "The command could not be started: "),
        (GRAPHICS_CARD, "'ran = 1'", "This kernel uses a graphics card (/dev/nvidia0), which a copy of it cannot use."),
    ],
    ids=["code where no process can be made", "command where no process can be made", "graphics card"],
)
def test_rehearsal_that_is_impossible_says_why(tmp_path: Path, setup: str, argument: str, reason: str) -> None:
    """Nothing runs or is left; the display begins with *No preview*."""
    script = (
        f"import glob, agentnb{setup}found = agentnb.rehearse({argument})\nprint(found.available)\nprint(found.summary)"
    )
    script += "\nprint('ran' in globals(), glob.glob('*'), glob.glob('tmp/*'))"
    (tmp_path / "tmp").mkdir()
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    available, summary, left = done.stdout.splitlines() or ("", "", done.stderr)
    assert available == "False"
    assert summary.startswith(f"No preview: {reason}")
    assert left == "False ['tmp'] []"
