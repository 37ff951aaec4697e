"""agentnb's own files in a workspace: the log, the data folder, a cassette."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.agent.catalog import custom
from agentnb.host import Host
from agentnb.host.changes.own_files import OF_AGENTS, OwnFiles
from agentnb.host.changes.workspace_store import read_file_times
from agentnb.host.permissions.outcome import look
from agentnb.log.location import log_location
from tests.unit.api.conftest import AGENTS, PATIENCE


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture(params=["sessions.db", "./x.db", "data", "logs/"])
def own_host(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host that keeps its log, or all its data, under a relative path in the workspace."""
    monkeypatch.chdir(workspace)
    if request.param == "data":
        monkeypatch.setenv("AGENTNB_DATA_DIR", "./data")
        monkeypatch.delenv("AGENTNB_LOG", raising=False)
    else:
        monkeypatch.setenv("AGENTNB_LOG", request.param)
        monkeypatch.setenv("AGENTNB_DATA_DIR", str(workspace.parent / "data"))
    host = Host(log=log_location())
    yield host
    host.close()


def opened(host: Host, cwd: Path) -> Session:
    spec = custom([sys.executable, str(AGENTS / "writes_files.py")], name="writes_files")
    return Session(host.loop.call(lambda: host.open(spec, cwd=cwd)))


def does(session: Session, *steps: list[Any]) -> Turn:
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


def test_turn_changes_exclude_agentnbs_log_and_data(own_host: Host, workspace: Path) -> None:
    """Ignore files make no difference."""
    (workspace / ".gitignore").write_text("!*.db\n!data\n")
    session = opened(own_host, workspace)
    first = does(session, ["write", "data/mine.csv", "1\n"], ["write", "x.db.txt", "t\n"])
    assert own_host.recorder is not None
    assert own_host.recorder.flush(PATIENCE)
    quiet = does(session)
    assert [each.name for each in first.changes] == ["data/mine.csv", "x.db.txt"]
    assert list(quiet.changes) == []
    assert [each.name for each in session.changes] == ["data/mine.csv", "x.db.txt"]
    times = read_file_times(workspace, (), own_host.stores.own.of(workspace).has)
    assert times is not None
    assert {*times.entries} - {"data", "logs"} == {".gitignore", "data/mine.csv", "x.db.txt"}
    session.undo()
    assert not (workspace / "data/mine.csv").exists()
    assert not (workspace / "x.db.txt").exists()
    session.redo()
    assert (workspace / "data/mine.csv").read_text() == "1\n"


def test_cassette_is_an_own_file_only_while_recording(workspace: Path) -> None:
    """Also its backup and the files beside it; afterwards it is a user's file, and undo covers it."""
    recorded: list[Path | None] = [workspace / "fit.cassette.jsonl"]
    own = OwnFiles(None, cassette=lambda: recorded[0], environ={"AGENTNB_DATA_DIR": "/nowhere"}).of(workspace)
    names = ["fit.cassette.jsonl", "fit.cassette.files/0a", "fit.ipynb", "a/fit.cassette.jsonl"]
    while_recorded = [own.has(each) for each in names]
    recorded[0] = None
    assert (while_recorded, [own.has(each) for each in names]) == ([True, True, False, False], [False] * 4)
    assert own.lines == OF_AGENTS


def test_preview_leaves_out_own_files_unless_named(workspace: Path) -> None:
    """Also in a folder that is reached by a link."""
    own = OwnFiles(workspace / "x.db", environ={"AGENTNB_DATA_DIR": os.fspath(workspace / "data")})
    for name in ("x.db", "x.db-wal", "mine.csv", "data/changes/a", "data/mine.csv"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("1")
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    seen = look(os.fspath(link), [f"{link}/x.db"], own.of(link).has).seen
    assert {os.path.relpath(each, link) for each in seen} == {"mine.csv", "data/mine.csv", "x.db"}


def test_fast_agent_memory_is_not_a_change_of_a_turn(host: Host, workspace: Path) -> None:
    """Undo would erase the memory; and as each turn writes it, undo of an earlier turn would conflict."""
    session = opened(host, workspace)
    memory = ".fast-agent/sessions/s1/history.json"
    first = does(session, ["write", memory, "1"], ["write", "a.txt", "1\n"])
    does(session, ["write", memory, "2"])
    assert [change.name for change in first.changes] == ["a.txt"]
    first.undo()
    assert ((workspace / memory).read_text(), (workspace / "a.txt").exists()) == ("2", False)
