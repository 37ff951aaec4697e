"""Undo of a turn that changed files and variables: all of it, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb import Turn
from agentnb.errors import FilesConflict, KernelChangesConflict
from tests.unit.api.conftest import PATIENCE, KernelSettings
from tests.unit.host.conftest import changes_of
from tests.unit.host.talk import NewTalk, Talk, environment, host, new_talk, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "new_talk", "tools", "work"]  # the fixtures


@pytest.fixture
def talk(new_talk: NewTalk, tools: Tools) -> Talk:
    """A session with kernel access and permissions Allow."""
    return new_talk("allow", script="calls_kernel", kernel_tools=True, shell=tools)


def turn_that(talk: Talk, tools: Tools, work: Path) -> Turn:
    """Runs a turn that rebinds `x`, adds `y` and writes a file."""
    tools.shell.user_ns["x"] = 1
    (work / "a.txt").write_text("one\n")
    write = f"with open({str(work / 'a.txt')!r}, 'w') as file:\n    file.write('two\\n')\ndel file"
    code = f"x = 2\ny = 'new'\n{write}"
    return talk.prompt({"start": ["run_code", {"code": code}]}, {"end": 1}).wait(PATIENCE)


@pytest.mark.parametrize("when", ["first", "after"])
def test_cell_review_order_does_not_change_record_or_undo(new_talk: NewTalk, tools: Tools, when: str) -> None:
    """A later review asks nobody; the setting applies at once, also in an open conversation."""
    settings = KernelSettings(cell_review="first")
    talk = new_talk(script="calls_kernel", kernel_tools=True, shell=tools, settings=settings)
    settings.values["cell_review"] = when
    page = NotebookPage("fit.ipynb", {"a": "1", "b": "2", "c": "3"})
    calls = [["move_cell", {"cell": "a", "below": "c"}], ["delete_cell", {"cell": "b"}]]
    turn = talk.prompt(*(step for call in calls for step in ({"start": call}, {"end": 1})))
    card_count = 0
    for _ in calls if when == "first" else ():
        (card,) = talk.questions()
        talk.answer(card, "allow")
        card_count += 1
    assert turn.wait(PATIENCE).text.split() == ["true", "true"]
    assert card_count == (2 if when == "first" else 0)
    assert page.texts() == {"c": "3", "a": "1"}
    assert [(each.id, each.status, each.detail) for each in turn.changes] == [
        ("cell:a", "changed", "moved"),
        ("cell:b", "deleted", None),
    ]
    state = talk.kernel.follow(changes_of(talk.session, turn)).state
    (deleted,) = [each for each in state.files if each.id == "cell:b"]
    assert (deleted.meta or {})["agentnb"]["place"] == {"notebook": "fit.ipynb"}
    turn.undo()
    assert page.texts() == {"a": "1", "b": "2", "c": "3"}
    page.close()


def names(tools: Tools) -> dict[str, Any]:
    """Returns the variables that the turn changes."""
    return {name: tools.shell.user_ns[name] for name in ("x", "y") if name in tools.shell.user_ns}


def test_undo_restores_files_and_variables(talk: Talk, tools: Tools, work: Path) -> None:
    """Also from a cell, which blocks the thread that binds variables; redo restores both; a page reads both values."""
    turn = turn_that(talk, tools, work)
    assert turn.text.split() == ["true"]
    assert [(each.id, each.status) for each in turn.changes] == [
        ("file:a.txt", "changed"),
        ("variable:x", "changed"),
        ("variable:y", "added"),
    ]
    assert [each.diff.splitlines()[3:] for each in turn.changes] == [["-one", "+two"], [], []]
    for side, value in (("before", "1"), ("after", "2")):
        read = talk.kernel.ask("readChange", channel=changes_of(talk.session, turn), id="variable:x", side=side)
        assert value in read[1][0].decode()
    outcome = turn.undo()
    assert outcome.notes == ("1 file and 2 variables were undone.",)
    assert ((work / "a.txt").read_text(), names(tools)) == ("one\n", {"x": 1})
    assert {each.state for each in turn.changes} == {"undone"}
    turn.redo()
    assert ((work / "a.txt").read_text(), names(tools)) == ("two\n", {"x": 2, "y": "new"})
    turn.keep()
    assert {each.state for each in turn.changes} == {"kept"}


def test_undo_changes_nothing_when_a_part_conflicts(talk: Talk, tools: Tools, work: Path) -> None:
    """A variable was rebound, or a file edited; until the user chooses. Restored variables are bound again."""
    turn = turn_that(talk, tools, work)
    (work / "a.txt").write_text("mine\n")
    with pytest.raises(FilesConflict):
        turn.undo()
    assert ((work / "a.txt").read_text(), names(tools)) == ("mine\n", {"x": 2, "y": "new"})
    assert {each.state for each in turn.changes} == {"open"}
    (work / "a.txt").write_text("two\n")
    tools.shell.user_ns["x"] = 3
    with pytest.raises(KernelChangesConflict):
        turn.undo()
    assert ((work / "a.txt").read_text(), names(tools)) == ("two\n", {"x": 3, "y": "new"})
    turn.undo(choices={"x": "theirs"})
    assert ((work / "a.txt").read_text(), names(tools)) == ("one\n", {"x": 1})


def test_card_and_notes_name_variables_that_stay_changed(new_talk: NewTalk, tools: Tools) -> None:
    """Only what the code reaches; a mutated object is restored under each of its names."""
    talk = new_talk(script="calls_kernel", kernel_tools=True, shell=tools)
    tools.shell.run_cell("xs, lines, other = [1], iter('ab'), iter('cd')\nsame = xs")
    turn = talk.prompt({"start": ["run_code", {"code": "xs.append(next(lines))"}]}, {"end": 1})
    (card,) = talk.questions()
    assert card.risk is not None
    assert "`lines` can't be restored." in card.risk.reason
    assert "other" not in card.risk.reason
    talk.answer(card, "allow")
    turn.wait(PATIENCE)
    assert [(each.id, each.undoable) for each in turn.changes] == [("variable:same", True), ("variable:xs", True)]
    assert "`lines` can't be restored." in turn.changes.notes
    turn.undo("same")
    assert tools.shell.user_ns["xs"] == [1]
    assert {each.state for each in turn.changes} == {"undone"}


def test_undo_memory_setting_applies_at_once(new_talk: NewTalk, tools: Tools) -> None:
    settings = KernelSettings(undo_memory=0.0)
    talk = new_talk("allow", script="calls_kernel", kernel_tools=True, shell=tools, settings=settings)
    tools.shell.run_cell("import numpy as np\na = np.zeros(1000)")
    steps: list[Any] = [{"start": ["run_code", {"code": "a += 1"}]}, {"end": 1}]
    turn = talk.prompt(*steps).wait(PATIENCE)
    assert [(each.name, each.undoable, each.reason) for each in turn.changes] == [
        ("a", False, "What it was before is not kept: it is too large."),
    ]
    settings.values["undo_memory"] = 512.0
    turn = talk.prompt(*steps).wait(PATIENCE)
    turn.undo()
    assert tools.shell.user_ns["a"][0] == 1
