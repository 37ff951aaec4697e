"""Where nothing can be rehearsed the answer says why: no process can be made, or a graphics card is in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentnb.rehearsal.command import rehearse_command
from tests.conftest import ROOT

_HERE = rehearse_command("true", "/")
pytestmark = pytest.mark.skipif(_HERE.way != "namespaces", reason=_HERE.reason or "no user namespaces here")

_NO_PROCESSES = """
import os
from agentnb.sandbox import seccomp
os.close(seccomp.refuse(sockets_but=None, forks=True))
"""
"""Who makes a process now is told that there is no such call: nobody answers what the filter hands on."""

_GRAPHICS_CARD = """
import os
from agentnb.sandbox.namespaces import BIND, NEW_MOUNTS, NEW_USER, PRIVATE, RECURSIVE
from agentnb.sandbox.system_calls import mount, unshare
user, group = os.geteuid(), os.getegid()
unshare(NEW_USER | NEW_MOUNTS)
for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
    open(f"/proc/self/{name}", "w").write(text)
mount("none", "/", None, RECURSIVE | PRIVATE)
null = os.open("/dev/null", os.O_PATH)
mount("none", "/dev", "tmpfs", 0)
open("/dev/null", "w").close()
mount(f"/proc/self/fd/{null}", "/dev/null", None, BIND)
card = open("/dev/nvidia0", "w")
"""
"""A process that has a file open where the devices of graphics cards are."""


@pytest.mark.parametrize(
    ("setup", "asked", "reason"),
    [
        (_NO_PROCESSES, "'ran = 1'", "This kernel could not be copied: Function not implemented."),
        (_NO_PROCESSES, "command='touch ran'", "The command could not be started: "),
        (_GRAPHICS_CARD, "'ran = 1'", "This kernel uses a graphics card (/dev/nvidia0), which no copy of it can use."),
    ],
    ids=["code where no process can be made", "command where no process can be made", "graphics card"],
)
def test_rehearse_where_it_cannot_be_done_says_why(tmp_path: Path, setup: str, asked: str, reason: str) -> None:
    """Nothing ran, and nothing is left; what is shown begins with *No preview*."""
    script = (
        f"import glob, agentnb{setup}found = agentnb.rehearse({asked})\nprint(found.available)\nprint(found.summary)"
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
