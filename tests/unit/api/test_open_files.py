"""Closed sessions leave no files, threads or agents behind."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil
import pytest

import agentnb
from tests.unit.api.conftest import PATIENCE

SESSIONS = 8


@pytest.mark.parametrize("is_awaited", [True, False], ids=["after their answer", "before their answer"])
def test_closed_sessions_leave_no_files_threads_or_agents(tmp_path: Path, *, is_awaited: bool) -> None:
    """Each workspace has a store, whose lock and thread end with its last session."""
    process = psutil.Process()
    workspaces = [tmp_path / f"workspace-{number}" for number in range(SESSIONS)]
    threads, files = set(threading.enumerate()), _store_files(process)
    for workspace in workspaces:
        workspace.mkdir()
        with agentnb.start(cwd=workspace) as session:
            turn = session.prompt("/say hello")
            if is_awaited:
                turn.wait(PATIENCE)
    for thread in set(threading.enumerate()) - threads:
        if thread.name == "agentnb-changes":
            thread.join(PATIENCE)
            assert not thread.is_alive()
    agents = [each for each in process.children(recursive=True) if _folder(each) in workspaces]
    assert psutil.wait_procs(agents, timeout=0)[1] == []
    assert _store_files(process) - files == set()


def _store_files(process: psutil.Process) -> set[str]:
    """Returns the open files of stores, including those of other tests."""
    return {each.path for each in process.open_files() if each.path.endswith("/lock") or "/users/" in each.path}


def _folder(process: psutil.Process) -> Path | None:
    """Returns the working directory of a process, or None if it has ended."""
    try:
        return Path(process.cwd())
    except psutil.Error:
        return None
