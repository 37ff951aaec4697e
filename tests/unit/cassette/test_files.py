"""Files that an agent writes by itself: the cassette has them, and a replay writes them again."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.errors import CassetteBroken, CassetteMismatch
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.cassette.conversation import lines, turns, with_agent, write_lines
from tests.unit.command_line import run_here

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9" * 2
"""Looks like a credential but is not one."""


AGENT = str(AGENTS / "writes_files.py")
"""Writes files by itself."""


def recorded_by_proxy(path: Path, work: Path) -> AbstractContextManager[Session]:
    """Opens a session with the agent behind ``agentnb record``; the client itself records nothing."""
    words = ["-m", "agentnb", "record", "--name", "writes_files", str(path), "--", sys.executable, AGENT]
    return with_agent(words, work)


def does(session: Session, *steps: list[Any]) -> Turn:
    """Runs a turn with *steps* and waits for its changes."""
    turn = session.prompt(json.dumps(steps)).wait(PATIENCE)
    _ = turn.changes  # compares and records the files
    return turn


def record(path: Path, work: Path, *turns: list[list[Any]]) -> list[list[tuple[str, str]]]:
    """Records *turns*; returns their changes."""
    with with_agent([AGENT], work, path, "record") as session:
        return [[(each.name, each.status) for each in does(session, *steps).changes] for steps in turns]


def play(path: Path, work: Path, *turns: list[list[Any]]) -> list[list[tuple[str, str]]]:
    """Replays *turns*; returns their changes."""
    with with_agent([AGENT], work, path, "replay") as session:
        return [[(each.name, each.status) for each in does(session, *steps).changes] for steps in turns]


def tree(work: Path) -> dict[str, tuple[str, str | bytes]]:
    """Returns all of a folder."""
    entries: dict[str, tuple[str, str | bytes]] = {}
    for each in sorted(work.rglob("*")):
        name = str(each.relative_to(work))
        if each.is_symlink():
            entries[name] = ("link", str(each.readlink()))
        elif each.is_dir():
            entries[name] = ("folder", "")
        else:
            entries[name] = ("executable" if each.stat().st_mode & 0o100 else "file", each.read_bytes())
    return entries


def files(path: Path) -> list[dict[str, Any]]:
    """Returns a cassette's file lines."""
    return [line for line in lines(path) if "file" in line]


def begun(work: Path) -> None:
    """Makes the workspace for a recording."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "notes.txt").write_text("one\ntwo\nthree\n")
    (work / "old.txt").write_text("goes\n")
    (work / "table.csv").write_text("a,b\n1,2\n" * 20)
    (work / "in").mkdir()
    (work / "in/only.txt").write_text("leaves its folder empty\n")
    (work / "run.sh").write_text("echo\n")
    (work / "tool.txt").write_text("#!/bin/sh\necho tool\n")


STEPS: list[list[Any]] = [
    ["write", "notes.txt", "one\n2\nthree\n"],
    ["write", "sub/deep/new.txt", "né\r\nw\n"],
    ["write", "empty.txt", ""],
    ["write", "data.bin", "\x00\udcff\udcfe"],
    ["delete", "old.txt"],
    ["move", "table.csv", "kept.csv"],
    ["executable", "run.sh"],
    ["link", "latest", "sub/deep/new.txt"],
    ["folder", "out"],
    ["move", "in/only.txt", "only.txt"],
    ["move", "tool.txt", "tool.sh"],
    ["executable", "tool.sh"],
]


def test_replay_writes_the_files_that_the_agent_wrote(tmp_path: Path) -> None:
    """New, changed, deleted, moved and binary files, links, modes and empty folders; in another folder."""
    path, work, other = tmp_path / "a.cassette.jsonl", tmp_path / "work", tmp_path / "other"
    begun(work)
    changed = record(path, work, STEPS, [["write", "notes.txt", "last\n"]])
    begun(other)
    assert play(path, other, STEPS, [["write", "notes.txt", "last\n"]]) == changed
    assert tree(other) == tree(work)
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "a,b" not in json.dumps(next(line for line in files(path) if line["file"] == "kept.csv")["after"])
    assert "File notes.txt: changed\n" in run_here("show", str(path)).stdout


def test_replay_can_run_again_in_the_same_folder(tmp_path: Path) -> None:
    """Files of the recording itself cause no mismatch."""
    path, work = tmp_path / "a.cassette.jsonl", tmp_path / "work"
    turns: list[list[list[Any]]] = [
        [["write", "a.txt", "1\n"], ["write", "b.txt", "to be moved\n" * 9]],
        [["write", "a.txt", "2\n"], ["move", "b.txt", "c.txt"], ["executable", "c.txt"]],
        [["delete", "a.txt"]],
    ]
    record(path, work, *turns)
    assert [line.get("was") for line in files(path)] == [None, None, None, "b.txt", None]
    play(path, work, *turns[:2])
    play(path, work, *turns)
    assert tree(work) == {"c.txt": ("executable", b"to be moved\n" * 9)}


def test_second_recording_of_files_has_the_same_bytes(tmp_path: Path) -> None:
    """A mark replaces the workspace's path in a file, so the folder makes no difference."""
    path = tmp_path / "a.cassette.jsonl"
    begun(tmp_path / "work")
    record(path, tmp_path / "work", STEPS)
    data = path.read_bytes()
    begun(tmp_path / "other")
    record(path, tmp_path / "other", STEPS)
    assert path.read_bytes() == data


def test_turn_without_file_changes_records_no_files(tmp_path: Path) -> None:
    """The cassette in the workspace and the notebook beside it are not recorded, either."""
    path = tmp_path / "work/a.cassette.jsonl"
    notebook = [["write", "a.ipynb", "{}"]]
    assert record(path, tmp_path / "work", [], [["claim", "a.txt"]], notebook) == [[], [], [("a.ipynb", "added")]]
    assert files(path) == []


def test_files_are_not_recorded_or_replayed_when_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`AGENTNB_CASSETTE_FILES=off`."""
    path, steps = tmp_path / "a.cassette.jsonl", [["write", "a.txt", "a\n"]]
    record(path, tmp_path / "work", steps)
    monkeypatch.setenv("AGENTNB_CASSETTE_FILES", "off")
    assert play(path, tmp_path / "other", steps) == [[]]
    record(tmp_path / "b.cassette.jsonl", tmp_path / "third", steps)
    with recorded_by_proxy(tmp_path / "c.cassette.jsonl", tmp_path / "fourth") as session:
        does(session, *steps)
    for name in "bc":
        path = tmp_path / f"{name}.cassette.jsonl"
        assert (files(path), turns(path)) == ([], 1)


def test_replay_fails_with_a_diff_when_a_file_differs(tmp_path: Path) -> None:
    """The error says what, where and what to do."""
    path, work = tmp_path / "a.cassette.jsonl", tmp_path / "work"
    begun(work)
    record(path, work, STEPS)
    begun(work)
    (work / "notes.txt").write_text("one\ntwo\nmine\n")
    before = tree(work)
    with pytest.raises(CassetteMismatch) as caught:
        play(path, work, STEPS)
    message = str(caught.value)
    assert "notes.txt differs from what it was when this turn was recorded.\n--- recorded\n+++ today\n" in message
    assert "-three\n+mine\n" in message
    assert f"Restore these files in {work}" in message
    assert "AGENTNB_CASSETTE_MODE=record" in message
    assert tree(work) == before


def test_replay_does_not_overwrite_an_existing_new_file(tmp_path: Path) -> None:
    """The recorded content is fine; another content is a mismatch."""
    path, work, steps = tmp_path / "a.cassette.jsonl", tmp_path / "work", [["write", "a.txt", "On 2026-11-21: a\n"]]
    record(path, work, steps)
    (work / "a.txt").write_text("On 2026-11-22: a\n")
    play(path, work, steps)
    assert (work / "a.txt").read_text() == "On 2026-11-22: a\n"
    (work / "a.txt").write_text("mine\n")
    with pytest.raises(CassetteMismatch, match=r"a\.txt exists, but did not exist when this turn was recorded"):
        play(path, work, steps)
    assert (work / "a.txt").read_text() == "mine\n"


def test_files_written_by_the_client_are_not_recorded(tmp_path: Path) -> None:
    """The request is sent again; a later change by the agent itself is recorded."""
    path = tmp_path / "a.cassette.jsonl"
    steps = [["ask", "a.txt", "one\n"], ["ask", "b.txt", "one\n"], ["write", "b.txt", "one\ntwo\n"]]
    changed = record(path, tmp_path / "work", steps)
    assert [line["file"] for line in files(path)] == ["b.txt"]
    assert play(path, tmp_path / "other", steps) == changed
    assert tree(tmp_path / "other") == tree(tmp_path / "work")


def test_replay_keeps_files_that_a_command_writes_again(tmp_path: Path) -> None:
    """Commands run again in a replay; the agent's other files come from the cassette."""
    path = tmp_path / "a.cassette.jsonl"
    steps = [["shell", "echo $$ > process.txt; echo same > same.txt"], ["write", "own.txt", "own\n"]]
    record(path, tmp_path / "work", steps)
    play(path, tmp_path / "other", steps)
    then, now = tree(tmp_path / "work"), tree(tmp_path / "other")
    assert {name for name in then if then[name] == now[name]} == {"own.txt", "same.txt"}
    assert then.keys() == now.keys()


def test_replay_with_a_command_does_not_overwrite_user_files(tmp_path: Path) -> None:
    """Today's command did not change it."""
    path = tmp_path / "a.cassette.jsonl"
    steps = [["shell", "true"], ["write", "own.txt", "own\n"]]
    record(path, tmp_path / "work", steps)
    (tmp_path / "work/own.txt").write_text("mine\n")
    with pytest.raises(CassetteMismatch, match=r"own\.txt exists, but did not exist before this turn was recorded"):
        play(path, tmp_path / "work", steps)
    assert (tmp_path / "work/own.txt").read_text() == "mine\n"


def test_credentials_in_written_files_are_not_recorded(tmp_path: Path) -> None:
    """A text has a mask; contents of a binary or sensitive file are not stored."""
    path, work = tmp_path / "a.cassette.jsonl", tmp_path / "work"
    steps: list[list[Any]] = [
        ["write", "a.ini", f"token = {TOKEN}\nuser = ada\n"],
        ["write", "b.bin", f"\udcff {TOKEN} "],
        ["repeat", ".env", "plainword ", 2],
    ]
    record(path, work, steps)
    text = path.read_text(encoding="utf-8")
    assert (TOKEN in text, "plainword plainword" in text) == (False, False)
    assert [line["after"].get("missing") for line in files(path)] == ["sensitive", None, "credential"]
    with pytest.raises(CassetteMismatch, match=r"\.env is missing, and cannot be written: it may hold secrets"):
        play(path, tmp_path / "other", steps)
    assert tree(tmp_path / "other") == {}
    (tmp_path / "other/.env").write_text("PASSWORD=other\n")
    (tmp_path / "other/b.bin").write_bytes(b"\0")
    play(path, tmp_path / "other", steps)
    assert (tmp_path / "other/a.ini").read_text() == "token = ***\nuser = ada\n"
    assert (tmp_path / "other/.env").read_text() == "PASSWORD=other\n"


def test_large_file_contents_are_stored_separately_or_omitted(tmp_path: Path) -> None:
    """A file over the limit is only listed; without it, a replay is a mismatch."""
    path, work = tmp_path / "a.cassette.jsonl", tmp_path / "work"
    steps = [["repeat", "large.txt", "line\n", 10_000], ["repeat", "huge.txt", "x", 5 * 1024**2]]
    record(path, work, steps)
    assert len(path.read_bytes()) < 10_000
    assert len(list((tmp_path / "a.cassette.files").iterdir())) == 1
    with pytest.raises(CassetteMismatch, match=r"huge\.txt is missing.*too large for the cassette"):
        play(path, tmp_path / "other", steps)
    (tmp_path / "other/huge.txt").write_text("y")
    play(path, tmp_path / "other", steps)
    assert (tmp_path / "other/large.txt").read_text() == "line\n" * 10_000


@pytest.fixture(scope="module")
def recorded_turn(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Returns the lines of a recording of one turn without changes."""
    folder = tmp_path_factory.mktemp("recorded")
    record(folder / "a.cassette.jsonl", folder / "work", [])
    return lines(folder / "a.cassette.jsonl")


@pytest.fixture
def hostile(recorded_turn: list[dict[str, Any]], tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes a cassette whose turn has a file of this line."""

    def written(row: dict[str, Any]) -> Path:
        *before, last = recorded_turn
        pace = [before.pop()] if "pace" in before[-1] else []
        write_lines(tmp_path / "a.cassette.jsonl", [*before, row, *pace, last])
        return tmp_path / "a.cassette.jsonl"

    return written


LINKS = [
    ({"file": "way/x", "after": {"text": "x"}}, "way is not a folder, but a file or a link"),
    ({"file": "a", "after": {"mode": "link", "text": "/etc/passwd"}}, "leads out of the workspace"),
    ({"file": "d/a", "after": {"mode": "link", "text": "../../outside/x"}}, "leads out of the workspace"),
]


@pytest.mark.parametrize(("recorded", "message"), LINKS)
def test_hostile_cassette_cannot_write_through_a_link(
    hostile: Callable[[dict[str, Any]], Path], tmp_path: Path, recorded: dict[str, Any], message: str
) -> None:
    """Neither through an existing link nor through its own."""
    path, work, outside = hostile(recorded), tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "there").write_text("safe\n")
    (work / "way").symlink_to(outside)
    with pytest.raises((CassetteBroken, CassetteMismatch), match=message):
        play(path, work, [])
    assert tree(outside) == {"there": ("file", b"safe\n")}
    assert tree(work) == {"way": ("link", str(outside))}


def test_hostile_cassette_cannot_delete_through_a_link(
    hostile: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    """The workspace has no such file."""
    path = hostile({"file": "way/there", "before": {"text": "safe\n"}})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/there").write_text("safe\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/way").symlink_to(tmp_path / "outside")
    play(path, tmp_path / "work", [])
    assert tree(tmp_path / "outside") == {"there": ("file", b"safe\n")}


def test_proxy_records_the_same_files_as_the_host(tmp_path: Path) -> None:
    """To the byte, without the cassette in the workspace; a replay writes them again."""
    last: list[list[Any]] = [
        ["write", "notes.txt", "last\n"],
        ["write", ".gitignore", "ignored\n"],
        ["write", "ignored", "1"],
        ["claim", "ignored"],
        ["write", ".env", f"TOKEN={TOKEN}\n"],
        ["ask", "asked.txt", "by the client\n"],
    ]
    host, proxy, again = tmp_path / "host", tmp_path / "proxy", tmp_path / "again"
    for each in (host, proxy, again):
        begun(each)
    changed = record(host / "a.cassette.jsonl", host, STEPS, last)
    path = proxy / "a.cassette.jsonl"
    with recorded_by_proxy(path, proxy) as session:
        for steps in (STEPS, last):
            does(session, *steps)
    assert files(path) == files(host / "a.cassette.jsonl")
    assert TOKEN not in path.read_text(encoding="utf-8")
    (again / ".env").write_text("KEY=mine\n")
    path = path.rename(tmp_path / "a.cassette.jsonl")
    assert [len(each) for each in play(path, again, STEPS, last)] == [len(changed[0]), len(changed[1]) - 1]
    written = {name: entry for name, entry in tree(proxy).items() if name != ".env"}
    assert {name: entry for name, entry in tree(again).items() if name != ".env"} == written
