"""Batches with the moody agent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb

MOODY = Path(__file__).parents[3] / "agents/moody.py"
Asks = Callable[..., Any]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Returns the file of the agent's prompts, one a line."""
    return tmp_path / "asked.txt"


@pytest.fixture
def ask(tmp_path: Path, log: Path) -> Iterator[Asks]:
    """Starts batches with the moody agent; cancels those that still run at the end."""
    batches = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def begin(inputs: Any, prompt: Any = "{input}", *words: str, **options: Any) -> Any:
        command = [sys.executable, str(MOODY), f"log={log}", *words]
        arguments = {"command": command, "cwd": workspace, "progress": False, "backoff": 0.01, **options}
        batch = agentnb.map(prompt, inputs, **arguments)
        batches.append(batch)
        return batch

    yield begin
    for each in batches:
        each.cancel()
        each.wait(check=False)
