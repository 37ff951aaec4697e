"""A repository with hostile settings: none of its programs run, and bytes come back unchanged."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentnb.changes.store import ChangeStore
from agentnb.errors import ChangesUnavailable
from tests.unit.changes.conftest import is_sensitive

ATTRIBUTES = """\
* text=auto eol=crlf ident filter=evil diff=evil merge=evil
*.utf16 working-tree-encoding=UTF-16
"""


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    """A file that exists only if a program of the repository ran."""
    return tmp_path / "it ran"


@pytest.fixture
def repository(workspace: Path, witness: Path) -> Path:
    """A repository in which every setting for a program names one that leaves a trace."""
    program = workspace / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch '{witness}'\ncat\n")
    program.chmod(0o755)
    git = ["git", "-C", os.fspath(workspace)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    settings: dict[str, str | Path] = {
        "core.fsmonitor": program,
        "core.hooksPath": workspace / "hooks",
        "core.attributesFile": workspace / "attributes",
        "core.sshCommand": program,
        "core.pager": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.process": program,
        "filter.evil.required": "true",
        "diff.evil.command": program,
        "diff.evil.textconv": program,
        "diff.external": program,
        "core.autocrlf": "true",
        "core.safecrlf": "true",
    }
    for name, value in settings.items():
        subprocess.run([*git, "config", name, os.fspath(value)], check=True)
    (workspace / ".gitattributes").write_text(ATTRIBUTES)
    for folder in (workspace / "hooks", workspace / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):
            (folder / hook).write_text(program.read_text())
            (folder / hook).chmod(0o755)
    return workspace


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Returns all files of a repository's own data, with their times."""
    return {
        os.fspath(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_snapshot_runs_no_program_of_a_hostile_repository(
    repository: Path, tmp_path: Path, witness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither through its settings nor through the kernel's environment variables."""
    environment: dict[str, str | Path] = {
        "GIT_DIR": repository / ".git",
        "GIT_INDEX_FILE": repository / ".git/index",
        "GIT_EXTERNAL_DIFF": repository / "evil.sh",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": repository / "evil.sh",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, os.fspath(value))
    contents = {
        "crlf.txt": b"one\r\ntwo\n$Id$\r\n",
        "lf.txt": b"one\ntwo",
        "binary": bytes(range(256)),
        "x.utf16": "\ufeffhello\n".encode("utf-16-le"),
        ".gitattributes": ATTRIBUTES.encode(),
    }
    for name, content in contents.items():
        (repository / name).write_bytes(content)
    own = state(repository / ".git")
    store = ChangeStore(tmp_path / "store", repository, is_sensitive=is_sensitive, engine="git")
    before = store.take()
    for name in contents:
        (repository / name).write_bytes(b"other\n")
    changes = store.changes(before, store.take())
    assert {each.path for each in changes} == set(contents)
    for each in changes:
        assert each.before is not None
        assert store.content(each.before) == contents[each.path]
        store.diff(each)
    store.apply([step for each in changes for step in each.backward])
    store.prune([])
    assert {name: (repository / name).read_bytes() for name in contents} == contents
    assert state(repository / ".git") == own
    assert not witness.exists()


def test_a_workspace_of_another_owner_is_covered(tmp_path: Path, workspace: Path) -> None:
    """``safe.directory`` applies to repositories that git finds; ours is given by path."""
    subprocess.run(["git", "init", "--quiet", os.fspath(workspace)], check=True)
    if os.geteuid() == 0:
        os.chown(workspace, 12345, 12345)
        os.chown(workspace / ".git", 12345, 12345)
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=is_sensitive, engine="git")
    before = store.take()
    (workspace / "a").write_text("a")
    assert [each.path for each in store.changes(before, store.take())] == ["a"]


def test_git_program_in_the_workspace_is_not_run(
    tmp_path: Path, workspace: Path, witness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have written it."""
    program = workspace / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{witness}'\necho git version 2.99.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(program.parent))
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=is_sensitive)
    store.take()
    assert (store.engine, witness.exists()) == ("copy", False)


@pytest.mark.parametrize("version", ["git version 2.29.9", "git version two", ""])
def test_too_old_git_is_not_used(
    tmp_path: Path, workspace: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain copy replaces it."""
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(program.parent))
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=is_sensitive)
    assert store.engine == "copy"


def test_links_and_loops_do_not_lead_out_of_the_workspace(tmp_path: Path, workspace: Path) -> None:
    """A link to a folder is a link: files behind it are not covered."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (workspace / "out").symlink_to(outside)
    (workspace / "loop").symlink_to(workspace)
    (workspace / ".gitignore").symlink_to(outside / "secret")
    for engine in ("git", "copy"):
        store = ChangeStore(tmp_path / engine, workspace, is_sensitive=is_sensitive, engine=engine)
        before = store.take()
        (workspace / "out").unlink()
        changes = store.changes(before, store.take())
        assert [(each.path, each.status) for each in changes] == [("out", "deleted")]
        store.apply(changes[0].backward)
        assert (workspace / "out").readlink() == outside


@pytest.mark.parametrize(
    ("ends", "message"),
    [("kill -9 $$", "stopped by signal 9"), ("echo 'fatal: Input/output error' >&2; exit 128", "Input/output")],
)
def test_failed_git_does_not_damage_the_store(
    tmp_path: Path, workspace: Path, ends: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier snapshots stay, and the next one works."""
    ending = tmp_path / "ending"
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    real = shutil.which("git")
    program.write_text(f"#!/bin/sh\nif [ -e '{ending}' ]; then {ends}; fi\nexec '{real}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    store = ChangeStore(tmp_path / "store", workspace, is_sensitive=is_sensitive, engine="git")
    before = store.take()
    ending.touch()
    (workspace / "a").write_text("a")
    with pytest.raises(ChangesUnavailable, match=message):
        store.take()
    ending.unlink()
    after = store.take()
    assert ([each.path for each in store.changes(before, after)], after.notes) == (["a"], ())
