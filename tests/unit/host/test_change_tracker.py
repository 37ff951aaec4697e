"""How turns are followed without git, without a store, and in a vanished, slow or large workspace."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.errors import ChangesError
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import NewKernel, Saved, does
from tests.unit.host.kernels import Kernel


def test_changes_are_tracked_when_git_is_missing(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (tmp_path / "a.txt").write_text("one\n")
    turn = does(kernel.start("writes_files"), ["write", "a.txt", "two\n"])
    assert [(each.name, each.status) for each in turn.changes] == [("a.txt", "changed")]
    turn.undo()
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_turn_completes_when_changes_cannot_be_stored(
    new_kernel: NewKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data folder is a file: the turn's changes are unknown; the state and Python say why."""
    (tmp_path / "data").write_text("a file")
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    session = new_kernel(tmp_path / "work").start("writes_files")
    turn = does(session, ["write", "a.txt", "a"])
    assert turn.text == "Done."
    known = session.chat.turns[0].changes
    assert known is not None
    assert (known.status, known.error is None) == ("error", False)
    with pytest.raises(ChangesError, match="data"):
        _ = turn.changes


@pytest.mark.parametrize("name", ["a\0b", "d/" * 3_000 + "x", "x" * 1_000_000, "\0"])
def test_changes_stay_known_after_an_impossible_file_name(kernel: Kernel, name: str) -> None:
    """Those of this turn and of later turns in the folder; no note has the name."""
    session = kernel.start("writes_files")
    first = does(session, ["claim", name], ["claim", f"/{name}"], ["write", "a.txt", "a"])
    assert [(each.name, each.status) for each in first.changes] == [("a.txt", "added")]
    known = session.chat.turns[0].changes
    assert known is not None
    assert not [each for each in known.notes or () if name[:50] in each]
    second = does(session, ["write", "a.txt", "b"])
    assert [(each.name, each.status) for each in second.changes] == [("a.txt", "changed")]


def test_changes_stay_known_after_hostile_tool_calls(kernel: Kernel) -> None:
    """The changes of these turns and of the next agent's in the same folder."""
    attackers = kernel.start("hostile")
    folder = AGENTS.parent / "cases" / "attacks"
    count = sum(len(json.loads(path.read_text(encoding="utf-8"))["messages"]) for path in folder.glob("*.json"))
    for start in range(0, count, 40):
        attackers.prompt(f"{start} {start + 40}").wait(PATIENCE, check=False)
    turn = does(kernel.start("writes_files"), ["write", "a.txt", "a"])
    assert [(each.name, each.status) for each in turn.changes] == [("a.txt", "added")]
    assert [each.changes.status for each in attackers.chat.turns if each.changes] == ["ready"] * (count // 40 + 1)


def test_changes_report_a_workspace_that_no_longer_exists(kernel: Kernel, tmp_path: Path) -> None:
    """The next turn fails as usual."""
    turn = does(kernel.start("writes_files"), ["vanish"])
    with pytest.raises(ChangesError, match="no longer exists"):
        _ = turn.changes
    tmp_path.mkdir()


@pytest.mark.parametrize(
    "case",
    [
        ("a", "", "a stays as it is, since you saved it meanwhile."),
        ("ab", "a", "a and b stay as they are, since you saved them meanwhile."),
        ("abcdef", "", "a, b, c and 3 more stay as they are, since you saved them meanwhile."),
    ],
)
def test_undo_leaves_files_that_the_user_saved_meanwhile(
    kernel: Kernel, tmp_path: Path, case: tuple[str, str, str]
) -> None:
    """Also a file that a tool call names; each can be undone by itself."""
    saved, claimed, stay = case
    kernel.attend()
    kernel.connect(editors=Saved(*(str(tmp_path.resolve() / name) for name in saved)))
    session = kernel.start("writes_files")
    steps = [["write", "agent.txt", "a\n"], *(["write", name, "u\n"] for name in saved)]
    turn = does(session, *steps, *(["claim", name] for name in claimed))
    expected = {name: ("toolCall", "user") if name in claimed else ("user",) for name in saved}
    assert {each.name: each.by for each in turn.changes} == {"agent.txt": ("during",), **expected}
    known = session.chat.turns[0].changes
    assert known is not None
    assert (known.files, known.undoable) == (1 + len(saved), 1)
    undone = turn.undo()
    assert ([each.name for each in undone], undone.notes) == (["agent.txt"], (f"1 file was undone. {stay}",))
    assert turn.undo().notes == (f"There is nothing to undo. {stay}",)
    assert sorted(path.name for path in tmp_path.iterdir()) == list(saved)
    assert [each.name for each in turn.undo(saved[0])] == [saved[0]]
    assert sorted(path.name for path in tmp_path.iterdir()) == list(saved[1:])


@pytest.mark.parametrize("claimed", [False, True])
def test_autosaved_file_is_no_change_unless_a_tool_call_names_it(kernel: Kernel, tmp_path: Path, claimed: bool) -> None:
    kernel.attend()
    kernel.connect(editors=Saved(str(tmp_path.resolve() / "fit.ipynb"), by_itself=True))
    steps = [["write", "fit.ipynb", "{}"], ["write", "agent.txt", "a"], *([["claim", "fit.ipynb"]] if claimed else [])]
    turn = does(kernel.start("writes_files"), *steps)
    assert [each.name for each in turn.changes] == ["agent.txt", *(["fit.ipynb"] if claimed else [])]


def test_cancelled_turn_includes_files_that_are_written_late(kernel: Kernel, tmp_path: Path) -> None:
    """Changes are collected when the agent has answered."""
    pipe = tmp_path.parent / f"{tmp_path.name}.pipe"
    os.mkfifo(pipe)
    session = kernel.start("writes_files")
    turn = session.prompt(json.dumps([["write", "a.txt", "a"], ["wait", str(pipe)], ["write", "late.txt", "l"]]))
    with pipe.open("wb"):
        turn.cancel()
    kernel.until(session, lambda: is_compared(session))
    assert [each.name for each in turn.changes] == ["a.txt", "late.txt"]


def is_compared(session: Session) -> bool:
    """True if the changes of the first turn are known."""
    turns = session.chat.turns
    known = turns[0].changes if turns else None
    return known is not None and known.status == "ready"


def test_change_store_drops_the_oldest_turns_above_its_limit(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest turns cannot be undone any more, and say so."""
    monkeypatch.setenv("AGENTNB_CHANGES_MAX", "1")
    (tmp_path / "a.txt").write_text("one\n")
    turn = does(kernel.start("writes_files"), ["write", "a.txt", "two\n"])
    assert [each.name for each in turn.changes] == ["a.txt"]
    with pytest.raises(ChangesError, match="no longer stored"):
        turn.undo()
    assert (tmp_path / "a.txt").read_text() == "two\n"


def test_ignored_file_can_be_undone_when_allowed_first(kernel: Kernel, tmp_path: Path) -> None:
    """The host reads it before the write, and again for a turn of another kernel."""
    kernel.attend()
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.csv").write_text("old\n")
    session = kernel.start("writes_files", mode="allow")
    turn = does(session, ["ask", "out/a.csv", "new\n"], ["ask", "out/b.csv", "new\n"])
    assert [(each.name, each.status, each.undoable) for each in turn.changes] == [
        ("out/a.csv", "changed", True),
        ("out/b.csv", "added", True),
    ]
    turn.undo()
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a.csv": "old\n"}
    turn.redo()
    assert (tmp_path / "out/a.csv").read_text() == "new\n"


def test_first_snapshot_does_not_block_the_first_prompt(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt sent meanwhile runs without it, and its turn says so."""
    for number in range(600):
        (tmp_path / f"f{number}").touch()
    beside = tmp_path.parent / f"{tmp_path.name} beside"
    beside.mkdir()
    pipe, program = beside / "pipe", beside / "git"
    os.mkfifo(pipe)
    waits = f"case \"$*\" in *update-index*) [ ! -p '{pipe}' ] || cat '{pipe}';; esac"
    program.write_text(f"#!/bin/sh\n{waits}\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{beside}:{os.environ['PATH']}")
    session = kernel.start("writes_files")
    with pipe.open("wb"):  # the snapshot has begun: git reads the pipe
        pipe.unlink()
        turn = does(session, ["write", "a.txt", "a"])
        assert (turn.done, turn.text) == (True, "Done.")
        assert not is_compared(session)
    assert [note for note in turn.changes.notes if note.startswith("The first snapshot took longer")] != []
    later = does(session, ["write", "b.txt", "b"])
    assert [(each.name, each.status) for each in later.changes] == [("b.txt", "added")]
