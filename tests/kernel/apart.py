"""Runs a program as on another machine: the same paths, other files, shared ports."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def apart(folder: Path) -> list[str]:
    """Returns the command prefix that makes a program see an empty *folder*."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Urm", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    script = 'mount -t tmpfs tmpfs "$0" && cd "$0" && exec "$@"'
    return [unshare, "-Urm", "sh", "-c", script, str(folder)]
