"""A repository with hostile settings: none of its programs run, and bytes come back unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import ChangesError, Session, Turn
from tests.unit.api.conftest import AGENTS, PATIENCE

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


@pytest.fixture
def start(workspace: Path) -> Iterator[Callable[[], Session]]:
    """Starts sessions with the agent that writes files, in the workspace."""
    sessions: list[Session] = []

    def begin() -> Session:
        sessions.append(agentnb.start(command=[sys.executable, str(AGENTS / "writes_files.py")], cwd=workspace))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def does(session: Session, *steps: list[Any]) -> Turn:
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


def test_snapshot_runs_no_program_of_a_hostile_repository(
    repository: Path, witness: Path, start: Callable[[], Session], monkeypatch: pytest.MonkeyPatch
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
    turn = does(start(), *(["write", name, "other\n"] for name in contents))
    assert {each.name for each in turn.changes} == set(contents)
    assert [each.name for each in turn.changes if "+other" not in each.diff and "Binary" not in each.diff] == []
    turn.undo()
    assert {name: (repository / name).read_bytes() for name in contents} == contents
    assert state(repository / ".git") == own
    assert not witness.exists()


def test_a_workspace_of_another_owner_is_covered(workspace: Path, start: Callable[[], Session]) -> None:
    """``safe.directory`` applies to repositories that git finds; ours is given by path."""
    subprocess.run(["git", "init", "--quiet", os.fspath(workspace)], check=True)
    if os.geteuid() == 0:
        os.chown(workspace, 12345, 12345)
        os.chown(workspace / ".git", 12345, 12345)
    assert [each.name for each in does(start(), ["write", "a", "a"]).changes] == ["a"]


@pytest.mark.parametrize("version", ["2.99.0 in the workspace", "2.29.9", "two", ""])
def test_untrusted_or_old_git_is_not_used(
    tmp_path: Path, workspace: Path, start: Callable[[], Session], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have written the one in the workspace; the plain copy replaces it."""
    program = (workspace if "workspace" in version else tmp_path) / "bin/git"
    program.parent.mkdir()
    runs = tmp_path / "runs"
    program.write_text(f"#!/bin/sh\necho \"$*\" >> '{runs}'\necho git version {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(program.parent))
    turn = does(start(), ["write", "a", "a"])
    assert [each.name for each in turn.changes] == ["a"]
    turn.undo()
    assert not (workspace / "a").exists()
    told = runs.read_text().splitlines() if runs.exists() else []
    assert {*told} == (set() if "workspace" in version else {"--version"})


@pytest.mark.parametrize("git", [True, False])
def test_links_and_loops_do_not_lead_out_of_the_workspace(
    *, tmp_path: Path, workspace: Path, start: Callable[[], Session], git: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to a folder is a link: files behind it are not covered."""
    if not git:
        monkeypatch.setenv("PATH", os.fspath(tmp_path))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (workspace / "out").symlink_to(outside)
    (workspace / "loop").symlink_to(workspace)
    (workspace / ".gitignore").symlink_to(outside / "secret")
    turn = does(start(), ["delete", "out"])
    assert [(each.name, each.status) for each in turn.changes] == [("out", "deleted")]
    turn.undo()
    assert (workspace / "out").readlink() == outside


@pytest.mark.parametrize(
    ("ends", "message"),
    [("kill -9 $$", "stopped by signal 9"), ("echo 'fatal: Input/output error' >&2; exit 128", "Input/output")],
    ids=["killed", "fails"],
)
def test_failed_git_does_not_damage_the_store(
    *,
    tmp_path: Path,
    workspace: Path,
    start: Callable[[], Session],
    ends: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The turn says why its changes are unknown; those before can be undone, and the next one's are known."""
    ending, program = tmp_path / "ending", tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nif [ -e '{ending}' ]; then {ends}; fi\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (workspace / "a").write_text("before")
    session = start()
    first = does(session, ["write", "a", "first"])
    ending.touch()
    with pytest.raises(ChangesError, match=message):
        _ = does(session, ["write", "b", "b"]).changes
    ending.unlink()
    third = does(session, ["write", "c", "c"])
    assert [each.name for each in third.changes] == ["c"]
    first.undo()
    assert (workspace / "a").read_text() == "before"
