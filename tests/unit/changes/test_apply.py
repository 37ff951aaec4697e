"""The inside: writing many files or none, where a user, a full disk or a kill comes at the worst moment."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentnb.changes.coverage import SnapshotLimits
from agentnb.changes.model import FileVersion, PathChange, Step
from agentnb.changes.store import ChangeStore
from agentnb.errors import ChangesError, ChangesUnavailable, ContentNotStored, FilesConflict, OutsideWorkspace
from tests.unit.changes.conftest import Opened, is_sensitive
from tests.unit.changes.interrupted_files import InterruptedFiles, Killed

NOTEBOOK = '{"cells": [\n1,\n2,\n3,\n4\n]}\n'


def turn(store: ChangeStore, workspace: Path, **contents: str | None) -> tuple[PathChange, ...]:
    """Runs a turn that writes files; None deletes."""
    before = store.take()
    for name, content in contents.items():
        path = workspace / name
        path.unlink() if content is None else path.write_text(content)
    return store.changes(before, store.take())


def backward(changes: tuple[PathChange, ...]) -> list[Step]:
    return [step for each in changes for step in each.backward]


def test_undo_writes_nothing_through_a_link_to_outside(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """A link replaced the folder: the file behind it is outside the workspace."""
    (workspace / "d").mkdir()
    (workspace / "d/x").write_text("mine\n")
    changes = turn(store, workspace, **{"d/x": "agent\n"})
    outside = tmp_path / "outside"
    (workspace / "d").rename(outside)
    (workspace / "d").symlink_to(outside)
    for choices in ({}, {"d/x": "theirs"}):
        with pytest.raises((ChangesError, OutsideWorkspace)):
            store.apply(backward(changes), choices)  # type: ignore[arg-type]
    assert (outside / "x").read_text() == "agent\n"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", ".", "a//b", ".git/config", "a/.git/x", "a\0b"])
def test_step_outside_the_workspace_is_refused(store: ChangeStore, path: str) -> None:
    """Also a path from a manipulated log."""
    with pytest.raises(OutsideWorkspace):
        store.apply([Step(path=path, target=FileVersion(mode="folder"))])


def test_merge_that_breaks_json_is_a_conflict(store: ChangeStore, workspace: Path) -> None:
    """A question is better than a notebook that does not open."""
    (workspace / "n.ipynb").write_text(NOTEBOOK)
    changes = turn(store, workspace, **{"n.ipynb": NOTEBOOK.replace("4\n", "4,\n5\n").replace("1,\n", "")})
    (workspace / "n.ipynb").write_text(NOTEBOOK.replace("4\n", "4,\n5\n").replace("1,\n2,\n3,\n4", ""))
    with pytest.raises(FilesConflict):
        store.apply(backward(changes))


def test_undo_does_not_overwrite_large_or_sensitive_files(opened: Opened, workspace: Path) -> None:
    """A file that cannot be stored is not overwritten, whatever the user chose."""
    store = opened(limits=SnapshotLimits(file_bytes=100))
    (workspace / "a").write_text("1\n")
    changes = turn(store, workspace, a="2\n")
    (workspace / "a").write_text("x" * 101)
    with pytest.raises(ContentNotStored, match="it is large"):
        store.apply(backward(changes), {"a": "theirs"})
    added = turn(store, workspace, **{".env": "KEY"})
    with pytest.raises(ContentNotStored, match="it is sensitive"):
        store.apply(backward(added))
    assert ((workspace / "a").stat().st_size, (workspace / ".env").read_text()) == (101, "KEY")


def test_file_and_folder_at_the_same_path_are_a_conflict(opened: Opened, workspace: Path) -> None:
    """Nothing is written until the user chooses one."""
    store = opened()
    before = store.take()
    (workspace / "d").mkdir()
    (workspace / "d/x").write_text("1")
    below = store.changes(before, store.take())
    shutil.rmtree(workspace / "d")
    file = turn(store, workspace, d="f")
    (workspace / "d").unlink()
    steps = [step for each in (*below, *file) for step in each.forward]
    with pytest.raises(FilesConflict) as caught:
        store.apply(steps)
    assert [each.path for each in caught.value.conflicts] == ["d/x"]
    with pytest.raises(ChangesError, match="d/x cannot be written: d is in the way"):
        store.apply(steps, {"d/x": "theirs"})
    assert list(workspace.iterdir()) == []
    store.apply(steps, {"d/x": "mine"})
    assert (workspace / "d").read_text() == "f"


class InodePerName(InterruptedFiles):
    """Like sshfs: a file's second name looks like another file."""

    def link(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        self._count()
        state = os.lstat(name, dir_fd=folder)
        with (
            os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as source,
            os.fdopen(os.open(other_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=other_folder), "wb") as copy,
        ):
            shutil.copyfileobj(source, copy)
        os.chmod(other_name, state.st_mode, dir_fd=other_folder)
        os.utime(other_name, ns=(state.st_atime_ns, state.st_mtime_ns), dir_fd=other_folder)


@pytest.mark.parametrize("kills", [0, 8])
def test_interrupted_undo_is_all_or_nothing_as_on_sshfs(opened: Opened, workspace: Path, kills: int) -> None:
    """Time and content identify a file under its new name and under its old one."""
    files = InodePerName(1 << 60)
    store = opened(files=files)
    (workspace / "a").write_text("1")
    (workspace / "b").write_text("1")
    changes = turn(store, workspace, a="2", b=None, c="2")
    for at in range(16):
        files.left = at
        with contextlib.suppress(Killed):
            store.apply(backward(changes))
        for once_more in range(kills):  # the recovery is killed, too
            files.left = once_more
            with contextlib.suppress(Killed):
                store.recover()
        files.left = 1 << 60
        store.recover()
        contents = {each.name: each.read_text() for each in workspace.iterdir()}
        assert contents in [{"a": "2", "c": "2"}, {"a": "1", "b": "1"}], at
        (workspace / "a").write_text("2")
        (workspace / "b").unlink(missing_ok=True)
        (workspace / "c").write_text("2")


KILLED = """
import os, signal, sys
from pathlib import Path
from agentnb.changes.model import Step
from agentnb.changes.store import ChangeStore
from tests.unit.changes.interrupted_files import InterruptedFiles, Killed

class Killing(InterruptedFiles):
    def _count(self):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

files = Killing(1 << 60)
store = ChangeStore(Path(sys.argv[1]), Path(sys.argv[2]), is_sensitive=lambda _: False, files=files)
workspace = Path(sys.argv[2])
before = store.take()
(workspace / "a").write_text("2")
(workspace / "b").unlink()
(workspace / "d").mkdir()
(workspace / "d/c").write_text("2")
changes = store.changes(before, store.take())
files.left = int(sys.argv[3])
store.apply([step for each in changes for step in each.backward])
"""


@pytest.mark.slow
@pytest.mark.parametrize("at", [4, 7, 10])
def test_undo_in_a_killed_kernel_is_all_or_nothing(tmp_path: Path, workspace: Path, at: int) -> None:
    """The next kernel reports it."""
    (workspace / "a").write_text("1")
    (workspace / "b").write_text("1")
    arguments = [sys.executable, "-c", KILLED, os.fspath(tmp_path / "store"), os.fspath(workspace), str(at)]
    killed = subprocess.run(arguments, cwd=Path(__file__).parents[3], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=is_sensitive)
    assert "undo was interrupted" in str(store.recover())
    contents = {
        os.fspath(each.relative_to(workspace)): each.read_text() for each in workspace.rglob("*") if each.is_file()
    }
    assert contents in [{"a": "2", "d/c": "2"}, {"a": "1", "b": "1"}]
    assert store.recover() is None


def test_recovery_keeps_files_edited_after_the_kill(opened: Opened, workspace: Path) -> None:
    """The message names it."""
    files = InterruptedFiles(1 << 60)
    store = opened(files=files)
    (workspace / "a").write_text("1")
    (workspace / "b").write_text("1")
    changes = turn(store, workspace, a="2", b="2")
    files.left = 10
    with pytest.raises(Killed):
        store.apply(backward(changes))
    del store
    (workspace / "a").write_text("user")
    message = opened().recover()
    assert ((workspace / "a").read_text(), (workspace / "b").read_text()) == ("user", "2")
    assert message is not None
    assert message.endswith("left alone: a.")


def test_undo_reports_a_read_only_workspace(opened: Opened, workspace: Path) -> None:
    class ReadOnly(InterruptedFiles):
        def make_folder(self, folder: int, name: str, mode: int = 0o777) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    store = opened(files=ReadOnly(1 << 60))
    (workspace / "a").write_text("1")
    changes = turn(store, workspace, a="2")
    with pytest.raises(ChangesUnavailable, match="read-only file system"):
        store.apply(backward(changes))
    assert (workspace / "a").read_text() == "2"


def test_undo_names_a_folder_removed_while_it_writes(opened: Opened, workspace: Path) -> None:
    """Files already written are restored; the message says where, and what to do."""

    class Removing(InterruptedFiles):
        """A user who removes a folder between the check and the write."""

        is_armed = False

        def place(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
            super().place(folder, name, other_folder, other_name)
            if self.is_armed:
                shutil.rmtree(workspace / "b/d")
                self.is_armed = False

    files = Removing(1 << 60)
    store = opened(files=files)
    (workspace / "b/d/e").mkdir(parents=True)
    (workspace / "a").write_text("1")
    (workspace / "b/d/e/c").write_text("1")
    (workspace / "b/d/e/kept").write_text("1")
    changes = turn(store, workspace, **{"a": "2", "b/d/e/c": None})
    files.is_armed = True
    with pytest.raises(ChangesUnavailable) as caught:
        store.apply(backward(changes))
    assert caught.value.message == f"{workspace / 'b/d'} was removed in the meantime: nothing was written."
    assert caught.value.hint == "Create it again, or leave its files as they are, and try again."
    assert (workspace / "a").read_text() == "2"


@pytest.mark.parametrize(("edit", "expected"), [("user\n2\n3\n", "user\n2\nold\n"), ("1\n2\nuser\n", None)])
def test_file_saved_while_undo_writes_is_not_lost(
    opened: Opened, workspace: Path, edit: str, expected: str | None
) -> None:
    """Undo checks again: it merges, or reports a conflict."""

    class Saving(InterruptedFiles):
        """A user who saves between the check and the write."""

        has_saved = True

        def make_folder(self, folder: int, name: str, mode: int = 0o777) -> None:
            super().make_folder(folder, name, mode)
            if not self.has_saved:
                (workspace / "a").write_text(edit)
                self.has_saved = True

    files = Saving(1 << 60)
    store = opened(files=files)
    (workspace / "a").write_text("1\n2\nold\n")
    changes = turn(store, workspace, a="1\n2\n3\n", b="new")
    files.has_saved = False
    if expected is None:
        with pytest.raises(FilesConflict):
            store.apply(backward(changes))
    else:
        store.apply(backward(changes))
    assert (workspace / "a").read_text() == (expected or edit)
    assert (workspace / "b").exists() == (expected is None)
    assert [each.name for each in workspace.iterdir() if each.name.startswith(".")] == []
