"""Snapshots, differences, undo and redo of files in a real folder."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from agentnb.changes.model import PathChange
from agentnb.changes.store import ChangeStore
from tests.unit.changes.conftest import Opened


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path, workspace: Path) -> ChangeStore:
    return ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda path: path.endswith(".env"))


def undo(store: ChangeStore, changes: tuple[PathChange, ...]) -> tuple[PathChange, ...]:
    return store.apply([step for change in changes for step in change.backward])


def files(folder: Path) -> dict[str, object]:
    """Returns a folder's bytes of files, targets of links, folders."""
    contents: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = os.fspath(path.relative_to(folder))
        if path.is_symlink():
            contents[name] = ("link", os.fspath(path.readlink()))
        elif path.is_file():
            contents[name] = (path.read_bytes(), os.access(path, os.X_OK))
        else:
            contents[name] = "folder"
    return contents


def test_added_changed_moved_and_deleted_files_are_one_item_each(store: ChangeStore, workspace: Path) -> None:
    """Found by comparison, whoever wrote them."""
    (workspace / "changed.py").write_text("one\ntwo\n")
    (workspace / "deleted.py").write_text("gone\n")
    (workspace / "old.py").write_text("the same\ntext of a file\n")
    before = store.take()
    (workspace / "changed.py").write_text("one\n2\nthree\n")
    (workspace / "deleted.py").unlink()
    (workspace / "sub").mkdir()
    (workspace / "old.py").rename(workspace / "sub/new.py")
    (workspace / "added.py").write_text("new\n")
    changes = store.changes(before, store.take())
    assert [(each.path, each.status, store.lines(each)) for each in changes] == [
        ("added.py", "added", (1, 0)),
        ("changed.py", "changed", (2, 1)),
        ("deleted.py", "deleted", (0, 1)),
        ("sub/new.py", "moved", (0, 0)),
    ]
    assert store.diff(changes[1]).splitlines()[2:] == ["@@ -1,2 +1,3 @@", " one", "-two", "+2", "+three"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_write_during_a_snapshot_is_seen_by_the_next_one(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the size and second that git noted, and a younger git index."""
    program = tmp_path / "programs/git"
    program.parent.mkdir()
    script = f"""\
        #!{sys.executable}
        import os, pathlib, subprocess, sys
        file, noted = pathlib.Path({str(workspace / "a.txt")!r}), pathlib.Path({str(tmp_path / "noted")!r})
        code = subprocess.call([{shutil.which("git")!r}, *sys.argv[1:]])
        if "update-index" in sys.argv and not noted.exists():
            noted.touch()
            times = file.stat()
            file.write_text("two")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        if "update-index" in sys.argv or "write-tree" in sys.argv:  # as if it had taken git five seconds
            folder = next(each for each in sys.argv if each.startswith("--git-dir="))[len("--git-dir="):]
            os.utime(folder + "/index", (file.stat().st_mtime + 5,) * 2)
        sys.exit(code)
        """
    program.write_text(textwrap.dedent(script))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    (workspace / "a.txt").write_text("one")
    before = store.take()
    assert (workspace / "a.txt").read_text() == "two"
    changes = store.changes(before, store.take())
    assert [(each.path, each.status) for each in changes] == [("a.txt", "changed")]


@pytest.mark.parametrize("time", [1_000_000_000, 4_000_000_000])
def test_change_with_the_same_size_and_time_is_seen(opened: Opened, workspace: Path, time: int) -> None:
    """Also after snapshots without changes, and with an old time, as `cp -p` and archives keep it."""
    store = opened()
    file = workspace / "a.txt"
    file.write_text("0")
    os.utime(file, (time, time))
    for number in range(1, 10):
        before = store.take()
        store.take()
        file.write_text(str(number))
        os.utime(file, (time, time))
        assert [each.path for each in store.changes(before, store.take())] == ["a.txt"]
