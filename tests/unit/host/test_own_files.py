"""agentnb's own files in a workspace: the log, the data folder, a cassette."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.host.conftest import NewKernel, does
from tests.unit.host.kernels import Kernel


@pytest.mark.parametrize("log", ["sessions.db", "./x.db", "data/sessions.db", "logs/sessions.db"])
def test_turn_changes_exclude_agentnbs_log_and_data(
    new_kernel: NewKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """Kept under a relative path in the workspace; ignore files make no difference."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("AGENTNB_DATA_DIR", "./data" if log.startswith("data") else str(tmp_path / "data"))
    (workspace / ".gitignore").write_text("!*.db\n!data\n")
    kernel = new_kernel(workspace, log=Path(log))
    session = kernel.start("writes_files")
    first = does(session, ["write", "data/mine.csv", "1\n"], ["write", "x.db.txt", "t\n"])
    kernel.flush()
    quiet = does(session)
    assert [each.name for each in first.changes] == ["data/mine.csv", "x.db.txt"]
    assert list(quiet.changes) == []
    assert [each.name for each in session.changes] == ["data/mine.csv", "x.db.txt"]
    session.undo()
    assert not (workspace / "data/mine.csv").exists()
    assert not (workspace / "x.db.txt").exists()
    session.redo()
    assert (workspace / "data/mine.csv").read_text() == "1\n"
    kernel.close()  # here: the log's path is relative


def test_cassette_is_an_own_file_only_while_recording(kernel: Kernel, tmp_path: Path) -> None:
    """Also the files beside it; afterwards it is a user's file, and undo covers it."""
    writes = [["write", name, "{}\n"] for name in ("fit.cassette.jsonl", "fit.cassette.files/0a", "fit.ipynb")]
    with kernel.cassette(tmp_path / "fit.cassette.jsonl", "record"):
        session = kernel.start("writes_files")
        turn = does(session, *writes[1:])
        assert [each.name for each in turn.changes] == ["fit.ipynb"]
        session.close()
    turn = does(kernel.start("writes_files"), *writes[:1])
    assert [each.name for each in turn.changes] == ["fit.cassette.jsonl"]
    turn.undo()
    assert (tmp_path / "fit.cassette.jsonl").stat().st_size > 100


def test_fast_agent_memory_is_not_a_change_of_a_turn(kernel: Kernel, tmp_path: Path) -> None:
    """Undo would erase the memory; and as each turn writes it, undo of an earlier turn would conflict."""
    session = kernel.start("writes_files")
    memory = ".fast-agent/sessions/s1/history.json"
    first = does(session, ["write", memory, "1"], ["write", "a.txt", "1\n"])
    does(session, ["write", memory, "2"])
    assert [change.name for change in first.changes] == ["a.txt"]
    first.undo()
    assert ((tmp_path / memory).read_text(), (tmp_path / "a.txt").exists()) == ("2", False)
