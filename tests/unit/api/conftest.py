"""Sessions with the built-in agent and with scripted ones, closed afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session

AGENTS = Path(__file__).parents[2] / "agents"
PATIENCE = 120.0
"""After how many seconds a thing counts as hanging: no test waits so long for what comes."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Start a session: with eliza, or with the scripted agent of a name."""
    sessions: list[Session] = []

    def begin(script: str | None = None, **options: Any) -> Session:
        if script is not None:
            options["command"] = [sys.executable, str(AGENTS / f"{script}.py")]
        session = agentnb.start(cwd=tmp_path, **options)
        sessions.append(session)
        return session

    yield begin
    for session in sessions:
        session.close()
