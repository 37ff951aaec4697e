"""Programs as another user than the one who runs the tests, where we may become one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = 54321
REACHABLE = """
mkdir -p "$1"; mount --bind "$2" "$1" && mount -t tmpfs -o mode=755 none "$3" && mkdir -p "$2" && mount --bind "$1" "$2"
shift 3; exec "$@"
"""
"""Lets other users run a Python that stands below a folder of the superuser's: for one process and those below it."""
BECOME = "import os, sys; os.setgid({0}); os.setuid({0}); os.execv(sys.argv[1], [sys.argv[1], '-c', 'import json'])"


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A folder that other users can go through; pytest closes its own to them each time that it starts."""
    with tempfile.TemporaryDirectory(prefix="agentnb-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def reaching(folder: Path, python: Path | str = sys.executable) -> list[str] | None:
    """Returns what stands before a command so that users of other ids below it can run *python*; None: nothing does.

    Args:
        folder: An empty folder that may be made use of.
        python: The Python.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    if _runs([], python):
        return []
    base = Path(sys.base_prefix).resolve()
    closed = next((each for each in reversed(base.parents) if not each.stat().st_mode & 0o001), None)
    if closed is None or shutil.which("unshare") is None:
        return None
    prefix = ["unshare", "--mount", "sh", "-c", REACHABLE, "sh", str(folder), str(base), str(closed)]
    return prefix if _runs(prefix, python) else None


def _runs(prefix: list[str], python: Path | str) -> bool:
    words = [*prefix, str(python), "-c", BECOME.format(ID), str(python)]
    return subprocess.run(words, capture_output=True, cwd="/", check=False).returncode == 0


def let_pass(folder: Path) -> None:
    """Let every user go through *folder* and those that it is in, as far as they are ours."""
    for each in (folder, *folder.parents):
        if each.stat().st_uid == os.geteuid():
            each.chmod(each.stat().st_mode | 0o011)
