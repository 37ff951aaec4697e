"""Snapshots of a workspace: time and disk, beside ``git stash create`` in the same folder and run.

Measured is the time on the clock, because a prompt waits for it: the best of several rounds. The two take turns, so
that a busy machine slows both.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agentnb.changes.store import ChangeStore
from tests.benchmarks.row import Row

SIZES = (1_000, 10_000, 50_000)
LINES = 115
ROUNDS = 7
FILES_IN_A_FOLDER = 25
OLD_SECONDS = 2.5
MOST_BESIDE = 1.0
"""An unchanged workspace takes no longer than a stash of one changed file."""


def measure() -> list[Row]:
    return [row for size in SIZES for row in _rows(size)]


def _rows(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        workspace, home = Path(folder, "workspace"), Path(folder, "home")
        home.mkdir()
        weight = _fill(workspace, size)
        store = ChangeStore(Path(folder, "store"), workspace, is_sensitive=lambda path: path.endswith(".env"))
        first = _seconds(store.take)
        disk = store.size()
        _repository(workspace, home)
        _wait_until_old(workspace)
        store.take()
        git_disk = _disk(workspace / ".git")
        changed = workspace / "p0/d0/f0.py"
        rounds = [
            (
                _seconds(lambda: _after(changed, lambda: _git(workspace, home, "stash", "create"))),
                _seconds(lambda: _after(changed, store.take)),
                _seconds(store.take),
            )
            for _ in range(ROUNDS)
        ]
    stash, one, unchanged = map(min, zip(*rounds, strict=True))
    name = f"snapshot of {size:,} files"
    beside = {"beside": stash * 1000, "beside_name": "git stash create"}
    return [
        Row(what=f"{name}, first", value=first, unit="s"),
        Row(what=f"{name}, unchanged", value=unchanged * 1000, unit="ms", at_most=MOST_BESIDE, **beside),
        Row(what=f"{name}, one changed", value=one * 1000, unit="ms", **beside),
        Row(
            what=f"disk, {size:,} files of {weight / 1e6:.0f} MB",
            value=disk / 1e6,
            unit="MB",
            beside=git_disk / 1e6,
            beside_name="git add",
        ),
    ]


def _fill(workspace: Path, size: int) -> int:
    """Writes *size* files like Python modules; returns their bytes."""
    chance = random.Random(1)
    total = 0
    for number in range(size):
        folder = workspace / f"p{number // (FILES_IN_A_FOLDER * 20)}" / f"d{number // FILES_IN_A_FOLDER % 20}"
        if number % FILES_IN_A_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        lines = [f"x{chance.randrange(10**9)} = {chance.random()}\n" for _ in range(LINES)]
        total += (folder / f"f{number}.py").write_text("".join(lines))
    return total


def _wait_until_old(workspace: Path) -> None:
    """Waits until the files are two seconds old, as in a real workspace: a snapshot reads newer ones again."""
    newest = max(path.lstat().st_mtime for path in workspace.rglob("*"))
    threading.Event().wait(max(0.0, newest + OLD_SECONDS - time.time()))  # time must pass; no event signals it


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _after(path: Path, work: Callable[[], object]) -> None:
    with path.open("a") as file:
        file.write("x = 1\n")
    work()


def _repository(workspace: Path, home: Path) -> None:
    _git(workspace, home, "init", "--quiet")
    _git(workspace, home, "add", "--all")
    _git(workspace, home, "-c", "gc.auto=0", "commit", "--quiet", "--message", "all")


def _git(workspace: Path, home: Path, *arguments: str) -> None:
    names = {f"GIT_{who}_{what}": "agentnb" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": os.fspath(home), **names}
    subprocess.run(["git", *arguments], cwd=workspace, env=environment, check=True, stdout=subprocess.DEVNULL)


def _disk(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))
