"""A scripted agent under the name of a known one, on the PATH."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = ROOT / "tests/agents"


def install(folder: Path, program: str = "claude-agent-acp", agent: str = "echo") -> Path:
    """Installs *agent* into *folder* as *program*, as an installer does; returns the program."""
    lib, path = folder / "lib", folder / "bin"
    shutil.copytree(AGENTS, lib, dirs_exist_ok=True)
    path.mkdir(parents=True, exist_ok=True)
    made = path / program
    made.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{lib / agent}.py" "$@"\n', encoding="utf-8")
    made.chmod(0o755)
    return made
