"""A kernel's state is the same after each rehearsal: shared memory, descriptors, locks, limits; in either way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces
_WITHOUT = [sys.executable, str(ROOT / "tests/agents/without_namespaces.py")]


def tries(script: str, folder: Path, way: str) -> list[str]:
    """Returns the lines that *script* of `tests/agents` prints, one an attempt."""
    command = [*(_WITHOUT if way == "Landlock" else []), sys.executable, str(ROOT / "tests/agents" / script)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if way == "Landlock" and done.returncode == 77:
        pytest.skip(f"namespaces cannot be forbidden here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("way", ["namespaces", "Landlock"])
def test_rehearsed_code_cannot_change_resources_of_the_kernel(tmp_path: Path, way: str) -> None:
    """Each attempt of `tests/agents/inherits.py`; memory too large to copy prevents a preview."""
    *tried, huge, first = [line.split(": ") for line in tries("inherits.py", tmp_path, way)]
    assert [each for each in tried if each[0] != "unharmed" or each[2] != way] == []
    assert len(tried) >= 34
    assert huge[1:] == ["False", "It could not be isolated", "this kernel has 105 MB open in a file without a name."]
    assert first == ["first", "1000"]  # when memory runs out, the kernel survives


# Namespaces report files by contents: they do not show changes of only permissions or times.
_UNSEEN = {"namespaces": {"permissions", "times"}, "Landlock": set()}


@pytest.mark.parametrize("way", ["namespaces", "Landlock"])
def test_rehearsed_code_changes_no_open_file_but_reports_it(tmp_path: Path, way: str) -> None:
    """Each attempt of `tests/agents/writes_into_open_files.py`; each would change something."""
    (tmp_path / "work").mkdir()
    tried = [line.split(" | ") for line in tries("writes_into_open_files.py", tmp_path / "work", way)]
    assert len(tried) >= 46
    assert [each for each in tried if each[0] != "unharmed" or each[2] != way] == []
    assert {each[1] for each in tried if each[3] == "Would change nothing."} <= _UNSEEN[way]


@pytest.mark.parametrize("way", ["namespaces", "Landlock"])
def test_pipe_of_the_kernel_closes_while_a_rehearsal_runs(tmp_path: Path, way: str) -> None:
    """Another thread may be starting a program during the fork: it waits for the end of such a pipe."""
    assert tries("waits_for_pipe.py", tmp_path, way) == ["b''", f"{way} It ended the process (exit code 0)"]
