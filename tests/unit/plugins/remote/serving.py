"""Starts servers of agents, each in a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from tests.unit.api.conftest import AGENTS


@contextlib.contextmanager
def serving(script: str, *words: str, **variables: str) -> Iterator[int]:
    """Yields the port of the server ``tests/agents/SCRIPT.py``."""
    command = [sys.executable, str(AGENTS / f"{script}.py"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()
