"""Fake npm, npx, uv and uvx programs in a folder for the PATH."""

from __future__ import annotations

import json
import sys
from pathlib import Path

INSTALLER = Path(__file__).parents[2] / "agents/installer.py"


def make_installers(folder: Path, *names: str) -> Path:
    """Puts programs called *names* into *folder*, which may be the PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\nINSTALLER_NAME={name} exec "{sys.executable}" "{INSTALLER}" "$@"\n')
        program.chmod(0o755)
    return folder


def calls(log: Path) -> list[list[str]]:
    """Returns the logged calls with their arguments."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
