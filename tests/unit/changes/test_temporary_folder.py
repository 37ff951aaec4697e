"""The inside: the folder of temporary stores is removed with its host, which is killed or closed at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentnb.changes.file_operations import ABANDONED_SECONDS, TemporaryFolder
from agentnb.changes.store import ChangeStore
from agentnb.host.changes.workspace_store import WorkspaceStores
from tests.unit.running import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks: nobody's folders stay")
PATIENCE = 60
KILLED = """
import os, signal, sys
from pathlib import Path
from agentnb.changes.file_operations import TemporaryFolder

folder = TemporaryFolder(Path(sys.argv[1]))
folder.make()
(folder.path / "store").mkdir()
if len(sys.argv) > 2:
    (folder.path / "owner").unlink()
print("made", flush=True)
sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


def started(within: Path, *more: str) -> subprocess.Popen[bytes]:
    """Starts a process that makes a folder, and is killed when its standard input ends."""
    arguments = [sys.executable, "-c", KILLED, os.fspath(within), *more]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"made\n"
    return process


def killed(process: subprocess.Popen[bytes]) -> None:
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL


def test_folder_of_a_killed_host_is_removed_by_the_next_host(tmp_path: Path) -> None:
    """A live host's folder stays; other folders and files stay."""
    (tmp_path / "agentnb-other").mkdir()
    (tmp_path / "agentnb-changes-file").write_text("no folder")
    (tmp_path / "agentnb-changes-link").symlink_to(tmp_path / "agentnb-other")
    stays = {*tmp_path.iterdir()}
    process = started(tmp_path)
    (first,) = {*tmp_path.iterdir()} - stays
    second, third = TemporaryFolder(tmp_path), TemporaryFolder(tmp_path)
    second.make()
    assert {*tmp_path.iterdir()} == {*stays, first, second.path}
    killed(process)
    third.make()
    assert {*tmp_path.iterdir()} == {*stays, second.path, third.path}
    for each in (second, third):
        each.remove()
        each.make()  # too late
    assert {*tmp_path.iterdir()} == stays


@pytest.mark.parametrize("dot", ["", "."])
def test_folder_without_a_known_owner_is_removed_after_a_day(tmp_path: Path, dot: str) -> None:
    """Its host was killed before it had locked and renamed it, or something removed the lock."""
    killed(started(tmp_path, *([] if dot else ["without a lock"])))
    (made,) = tmp_path.iterdir()
    left = made.rename(made.with_name(f"{dot}{made.name}"))
    for age in (0, ABANDONED_SECONDS + 60):
        os.utime(left, (left.stat().st_atime, left.stat().st_mtime - age))
        folder = TemporaryFolder(tmp_path)
        folder.make()
        assert {*tmp_path.iterdir()} == {folder.path, *([] if age else [left])}
        folder.remove()


def test_stores_closed_during_work_leave_no_files(tmp_path: Path) -> None:
    """Work that takes longer than the host's end makes the folder again, and then removes it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("a")
    stores = WorkspaceStores(None, within=tmp_path / "temporary")
    store = stores.of(tmp_path / "work")
    began, may_end = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def work(opened: ChangeStore) -> None:
        threads.append(threading.current_thread())
        began.set()
        may_end.wait(PATIENCE)
        opened.take()

    async def use() -> None:
        await store.take()
        waiting = asyncio.ensure_future(store.run(work))
        behind = asyncio.ensure_future(store.take())
        await asyncio.to_thread(began.wait, PATIENCE)
        assert len([*(tmp_path / "temporary").iterdir()]) == 1
        await asyncio.to_thread(stores.close)
        may_end.set()
        await waiting
        with pytest.raises(asyncio.CancelledError):
            await behind

    run(use())
    threads[0].join(PATIENCE)
    assert [*(tmp_path / "temporary").iterdir()] == []
