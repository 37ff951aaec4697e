"""``turn.changes``, undo, redo and keep, with an agent that writes files by itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session, Turn
from agentnb.errors import ChangesError, FilesConflict, SessionError, UsageError
from agentnb.state import TurnChanges
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.forked import run_agentnb, run_script

Start = Callable[..., Session]


def does(session: Session, *steps: list[Any]) -> Turn:
    """Returns a turn after the agent did *steps*."""
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def numbers(turn: Turn) -> TurnChanges:
    """Returns the turn's changes from the chat's state."""
    assert turn.changes is not None
    known = getattr(turn.snapshot, "changes", None)
    assert isinstance(known, TurnChanges)
    return known


@pytest.fixture
def session(start: Start) -> Session:
    """A session with an agent that writes files directly."""
    return start("writes_files")


def test_turn_lists_the_files_its_agent_changed_directly(session: Session, tmp_path: Path) -> None:
    """However the agent changes files; who did it, if known; a command may have had other effects.

    The chat's state has the numbers, and `turn.files` the same files in its own words.
    """
    (tmp_path / "fit.py").write_text("a\nb\n")
    (tmp_path / "old.csv").write_text("1,2\n" * 20)
    (tmp_path / "gone.txt").write_text("x")
    turn = does(
        session,
        ["write", "fit.py", "a\nc\nd\n"],
        ["claim", "fit.py"],
        ["write", "out/new.txt", "n\n"],
        ["move", "old.csv", "data.csv"],
        ["delete", "gone.txt"],
        ["run"],
    )
    (tmp_path / "user.txt").write_text("after the turn")
    rows = [
        (each.kind, each.name, each.was, each.status, each.added, each.removed, each.by, each.undoable)
        for each in turn.changes
    ]
    assert rows == [
        ("file", "data.csv", "old.csv", "moved", 0, 0, ("during",), True),
        ("file", "fit.py", None, "changed", 2, 1, ("toolCall",), True),
        ("file", "gone.txt", None, "deleted", 0, 1, ("during",), True),
        ("file", "out/new.txt", None, "added", 1, 0, ("during",), True),
    ]
    assert "-b\n+c\n+d\n" in turn.changes[1].diff
    assert [note for note in turn.changes.notes if "Commands ran" in note] != []
    known = numbers(turn)
    assert (known.status, known.files, known.added, known.removed, known.undoable) == ("ready", 4, 3, 2, 4)
    assert [tuple(each[:4]) for each in turn.files if each.path in ("fit.py", "out/new.txt")] == [
        ("fit.py", "changed", 2, 1),
        ("out/new.txt", "created", 1, 0),
    ]
    assert turn.files[1].diff == turn.changes[1].diff


def test_turn_reports_that_nothing_changed(session: Session) -> None:
    """The state has zeros."""
    turn = does(session)
    assert (repr(turn.changes), numbers(turn)) == ("Nothing was changed.", TurnChanges(status="ready", undoable=0))


def test_undo_and_redo_restore_all_changes_of_a_turn(session: Session, tmp_path: Path) -> None:
    """Written, new, moved and deleted files: one alone, all, and back."""
    (tmp_path / "fit.py").write_text("a\n")
    (tmp_path / "old.csv").write_text("1,2\n" * 20)
    (tmp_path / "gone.txt").write_text("x")
    before = files(tmp_path)
    turn = does(
        session,
        ["write", "fit.py", "b\n"],
        ["write", "out/new.txt", "n\n"],
        ["move", "old.csv", "data.csv"],
        ["delete", "gone.txt"],
    )
    after = files(tmp_path)
    assert [each.name for each in turn.undo("fit.py")] == ["fit.py"]
    assert files(tmp_path) == {**after, "fit.py": "a\n"}
    assert (numbers(turn).undone, numbers(turn).undoable) == (1, 3)
    assert len(turn.undo()) == 3
    assert files(tmp_path) == before
    assert not (tmp_path / "out").exists()
    assert {each.state for each in turn.changes} == {"undone"}
    assert repr(turn.undo()) == "Nothing was changed.\nThere is nothing to undo."
    assert len(turn.redo()) == 4
    assert files(tmp_path) == after
    assert {each.state for each in turn.changes} == {"open"}


def test_undo_conflict_changes_nothing_until_the_user_chooses(session: Session, tmp_path: Path) -> None:
    """Nor does the other file change; *mine* keeps the file, *theirs* takes the undone version."""
    (tmp_path / "a.txt").write_text("one\n")
    turn = does(session, ["write", "a.txt", "two\n"], ["write", "b.txt", "new\n"])
    (tmp_path / "a.txt").write_text("mine\n")
    with pytest.raises(FilesConflict) as caught:
        turn.undo()
    assert [each.path for each in caught.value.conflicts] == ["a.txt"]
    assert files(tmp_path) == {"a.txt": "mine\n", "b.txt": "new\n"}
    assert [each.name for each in turn.undo(choices={"a.txt": "mine"})] == ["b.txt"]
    assert (files(tmp_path), [each.state for each in turn.changes]) == ({"a.txt": "mine\n"}, ["open", "undone"])
    turn.undo(choices={"a.txt": "theirs"})
    assert files(tmp_path) == {"a.txt": "one\n"}
    turn.redo("a.txt")
    assert files(tmp_path) == {"a.txt": "mine\n"}


def test_undo_onwards_undoes_later_turns_and_keeps_user_edits(session: Session, tmp_path: Path) -> None:
    """It goes back to before this message."""
    lines = [f"line {number}\n" for number in range(20)]
    (tmp_path / "fit.py").write_text("".join(lines))
    does(session, ["write", "first.txt", "1"])
    second = does(session, ["write", "fit.py", "".join(["agent\n", *lines[1:]])])
    (tmp_path / "fit.py").write_text("".join(["agent\n", *lines[1:-1], "user\n"]))
    does(session, ["write", "fit.py", "".join(["again\n", *lines[1:-1], "user\n"])], ["write", "third.txt", "3"])
    after = files(tmp_path)
    assert len(second.undo(onwards=True)) == 3
    assert files(tmp_path) == {"first.txt": "1", "fit.py": "".join([*lines[:-1], "user\n"])}
    assert len(session.redo()) == 3
    assert files(tmp_path) == after
    assert len(session.undo()) == 4
    assert files(tmp_path) == {"fit.py": "".join([*lines[:-1], "user\n"])}


def test_session_changes_list_each_file_once(session: Session, tmp_path: Path) -> None:
    """From before the first turn to after the last; unchanged files are left out."""
    (tmp_path / "a.txt").write_text("1\n")
    does(session, ["write", "a.txt", "2\n"], ["write", "b.txt", "b\n"], ["write", "c.txt", "c\n"])
    does(session, ["write", "a.txt", "3\n"], ["delete", "b.txt"], ["move", "c.txt", "d.txt"])
    rows = {each.name: each.status for each in session.changes}
    assert rows == {"a.txt": "changed", "d.txt": "added"}
    diff = session.changes[0].diff
    assert "-1\n+3\n" in diff
    with pytest.warns(DeprecationWarning, match="property"):  # it was a method in 0.2
        assert diff() == diff  # type: ignore[operator]


def test_undo_skips_a_kept_change(session: Session, tmp_path: Path) -> None:
    """Unless the call names it."""
    turn = does(session, ["write", "a.txt", "a"], ["write", "b.txt", "b"])
    assert [each.name for each in turn.keep("a.txt")] == ["a.txt"]
    assert (numbers(turn).kept, [each.name for each in turn.undo()]) == (1, ["b.txt"])
    assert files(tmp_path) == {"a.txt": "a"}
    turn.undo("a.txt")
    assert files(tmp_path) == {}


def test_undo_fails_while_a_turn_runs_in_the_workspace(start: Start, tmp_path: Path) -> None:
    """Also if the turn runs in another tab."""
    pipe = tmp_path.parent / f"{tmp_path.name}.pipe"
    os.mkfifo(pipe)
    first, second = start("writes_files"), start("writes_files")
    turn = does(first, ["write", "a.txt", "a"])
    running = second.prompt(json.dumps([["wait", str(pipe)]]))
    with pipe.open("wb"), pytest.raises(SessionError, match="runs in this workspace"):
        turn.undo()
    running.wait(PATIENCE)
    assert len(turn.undo()) == 1


def test_changes_are_unknown_until_the_turn_ends(session: Session, tmp_path: Path) -> None:
    """While it runs and while it waits; the conversation's table has the changes of earlier turns."""
    pipe = tmp_path.parent / f"{tmp_path.name}.pipe"
    os.mkfifo(pipe)
    does(session, ["write", "a.txt", "a"])
    running = session.prompt(json.dumps([["write", "b.txt", "b"], ["wait", str(pipe)]]))
    waiting = session.prompt(json.dumps([["write", "c.txt", "c"]]))
    with pipe.open("wb"):
        assert (len(running.changes), running.changes.is_known) == (0, False)
        assert repr(running.changes) == "The turn is still running. Its changes are known when it ends."
        assert running.changes._repr_html_() == f"<p>{running.changes!r}</p>"
        assert repr(waiting.changes) == "The turn is waiting in the queue and has not started."
        assert ([each.name for each in session.changes], session.changes.is_known) == (["a.txt"], False)
        assert repr(session.changes).endswith("\nA turn is still running, so its changes are not in this table yet.")
        for turn in (running, waiting):
            with pytest.raises(SessionError, match="not known yet"):
                turn.keep()
    waiting.wait(PATIENCE)
    assert [[each.name for each in turn.changes] for turn in (running, waiting)] == [["b.txt"], ["c.txt"]]
    assert (running.changes.is_known, session.changes.is_known) == (True, True)


def test_changes_include_those_of_another_tab_in_the_workspace(start: Start, tmp_path: Path) -> None:
    """Each turn shows the files of its own tool calls and of the other tab's."""
    pipe = tmp_path.parent / f"{tmp_path.name}.pipe"
    os.mkfifo(pipe)
    first, second = start("writes_files"), start("writes_files", env={"APART": "1"})  # each with its own process
    running = first.prompt(json.dumps([["write", "mine.txt", "1"], ["claim", "mine.txt"], ["wait", str(pipe)]]))
    with pipe.open("wb"):
        does(second, ["write", "theirs.txt", "2"], ["claim", "theirs.txt"])
    running.wait(PATIENCE)
    assert {each.name: each.by for each in running.changes} == {
        "mine.txt": ("toolCall",),
        "theirs.txt": ("otherTab",),
    }


def test_changed_secret_file_is_listed_but_cannot_be_undone(session: Session, tmp_path: Path, home: Path) -> None:
    (tmp_path / ".env").write_text("KEY=swordfish-1\n")
    turn = does(session, ["write", ".env", "KEY=swordfish-2\n"])
    (change,) = turn.changes
    assert (change.name, change.undoable, change.added) == (".env", False, None)
    assert change.reason == "The contents are not stored."
    with pytest.raises(ChangesError, match="not stored"):
        turn.undo(".env")
    assert numbers(turn).undoable == 0


def test_undo_rejects_wrong_arguments(session: Session) -> None:
    turn = does(session, ["write", "a.txt", "a"])
    calls: dict[str, Callable[[], object]] = {
        "'nothing.txt' was changed": lambda: turn.undo("nothing.txt"),
        "3 is not a change": lambda: turn.undo(3),  # type: ignore[arg-type]
        'Use "mine" or "theirs"': lambda: turn.undo(choices={"a.txt": "ours"}),  # type: ignore[dict-item]
    }
    for error, call in calls.items():
        with pytest.raises(UsageError, match=error):
            call()
    assert turn.changes[0].state == "open"


def test_changes_are_not_tracked_when_switched_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """``AGENTNB_CHANGES=off``."""
    monkeypatch.setenv("AGENTNB_CHANGES", "off")
    turn = does(start("writes_files"), ["write", "a.txt", "a"])
    assert (len(turn.changes), turn.changes.is_known) == (0, False)
    assert repr(turn.changes) == "The changes of this turn were not tracked."
    assert getattr(turn.snapshot, "changes", "none") is None
    with pytest.raises(ChangesError, match="AGENTNB_CHANGES"):
        turn.undo()


def test_changes_of_a_conversation_are_deleted_by_forget(tmp_path: Path) -> None:
    """A shell shows its turns with prompts and diffs until then."""
    command = [sys.executable, str(AGENTS / "writes_files.py")]
    with agentnb.start(command=command, cwd=tmp_path) as session:
        does(session, ["write", "a.txt", "swordfish\n"])
    shown = run_agentnb("changes", "--diff", session.tab_id[:8], AGENTNB_PLUGINS="export")
    assert shown.stdout.startswith('1. [["write", "a.txt"')
    assert "\n+swordfish" in shown.stdout
    agentnb.forget(session.tab_id)
    shown = run_agentnb("changes", session.tab_id[:8], AGENTNB_PLUGINS="export")
    assert (shown.returncode, "swordfish" in shown.stdout) == (1, False)


def test_forked_session_can_undo_the_same_turns(start: Start, tmp_path: Path) -> None:
    """Each conversation undoes its files independently."""
    session = start()
    session.permissions = "allow"
    session.prompt("/write a.txt new").wait(PATIENCE)
    copy = session.fork()
    try:
        assert [each.name for each in copy.turns[0].undo()] == ["a.txt"]
        assert files(tmp_path) == {}
        assert [each.state for each in session.changes] == ["open"]
    finally:
        copy.close()


MAGICS = """
import json, os, sys
import agentnb
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
session = agentnb.start(command=[sys.executable, sys.argv[1]])
shell.run_line_magic("agents", f"use {session.agent}")
first, _ = (session.prompt(json.dumps([["write", f"{name}.txt", name]])).wait(60) for name in "ab")

def agents(words):
    try:
        return shell.run_line_magic("agents", words)
    except agentnb.UsageError as error:
        return str(error)

print(repr(agents("changes")) == repr(session.changes))
for words in ("undo", "undo 1"):
    print(*(each.name for each in agents(words)), *sorted(os.listdir()))
print(agents("undo"))
for number in "03456789":  # even if a turn's random id begins with it
    print("It has 2 turns" in agents(f"redo {number}"))
for words in (f"redo {first.id}", "redo -1"):
    print(*(each.name for each in agents(words)), *sorted(os.listdir()))
"""


def test_magics_show_undo_and_redo_changes(tmp_path: Path) -> None:
    """By the turn's number or id; by default the last possible turn."""
    done = run_script(MAGICS, str(AGENTS / "writes_files.py"), cwd=tmp_path)
    same, last, first, nothing, *unknown, again, both = done.stdout.splitlines()
    assert (same, last, first, "has changes to undo" in nothing) == ("True", "b.txt a.txt", "a.txt", True), done.stderr
    assert (unknown, again, both) == (["True"] * 8, "a.txt a.txt", "b.txt a.txt b.txt")


def test_resumed_session_can_undo_and_redo_its_changes(tmp_path: Path) -> None:
    """The store keeps the changes."""
    command = [sys.executable, str(AGENTS / "writes_files.py")]
    with agentnb.start(command=command, cwd=tmp_path) as session:
        turn = does(session, ["write", "a.txt", "a"], ["write", "b.txt", "b"])
        turn.undo("b.txt")
        changes = repr(turn.changes)
    resumed = agentnb.resume(session.tab_id, command=command)
    try:
        (again,) = resumed.turns
        assert repr(again.changes) == changes
        again.redo()
        assert files(tmp_path) == {"a.txt": "a", "b.txt": "b"}
        resumed.undo()
        assert files(tmp_path) == {}
    finally:
        resumed.close()
