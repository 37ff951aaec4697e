"""The inside: which files snapshots cover with either engine, in workspaces that are large, slow or odd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.changes.copy_engine import FolderScan
from agentnb.changes.coverage import SnapshotLimits, WorkspaceLook
from agentnb.changes.model import Snapshot, path_from_json, path_to_json
from agentnb.changes.store import ChangeStore
from agentnb.errors import ChangesUnavailable, ContentNotStored
from tests.unit.changes.conftest import Opened


def changed(store: ChangeStore, before: Snapshot, after: Snapshot) -> dict[str, str]:
    return {each.path: each.status for each in store.changes(before, after)}


def write(path: Path, content: str = "content\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def covered(store: ChangeStore, workspace: Path, *paths: str) -> set[str]:
    """Returns the paths that the store sees as changed."""
    before = store.take()
    for each in paths:
        write(workspace / each)
    return set(changed(store, before, store.take()))


def test_ignored_files_are_not_covered_by_default(store: ChangeStore, workspace: Path) -> None:
    """By rules of the project and its repository's ``info/exclude``; environments and caches under any name."""
    write(workspace / ".gitignore", "*.log\n/out/\n!keep.log\n")
    write(workspace / "sub/.gitignore", "local\n")
    write(workspace / ".git/info/exclude", "private.txt\n")
    write(workspace / "my env/pyvenv.cfg")
    paths = ["a.py", "keep.log", "x.log", "out/x", "sub/local", "sub/other", "private.txt", "my env/lib/x.py"]
    paths += ["node_modules/x.js", "d/__pycache__/x.pyc", ".venv/x", ".ipynb_checkpoints/n.ipynb", ".git/x"]
    assert covered(store, workspace, *paths) == {"a.py", "keep.log", "sub/other"}


@pytest.mark.parametrize(
    "name", ["a\0b", "\0", "a" + chr(0xD800), "", "x" * 5_000, "d/" * 3_000 + "x", "\udcff", "a\nb", "-x"]
)
@pytest.mark.parametrize("files", [1, 20_000])
def test_impossible_file_name_does_not_stop_a_snapshot(opened: Opened, workspace: Path, name: str, files: int) -> None:
    """Agents send any name in tool calls: other files stay covered, in this and all later snapshots."""
    limits = SnapshotLimits(files=files)
    store = opened(limits=limits)
    write(workspace / "seen.txt")
    write(workspace / "b.txt")
    before = store.take(["seen.txt"])
    write(workspace / "seen.txt", "other\n")
    after = store.take(["seen.txt", name, f"sub/{name}"])
    assert changed(store, before, after) == {"seen.txt": "changed"}
    write(workspace / "seen.txt", "again\n")
    assert changed(
        opened(limits=SnapshotLimits(files=files)), after, opened(limits=SnapshotLimits(files=files)).take()
    ) == {"seen.txt": "changed"}


def test_named_ignored_files_are_covered_from_then_on(store: ChangeStore, workspace: Path) -> None:
    """In later snapshots, too; a file that existed before it was named is not *added*."""
    write(workspace / ".gitignore", "out/\n")
    write(workspace / "out/old.csv")
    first = store.take(["out/new.csv"])
    write(workspace / "out/old.csv", "other\n")
    write(workspace / "out/new.csv")
    second = store.take([str(workspace / "out/old.csv"), "node_modules/x/../y.js", "../outside", ".git/config"])
    write(workspace / "out/old.csv", "again\n")
    write(workspace / "node_modules/y.js")
    third = store.take()
    assert [(each.path, each.status, each.undoable) for each in store.changes(first, second)] == [
        ("out/new.csv", "added", True),
        ("out/old.csv", "changed", False),
    ]
    assert changed(store, second, third) == {"node_modules/y.js": "added", "out/old.csv": "changed"}


@pytest.mark.parametrize("files", [0, 20_000])
def test_ignored_files_named_before_a_change_can_be_restored(opened: Opened, workspace: Path, files: int) -> None:
    """Also in a too large workspace: old files can be restored, and new ones are *added*."""
    store = opened(limits=SnapshotLimits(files=files))
    write(workspace / ".gitignore", "out/\n")
    for name in ("changed", "deleted", "same", "twice"):
        write(workspace / f"out/{name}", f"{name}\n")
    before = store.take()
    here = [".gitignore", "out/changed", "new.py"]
    assert store.lacks(before, here) == {*here[1:], *(() if files else here[:1])}
    assert store.lacks(before, []) == frozenset()
    write(workspace / "new.py", "one\n")
    first = store.take([f"out/{name}" for name in ("changed", "deleted", "same", "added", "twice")])
    for name in ("changed", "added", "twice"):
        write(workspace / f"out/{name}", f"{name} once\n")
    (workspace / "out/deleted").unlink()
    assert store.lacks(first, ["out/added", "out/late"]) == {"out/late"}
    second = store.take(["out/twice", "out/late"])
    write(workspace / "out/twice", "again\n")
    (workspace / "new.py").unlink()
    after = store.take()
    statuses = {each.path: (each.status, each.undoable) for each in store.changes(before, after, [first, second])}
    assert statuses == {
        "out/added": ("added", True),
        "out/changed": ("changed", True),
        "out/deleted": ("deleted", True),
        "out/twice": ("changed", True),
    }
    changes = store.changes(before, after, [first, second])
    store.apply([step for each in changes for step in each.backward])
    names = ("changed", "deleted", "same", "twice")
    assert {path.name: path.read_text() for path in (workspace / "out").iterdir()} == {n: f"{n}\n" for n in names}


def test_files_of_a_removed_ignore_rule_do_not_count_as_added(store: ChangeStore, workspace: Path) -> None:
    """They may be older, so undo must not delete them."""
    write(workspace / ".gitignore", "data/\n")
    write(workspace / "data/mine.csv")
    before = store.take()
    write(workspace / ".gitignore", "")
    write(workspace / "new.py")
    after = store.take()
    statuses = {each.path: (each.status, each.undoable) for each in store.changes(before, after)}
    assert statuses == {
        ".gitignore": ("changed", True),
        "data/mine.csv": ("changed", False),
        "new.py": ("added", True),
    }


def test_workspace_follows_ignore_rules_of_parent_folders(tmp_path: Path, opened: Opened) -> None:
    write(tmp_path / "repository/.git/HEAD")
    write(tmp_path / "repository/.gitignore", "*.tmp\n/notebooks/data/\n/data2/\n/notebooks/\n")
    inner = tmp_path / "repository/notebooks"
    inner.mkdir()
    store = opened(workspace=inner)
    assert covered(store, inner, "x.tmp", "data/x", "data2/x", "a.py") == {"data2/x", "a.py"}


def test_files_behind_a_new_folder_link_are_not_read(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """Also if the same file exists outside the workspace, or if the link is circular."""
    write(workspace / "d/x")
    write(workspace / "e/y/z")
    write(tmp_path / "outside/x", "nobody's business")
    before = store.take()
    for name, target in (("d", tmp_path / "outside"), ("e", Path("e"))):
        shutil.rmtree(workspace / name)
        (workspace / name).symlink_to(target)
    assert changed(store, before, store.take()) == {"d": "added", "d/x": "deleted", "e": "added", "e/y/z": "deleted"}
    stored = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(b"nobody's business" in _plain(content) for content in stored)


def _plain(content: bytes) -> bytes:
    """Returns a stored object's bytes, unpacked if git packed them."""
    try:
        return zlib.decompress(content)
    except zlib.error:
        return content


def test_changed_sensitive_files_are_seen_but_not_stored(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """The digest needs the store's key; no content can be restored."""
    write(workspace / ".env", "TOKEN=1")
    before = store.take()
    write(workspace / ".env", "TOKEN=2")
    [change] = store.changes(before, store.take())
    assert (change.status, change.undoable, store.lines(change)) == ("changed", False, (None, None))
    assert change.before is not None
    with pytest.raises(ContentNotStored):
        store.content(change.before)
    with pytest.raises(ContentNotStored):
        store.apply(change.backward)
    assert "not stored" in store.diff(change)
    other = ChangeStore(tmp_path / "other", workspace, is_sensitive=lambda path: path == ".env")
    write(workspace / "plain", "TOKEN=2")
    assert {each.mode: each.digest for each in [change.before]} != {"file": ""}
    assert other.changes(other.take(), other.take()) == ()
    raw = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert b"TOKEN" not in raw


def test_sensitive_files_are_stored_when_the_setting_allows_it(opened: Opened, workspace: Path) -> None:
    store = opened(keep_sensitive=True)
    write(workspace / ".env", "TOKEN=1")
    before = store.take()
    write(workspace / ".env", "TOKEN=2")
    store.apply([step for each in store.changes(before, store.take()) for step in each.backward])
    assert (workspace / ".env").read_text() == "TOKEN=1"


def test_large_files_sockets_and_pipes_are_listed_as_not_covered(opened: Opened, workspace: Path) -> None:
    """A note lists each; a large file's change is seen, and cannot be undone."""
    store = opened(limits=SnapshotLimits(file_bytes=1000))
    write(workspace / "large", "x" * 1001)
    write(workspace / "grows", "x")
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(os.fspath(workspace / "s"))
        before = store.take()
    assert sorted((each.path, each.why) for each in before.not_covered) == [
        ("large", "large"),
        ("pipe", "pipe"),
        ("s", "socket"),
    ]
    write(workspace / "large", "y" * 1002)
    write(workspace / "grows", "x" * 1003)
    after = store.take()
    rows = [(each.path, each.status, each.undoable) for each in store.changes(before, after)]
    assert rows == [("grows", "changed", False), ("large", "changed", False)]
    assert after.not_covered_count == 4


def test_undo_restores_empty_folders_links_modes_and_odd_names(store: ChangeStore, workspace: Path) -> None:
    """New lines, bytes that are no UTF-8, spaces and dashes in names; a dangling link."""
    odd = ["new\nline", os.fsdecode(b"byte\xff"), " space ", "-dash", "a:b", 'quote"', "back\\slash", "é", "\uf780"]
    for name in odd:
        write(workspace / name)
    (workspace / "empty").mkdir()
    (workspace / "link").symlink_to("nowhere/else")
    (workspace / "run").touch(mode=0o755)
    write(workspace / "private")
    (workspace / "private").chmod(0o640)
    before = store.take()
    write(workspace / "private", "other\n")
    for name in odd:
        (workspace / name).unlink()
    (workspace / "empty").rmdir()
    (workspace / "link").unlink()
    (workspace / "run").chmod(0o644)
    changes = store.changes(before, store.take())
    assert {each.path for each in changes} == {*odd, "empty", "link", "run", "private"}
    assert {path_from_json(path_to_json(each.path)) for each in changes} == {each.path for each in changes}
    store.apply([step for each in changes for step in each.backward])
    assert sorted(each.name for each in workspace.iterdir()) == sorted([*odd, "empty", "link", "run", "private"])
    assert (workspace / "private").stat().st_mode & 0o777 == 0o640
    assert (os.fspath((workspace / "link").readlink()), os.access(workspace / "run", os.X_OK)) == ("nowhere/else", True)


def test_nested_repositories_are_covered_without_their_git_data(store: ChangeStore, workspace: Path) -> None:
    """A clone, a worktree's or submodule's ``.git`` file, a repository in a repository."""
    for name in ("clone", "clone/inner"):
        (workspace / name).mkdir()
        subprocess.run(["git", "init", "--quiet", "."], cwd=workspace / name, check=True)
        write(workspace / name / "first.py")
    write(workspace / "clone/.gitignore", "*.log\n")
    write(workspace / "worktree/.git", "gitdir: /nowhere\n")
    paths = ["clone/a.py", "clone/x.log", "clone/inner/b.py", "worktree/c.py", "clone/.git/d"]
    assert covered(store, workspace, *paths) == {"clone/a.py", "clone/inner/b.py", "worktree/c.py"}


def test_workspace_with_too_many_files_covers_only_named_files(opened: Opened, workspace: Path) -> None:
    """A note says why; changes of named files are seen and can be undone."""
    for number in range(30):
        write(workspace / f"f{number}")
    store = opened(limits=SnapshotLimits(files=20))
    before = store.take(["f1"])
    assert (before.coverage, "more than 20 files" in before.reason) == ("named", True)
    write(workspace / "f1", "other\n")
    write(workspace / "f2", "other\n")
    after = store.take(["f2"])
    assert [(each.path, each.undoable) for each in store.changes(before, after)] == [("f1", True), ("f2", False)]
    store.apply(store.changes(before, after)[0].backward)
    assert (workspace / "f1").read_text() == "content\n"


def test_workspace_that_grows_too_large_keeps_its_coverage(opened: Opened, workspace: Path) -> None:
    """A note says that new files are not covered."""
    write(workspace / "a.py")
    store = opened(limits=SnapshotLimits(files=20))
    before = store.take()
    for number in range(30):
        write(workspace / f"data/f{number}")
    write(workspace / "a.py", "other\n")
    after = store.take()
    assert (after.coverage, [each.why for each in after.not_covered]) == ("whole", ["outside limit"])
    assert changed(store, before, after)["a.py"] == "changed"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [(SnapshotLimits(bytes=2000), "has more than"), (SnapshotLimits(seconds=0), "took longer than 0 seconds")],
    ids=["bytes", "seconds"],
)
def test_large_or_slow_workspace_covers_only_named_files(
    opened: Opened, workspace: Path, limits: SnapshotLimits, reason: str
) -> None:
    """The next snapshot does not store the same files again."""
    write(workspace / "a", "x" * 3000)
    store = opened(limits=limits)
    before = store.take(["a"])
    assert (before.coverage, reason in before.reason) == ("named", True)
    write(workspace / "a", "other\n")
    assert changed(store, before, store.take()) == {"a": "changed"}


@pytest.mark.parametrize("which", ["home", "above", "root"])
def test_home_folder_and_its_parents_cover_only_named_files(
    opened: Opened, home: Path, which: str, tmp_path: Path
) -> None:
    """A copy of all of it would take too long."""
    chosen = {"home": home, "above": home.parent, "root": Path("/")}[which]
    snapshot = opened(workspace=chosen, folder=tmp_path / "store", engine="auto").take()
    assert (snapshot.coverage, snapshot.reason.startswith("The workspace")) == ("named", True)


def test_a_store_in_the_workspace_does_not_cover_itself(opened: Opened, workspace: Path) -> None:
    """Otherwise every snapshot would change the next one."""
    store = opened(folder=workspace / "state/store")
    before = store.take()
    assert changed(store, before, store.take()) == {}


def test_snapshot_of_a_deleted_workspace_is_an_error(store: ChangeStore, workspace: Path) -> None:
    """It is covered again once it is back."""
    store.take()
    workspace.rmdir()
    with pytest.raises(ChangesUnavailable, match="no longer exists"):
        store.take()
    workspace.mkdir()
    assert covered(store, workspace, "a") == {"a"}


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder of a user who is not root, and that user during the test: root may read everything."""
    with tempfile.TemporaryDirectory() as folder:
        was = os.geteuid()
        if was == 0:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(was)


def test_unreadable_files_are_listed_and_do_not_count_as_deleted(opened: Opened, nobody: Path) -> None:
    """Its state is unknown, so it counts as unchanged; other files are compared."""
    workspace = nobody / "workspace"
    for name in ("d/a", "e", "f", "private"):
        write(workspace / name)
    (workspace / "private").chmod(0)
    store = opened(folder=nobody / "store", workspace=workspace)
    before = store.take()
    (workspace / "d").chmod(0)
    (workspace / "e").chmod(0)
    write(workspace / "f", "other\n")
    after = store.take()
    (workspace / "d").chmod(0o700)
    assert [(each.path, each.why) for each in before.not_covered] == [("private", "unreadable")]
    assert {each.path.partition("/")[0] for each in after.not_covered} == {"d", "e", "private"}
    assert changed(store, before, after) == {"f": "changed"}


def test_name_reserved_by_git_is_listed_as_not_covered(store: ChangeStore, workspace: Path) -> None:
    """``.GIT`` is ``.git`` on other file systems."""
    write(workspace / ".GIT")
    assert [(each.path, each.why) for each in store.take().not_covered] == [(".GIT", "name")]


def test_folder_stays_covered_after_git_init(store: ChangeStore, workspace: Path) -> None:
    """``git init`` in it changes none of its files."""
    write(workspace / "d/x")
    before = store.take()
    subprocess.run(["git", "init", "--quiet", "."], cwd=workspace / "d", check=True)
    assert covered(store, workspace, "d/y") == {"d/y"}
    assert changed(store, before, store.take()) == {"d/y": "added"}


@pytest.mark.parametrize("name", ["pyvenv.cfg", "zz"])
def test_listing_of_a_huge_folder_stops_at_the_file_limit(opened: Opened, workspace: Path, name: str) -> None:
    """A million files are not counted, in one folder or in many; an environment among them is left out."""
    for number in range(200):
        write(workspace / f"many/f{number}")
    write(workspace / f"many/{name}")
    write(workspace / "a.py")
    limits = SnapshotLimits(files=20)
    look = WorkspaceLook(workspace, limits, lambda _: False, lambda _: "")
    scan = FolderScan(workspace).walk(look)
    assert scan.files <= 22
    assert scan.is_cut == (name == "zz")
    store = opened(limits=limits)
    before = store.take(["many/f7"])
    assert before.coverage == ("named" if name == "zz" else "whole")
    write(workspace / "many/f7", "other\n")
    assert changed(store, before, store.take()) == {"many/f7": "changed"}


def test_submodules_and_worktrees_are_covered_and_restored(store: ChangeStore, workspace: Path, tmp_path: Path) -> None:
    """Real ones: of a repository above the workspace, and of one inside."""

    def git(folder: Path, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    library = tmp_path / "library"
    for folder in (library, workspace):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "--quiet", ".")
        write(folder / "first.py")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", "first")
    git(workspace, "submodule", "--quiet", "add", os.fspath(library), "module")
    git(workspace, "worktree", "add", "--quiet", "tree")
    own = {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (workspace / ".git").rglob("*") if path.is_file()
    }
    before = store.take()
    write(workspace / "module/first.py", "other\n")
    write(workspace / "tree/new.py", "new\n")
    (workspace / "tree/first.py").unlink()
    changes = store.changes(before, store.take())
    statuses = {each.path: each.status for each in changes}
    assert statuses == {"module/first.py": "changed", "tree/first.py": "deleted", "tree/new.py": "added"}
    store.apply([step for each in changes for step in each.backward])
    assert [(workspace / each).exists() for each in ("tree/first.py", "tree/new.py")] == [True, False]
    assert (workspace / "module/first.py").read_text() == "content\n"
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in own} == own
