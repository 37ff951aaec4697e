"""The inside: the store of snapshots, damaged, full, shared by kernels, on a network, or written to meanwhile."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from agentnb.changes.coverage import SnapshotLimits
from agentnb.changes.model import Snapshot
from agentnb.changes.store import ChangeStore
from agentnb.changes.store_folder import CLOCK_NS, network_file_system, unavailable
from agentnb.errors import ChangesError, ChangesUnavailable, ContentNotStored
from tests.unit.changes.conftest import Opened

CASES: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[2] / "cases/tables/network_mounts.json").read_text("utf-8")
)

MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:50 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
41 40 0:51 / /home/ada/local\\040disk rw - xfs /dev/vdb rw
42 27 0:52 / /mnt/s rw - fuse.sshfs ada@server:/ rw
43 27 0:53 / /mnt/a rw - fuse.appimage app rw
44 27 0:54 / /mnt/over rw - cifs //server/share rw
45 27 0:55 / /mnt/over rw - tmpfs tmpfs rw
a broken line
46 27 0:56 / /mnt/no-end rw
"""

MANY = 600
"""A large number of new files."""

HOLDS = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def noise(size: int) -> bytes:
    return os.urandom(size)


def test_store_is_readable_by_its_owner_only(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """Whatever the umask: the store has the workspace's contents."""
    (workspace / "a").write_text("a")
    store.take()
    folder = tmp_path / "store"
    assert [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077] == []


def test_prune_deletes_contents_of_unlisted_snapshots(store: ChangeStore, workspace: Path) -> None:
    """Undo of listed snapshots works; content that an undo overwrote stays as long as an older snapshot does."""
    (workspace / "a").write_bytes(b"first")
    first = store.take()
    (workspace / "a").write_bytes(b"second")
    second = store.take()
    (workspace / "a").write_bytes(b"third")
    third = store.take()
    [old] = store.changes(first, second)
    [new] = store.changes(second, third)
    (workspace / "a").write_bytes(b"user's")
    [undone] = store.apply(new.backward, {"a": "theirs"})
    assert undone.before is not None
    assert old.before is not None
    store.prune([second.id, third.id])
    with pytest.raises(ContentNotStored):
        store.content(old.before)
    with pytest.raises(ChangesError, match="no longer stored"):
        store.changes(first, second)
    assert store.content(undone.before) == b"user's"
    assert store.changes(second, third) == (new,)
    store.prune([])
    with pytest.raises(ContentNotStored):
        store.content(undone.before)
    assert (workspace / "a").read_bytes() == b"second"


def test_a_store_above_its_limit_drops_the_oldest_snapshots(opened: Opened, workspace: Path) -> None:
    """Even if they are listed; the newest stays."""
    store = opened(limits=SnapshotLimits(store_bytes=400_000))
    taken: list[Snapshot] = []
    for _ in range(8):
        (workspace / "a").write_bytes(noise(100_000))
        taken.append(store.take())
    assert store.size() > 800_000
    store.prune([each.id for each in taken])
    assert store.size() <= 400_000
    assert [each.path for each in store.changes(taken[-2], taken[-1])] == ["a"]
    with pytest.raises(ChangesError):
        store.changes(taken[0], taken[1])


def test_prune_keeps_the_snapshots_of_another_kernel(opened: Opened, workspace: Path) -> None:
    """As long as both are open."""
    one, other = opened(), opened()
    before = one.take()
    (workspace / "a").write_text("a")
    after = one.take()
    other.prune([])
    assert [each.path for each in one.changes(before, after)] == ["a"]
    assert [each.path for each in other.changes(before, after)] == ["a"]
    del one
    other.prune([])
    with pytest.raises(ChangesError, match="no longer stored"):
        other.changes(before, after)


@pytest.mark.slow
def test_store_locked_by_another_kernel_is_reported(opened: Opened, workspace: Path, tmp_path: Path) -> None:
    store = opened(limits=SnapshotLimits(lock_seconds=0.2))
    command = [sys.executable, "-c", HOLDS, os.fspath(tmp_path / "store/lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ChangesUnavailable, match="Another kernel"):
            store.take()
        holder.communicate()
    assert store.take().coverage == "whole"


@pytest.mark.parametrize("part", ["index", "HEAD", "objects", "config", "all"])
def test_damaged_git_store_is_replaced_or_repaired(tmp_path: Path, workspace: Path, part: str, opened: Opened) -> None:
    """Or repaired if nothing is lost; the snapshot says so, and later ones work."""
    store = opened(engine="git")
    (workspace / "a").write_text("a")
    store.take()
    git = tmp_path / "store/git"
    if part == "all":
        shutil.rmtree(git)
    elif part == "objects":
        shutil.rmtree(git / "objects")
    else:
        (git / part).write_bytes(b"damaged" * 20)
    (workspace / "b").write_text("b")
    before = store.take()
    notes = " ".join(before.notes)
    assert ("was damaged" in notes) == (part in {"index", "HEAD", "objects"})
    (workspace / "a").write_text("other")
    changes = store.changes(before, store.take())
    assert [each.path for each in changes] == ["a"]
    store.apply(changes[0].backward)
    assert (workspace / "a").read_text() == "a"


def test_damaged_content_is_reported_and_not_written(opened: Opened, workspace: Path, tmp_path: Path) -> None:
    """Damaged content is never returned."""
    store = opened()
    (workspace / "a").write_text("a" * 100)
    before = store.take()
    (workspace / "a").write_text("b" * 100)
    [change] = store.changes(before, store.take())
    assert change.before is not None
    assert change.before.blob is not None
    name = change.before.blob
    [path] = (tmp_path / "store").glob(f"*/objects/{name[:2]}/{name[2:]}")
    path.chmod(0o600)
    path.write_bytes(b"damaged")
    with pytest.raises(ChangesError, match="damaged"):
        store.apply(change.backward)
    assert (workspace / "a").read_text() == "b" * 100


def test_removed_store_is_created_again(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """While the kernel runs."""
    first = store.take()
    shutil.rmtree(tmp_path / "store")
    (workspace / "a").write_text("a")
    before = store.take()
    (workspace / "a").write_text("b")
    assert [each.path for each in store.changes(before, store.take())] == ["a"]
    with pytest.raises(ChangesError, match="no longer stored"):
        store.changes(first, before)


def test_store_path_that_is_a_file_is_reported(opened: Opened, tmp_path: Path) -> None:
    """And what to do."""
    (tmp_path / "store").write_text("")
    with pytest.raises(ChangesUnavailable, match="permissions"):
        opened()


def test_store_size_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bytes, or with a unit; invalid values change nothing."""
    sizes = {
        size: SnapshotLimits.from_environment({"AGENTNB_CHANGES_MAX": size}).store_bytes
        for size in ("1000", "2k", "3MB")
    }
    assert sizes == {"1000": 1000, "2k": 2048, "3MB": 3 * 1024**2}
    assert SnapshotLimits.from_environment({"AGENTNB_CHANGES_MAX": "much"}) == SnapshotLimits()


def test_many_new_files_are_packed_and_read_by_one_git_run(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One store file or one run of git for each would take four times as long."""
    runs = watched_git(tmp_path, monkeypatch)
    contents = {f"f{number}": b"%d\n" % number for number in range(MANY)}
    for name, content in contents.items():
        (workspace / name).write_bytes(content)
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    before = store.take()
    assert len([path for path in (tmp_path / "store/git/objects").rglob("*") if path.is_file()]) < 10
    assert [path for path in (tmp_path / "store").rglob("*") if path.stat().st_mode & 0o077] == []
    for name in contents:
        (workspace / name).write_bytes(b"other\n")
    changes = store.changes(before, store.take())
    assert [(each.path, store.lines(each)) for each in changes[:3]] == [(name, (1, 1)) for name in sorted(contents)[:3]]
    runs.write_text("")
    store.apply([step for each in changes for step in each.backward])
    assert {path.name: path.read_bytes() for path in workspace.iterdir()} == contents
    assert runs.read_text().count("cat-file --batch\n") == 1


@pytest.mark.parametrize(
    ("does", "packs"),
    [
        ('case "$*" in *--version) echo git version 2.37.9; exit;; esac', 0),
        ('case "$*" in *bigFileThreshold*) echo "fatal: failed to read 9 bytes from a" >&2; exit 128;; esac', 1),
    ],
    ids=["an-older-git", "a-file-that-changes-while-it-is-read"],
)
def test_many_new_files_are_stored_singly_when_git_cannot_pack(
    does: str, packs: int, tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git before 2.38 would write a pack for each."""
    runs = watched_git(tmp_path, monkeypatch, does)
    for number in range(MANY):
        (workspace / f"f{number}").write_bytes(b"%d\n" % number)
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    before = store.take()
    assert runs.read_text().count("bigFileThreshold") == packs
    (workspace / "f7").unlink()
    [change] = store.changes(before, store.take())
    store.apply(change.backward)
    assert (workspace / "f7").read_bytes() == b"7\n"


def test_missing_pack_leaves_other_contents_readable(tmp_path: Path, workspace: Path) -> None:
    """Undo of lost content writes nothing."""
    for number in range(MANY):
        (workspace / f"f{number}").write_bytes(noise(100))
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    before = store.take()
    (workspace / "f7").write_bytes(b"seven\n")
    after = store.take()
    [change] = store.changes(before, after)
    for pack in (tmp_path / "store/git/objects/pack").iterdir():
        pack.unlink()
    with pytest.raises(ContentNotStored, match="no longer stored"):
        store.apply(change.backward)
    assert change.after is not None
    assert (store.content(change.after), (workspace / "f7").read_bytes()) == (b"seven\n", b"seven\n")


def test_prune_deletes_packed_contents(tmp_path: Path, workspace: Path) -> None:
    """Listed contents stay, in one pack."""
    for number in range(MANY):
        (workspace / f"f{number}").write_bytes(b"%d\n" % number)
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    before = store.take()
    (workspace / "f7").write_bytes(b"seven\n")
    after = store.take()
    [change] = store.changes(before, after)
    assert change.before is not None
    assert store.content(change.before) == b"7\n"
    store.prune([after.id])
    with pytest.raises(ContentNotStored):
        store.content(change.before)
    (workspace / "f8").unlink()
    [gone] = store.changes(after, store.take())
    store.apply(gone.backward)
    assert (workspace / "f8").read_bytes() == b"8\n"
    assert len([*(tmp_path / "store/git/objects/pack").glob("*.pack")]) == 1


def test_snapshot_of_an_empty_workspace_does_not_run_git(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most conversations of a test begin in an empty folder; git's version is read once per process."""
    runs = watched_git(tmp_path, monkeypatch)
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=lambda _: False, engine="git")
    before = store.take()
    assert store.changes(before, store.take()) == ()
    assert runs.read_text().splitlines() == ["--version"]
    (workspace / "new").write_bytes(b"one\ntwo\n")
    [change] = store.changes(before, after := store.take())
    assert (change.path, change.after and change.after.size, store.lines(change)) == ("new", 8, (2, 0))
    (workspace / "new").unlink()
    [gone] = store.changes(after, again := store.take())
    store.apply(gone.backward)
    assert ((workspace / "new").read_bytes(), store.changes(before, again)) == (b"one\ntwo\n", ())
    git = ["git", f"--git-dir={tmp_path / 'store/git'}"]
    checked = subprocess.run([*git, "fsck", "--full", "--strict"], capture_output=True, text=True, check=False)
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if "error" in line]) == (0, [])
    ChangeStore(tmp_path / "another", workspace, is_sensitive=lambda _: False, engine="git").take()
    assert runs.read_text().splitlines().count("--version") == 1


def watched_git(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str = "") -> Path:
    """Puts a git before the real one that does *does*; returns the file with its command lines."""
    runs = folder / "runs"
    program = folder / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$*\" >> '{runs}'\n{does}\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return runs


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


@pytest.mark.parametrize(
    ("folder", "kind"),
    CASES["mounts"],
)
def test_folder_is_on_its_nearest_and_latest_mount(tmp_path: Path, folder: str, kind: str | None) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert network_file_system(Path(folder), tmp_path / "mounts") == kind


def test_network_workspace_has_a_note_and_late_changes_are_seen(
    opened: Opened, workspace: Path, tmp_path: Path
) -> None:
    """The server's clock may be behind: a file dated a minute ago may have been written just now."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {os.fspath(workspace)} rw - nfs server:/ rw\n")
    store = opened(mounts=mounts)
    (workspace / "a.txt").write_text("one")
    os.utime(workspace / "a.txt", (time.time() - 60,) * 2)
    before = store.take()
    assert [note for note in before.notes if "network file system (nfs)" in note] != []
    index = tmp_path / "store/git/index"
    if index.exists():
        assert index.stat().st_mtime_ns <= time.time_ns() - CLOCK_NS
    (workspace / "a.txt").write_text("two")
    assert [each.path for each in store.changes(before, store.take())] == ["a.txt"]


def test_error_names_the_read_only_file_system(tmp_path: Path) -> None:
    """The workspace for a name in it, otherwise the store."""
    store, workspace = tmp_path / "store", tmp_path / "work"
    words = "is on a read-only file system: nothing was written."
    for name, place in ((".agentnb-pending-1", workspace), (os.fspath(store / "lock"), store)):
        error = OSError(errno.EROFS, os.strerror(errno.EROFS), name)
        assert unavailable(error, store, workspace).message == f"{place} {words}"
