"""Workspaces and stores on real file systems that are full, read-only or small: each mounted for one program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(shutil.which("unshare") is None, reason="Linux only: file systems are mounted")

BEGIN = """
import os, sys
from pathlib import Path
from agentnb.changes.store import ChangeStore
from agentnb.errors import AgentnbError
folder, engine = Path(sys.argv[1]), sys.argv[2]
disk = folder / "disk"
workspace, other = disk / "work", folder / "other"

def store(place, workspace=workspace):
    return ChangeStore(place, workspace, is_sensitive=lambda path: False, engine=engine)

def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}

def said(work):
    try:
        return work()
    except AgentnbError as error:
        return error.message

def mount(*options):
    os.sync()
    assert os.spawnvp(os.P_WAIT, "mount", ["mount", *options]) == 0
"""
FULL_STORE = """
workspace.mkdir()
other.mkdir()
(other / "a").write_text("one")
kept = store(disk / "store", other)
first = kept.take()
(other / "a").write_text("two")
(other / "large").write_bytes(os.urandom(2_000_000))
print(said(kept.take))
(other / "large").unlink()
second = kept.take()
[change] = kept.changes(first, second)
kept.apply(change.backward)
print(files(other))
"""
FULL_WORKSPACE = """
workspace.mkdir()
(workspace / "a").write_bytes(os.urandom(300_000))
(workspace / "b").write_text("one")
was = files(workspace)
kept = store(folder / "store")
first = kept.take()
(workspace / "a").write_text("short")
(workspace / "b").write_text("two")
changes = kept.changes(first, kept.take())
with (disk / "filling").open("wb", buffering=0) as filling:
    try:
        while filling.write(bytes(4_096)):
            pass
    except OSError:
        pass
steps = [step for each in changes for step in each.backward]
print(said(lambda: kept.apply(steps)))
print(files(workspace) == {"a": b"short", "b": b"two"})
(disk / "filling").unlink()
kept.apply(steps)
print(files(workspace) == was)
"""
READ_ONLY_WORKSPACE = """
workspace.mkdir()
(workspace / "a").write_text("one")
kept = store(folder / "store")
first = kept.take()
(workspace / "a").write_text("two")
changes = kept.changes(first, kept.take())
mount("-o", "remount,ro", str(disk))
again = store(folder / "store")
print(again.changes(first, again.take()) == changes)
print(said(lambda: again.apply(changes[0].backward)).replace(str(folder), ""))
print(files(workspace))
"""
READ_ONLY_STORE = """
other.mkdir()
(other / "a").write_text("one")
kept = store(disk / "store", other)
kept.take()
mount("--bind", str(disk), str(disk))
mount("-o", "remount,ro,bind", str(disk))
(other / "a").write_text("two")
print(said(kept.take).replace(str(folder), ""))
print(files(other))
"""
OTHER_INSIDE = """
other.mkdir()
inner = other / "inner"
inner.mkdir()
(other / "a").write_text("one")
mount("-t", "tmpfs", "inside", str(inner))
(inner / "b").write_text("one")
(inner / "folder").mkdir()
(inner / "folder/c").write_text("one")
kept = store(folder / "store", other)
first = kept.take()
(other / "a").write_text("two")
(inner / "b").write_text("two")
print([(each.path, each.why) for each in first.not_covered])
print([each.path for each in kept.changes(first, kept.take())])
"""


def run(script: str, folder: Path, engine: str) -> list[str]:
    """Returns the lines that *script* prints; ``folder/disk`` is a mounted file system of 1 MB."""
    (folder / "disk").mkdir()
    mounts = 'mount -t tmpfs -o size=1m agentnb "$1" && shift && exec "$@"'
    program = [sys.executable, "-c", BEGIN + script, str(folder), engine]
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", mounts, "sh", str(folder / "disk"), *program]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if ended.returncode and ("unshare" in ended.stderr or "mount:" in ended.stderr):
        pytest.skip(f"no file system can be mounted here: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_store_on_a_full_disk_reports_it_and_recovers(tmp_path: Path, engine: str) -> None:
    """Earlier snapshots stay, and undo of them works."""
    assert run(FULL_STORE, tmp_path, engine) == ["The disk is full: nothing was written.", "{'a': b'one'}"]


def test_undo_in_a_workspace_on_a_full_disk_writes_nothing(tmp_path: Path, engine: str) -> None:
    """No file is written, even if some would fit; all are written once there is room."""
    assert run(FULL_WORKSPACE, tmp_path, engine) == ["The disk is full: nothing was written.", "True", "True"]


def test_read_only_workspace_is_compared_but_not_written(tmp_path: Path, engine: str) -> None:
    """Changes are seen; undo names the reason."""
    words = "/disk/work is on a read-only file system: nothing was written."
    assert run(READ_ONLY_WORKSPACE, tmp_path, engine) == ["True", words, "{'a': b'two'}"]


def test_read_only_store_is_reported(tmp_path: Path, engine: str) -> None:
    """The turn goes on without it (``host/test_change_tracker.py``)."""
    words = "/disk/store is on a read-only file system: nothing was written."
    assert run(READ_ONLY_STORE, tmp_path, engine) == [words, "{'a': b'two'}"]


def test_mounted_file_system_in_the_workspace_is_not_covered(tmp_path: Path, engine: str) -> None:
    """It may be large, slow, or gone tomorrow."""
    assert run(OTHER_INSIDE, tmp_path, engine) == ["[('inner', 'other file system')]", "['a']"]
