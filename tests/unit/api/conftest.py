"""Sessions with the built-in agent and scripted agents, closed afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session
from agentnb.configuration.site_settings import Layer
from agentnb.configuration.sources import Sources, read_settings
from agentnb.host import current_host

AGENTS = Path(__file__).parents[2] / "agents"
PATIENCE = 120.0
"""Seconds after which a test counts as hanging; no passing test waits so long."""


class KernelSettings:
    """A kernel's settings: *values*, as set by `%config`, come before the user's file."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def sources(self) -> Sources:
        return read_settings({name: Layer("%config", value) for name, value in self.values.items()})

    def choose(self, name: str, value: Any) -> None:
        self.values[name] = value


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Starts a session with eliza, or with the scripted agent *script* and its arguments."""
    sessions: list[Session] = []

    def begin(script: str | None = None, *words: str, **options: Any) -> Session:
        if script is not None:
            options["command"] = [sys.executable, str(AGENTS / f"{script}.py"), *words]
        session = agentnb.start(cwd=tmp_path, **options)
        sessions.append(session)
        return session

    yield begin
    for session in sessions:
        session.close()


@pytest.fixture
def attended() -> Iterator[None]:
    """Attaches a front end, so that a user can be asked."""
    environment = current_host().environment
    before = environment.attached
    environment.connect(attached=lambda: True)
    yield
    environment.connect(attached=before)
