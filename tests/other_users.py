"""Runs programs as another user, if the user of the tests may switch users."""

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
"""Lets other users run a Python below root's folder, for one process and its children."""
BECOME = "import os, sys; os.setgid({0}); os.setuid({0}); os.execv(sys.argv[1], [sys.argv[1], '-c', 'import json'])"


@contextmanager
def open_to_all() -> Iterator[Path]:
    """Yields a folder that other users can enter; pytest closes its own folders to them at each start."""
    with tempfile.TemporaryDirectory(prefix="agentnb-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def reaching(folder: Path, python: Path | str = sys.executable) -> list[str] | None:
    """Returns a command prefix that lets other users run *python*, or None if there is none.

    Args:
        folder: An empty folder for its use.
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
    """Lets every user enter *folder* and its parents, as far as this user owns them."""
    for each in (folder, *folder.parents):
        if each.stat().st_uid == os.geteuid():
            each.chmod(each.stat().st_mode | 0o011)
