"""An agent writes the file of a notebook that is open in a page: real files and sessions, a page in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from tests.unit.host.conftest import Saved, change, changes_of, does, notices
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools"]  # the fixture

OLD = {"a": "x = 1", "b": "y = 2", "c": "z = 3"}
NEW = {"a": "x = 10", "b": "y = 2", "n": "new", "c": "z = 3"}


def notebook(cells: dict[str, str], **more: Any) -> str:
    made: list[dict[str, Any]] = [
        {"id": name, "cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for name, source in cells.items()
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made, **more})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the notebook that the kernel was started for."""
    file = tmp_path / "fit.ipynb"
    file.write_text(notebook(OLD))
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    return file


@pytest.fixture
def page(path: Path) -> Iterator[NotebookPage]:
    """A page that shows the notebook."""
    made = NotebookPage(path.name, OLD)
    yield made
    made.close()


@pytest.fixture
def session(kernel: Kernel, tools: Tools, page: NotebookPage) -> Session:
    """A session without kernel access, whose agent writes files itself."""
    kernel.attend()
    kernel.connect(shell=tools)
    return kernel.start("writes_files")


def states(turn: Turn) -> dict[str, str]:
    """Returns the states of the changes by id."""
    return {each.id: each.state for each in turn.changes}


def apply(kernel: Kernel, session: Session, turn: Turn, **more: Any) -> Any:
    """Applies cells as a page does."""
    return change(kernel, changes_of(session, turn), "apply", **more)


def test_page_is_offered_cells_when_an_agent_writes_its_file(
    kernel: Kernel, session: Session, page: NotebookPage
) -> None:
    """The page keeps its old cells until they are applied; undo restores both."""
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "offered", "cell:n": "offered"}
    assert turn.changes[0].detail == "It is open in a page that still has the old cells."
    (notice,) = notices(session)
    assert notice.startswith("The agent wrote fit.ipynb directly while it is open here.")
    assert notice.endswith("Apply its 2 cell changes to the notebook, or reload it.")
    assert page.texts() == OLD
    answer = apply(kernel, session, turn)
    assert answer["message"].startswith("2 cells were applied. If Jupyter says that its file has changed")
    assert (list(page.texts().items()), page.steps) == (list(NEW.items()), 1)
    assert list(page.file_hashes) == [sha256(notebook(cells).encode()).hexdigest() for cells in (OLD, NEW)]
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "open", "cell:n": "open"}
    turn.undo()
    assert page.texts() == OLD
    assert set(states(turn).values()) == {"undone"}
    turn.redo()
    assert page.texts() == NEW


def test_other_cells_stay_offered_when_one_is_applied(kernel: Kernel, session: Session, page: NotebookPage) -> None:
    """Kept cells are no longer offered, and undo of the turn leaves out cells that were not applied."""
    turn = does(session, ["write", "fit.ipynb", notebook({"a": "x = 10", "b": "y = 20"})])
    answer = apply(kernel, session, turn, target={"kind": "resource", "resource": "cell:c"})
    assert answer["message"].startswith("1 cell was applied. Apply the others, too, before you save")
    assert page.texts() == {"a": "x = 1", "b": "y = 2"}
    assert page.file_hashes is None  # the file has more changes
    turn.keep("cell:a")
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "kept", "cell:b": "offered", "cell:c": "open"}
    turn.undo()
    assert page.texts() == OLD
    assert states(turn)["cell:b"] == "offered"


def test_cell_edited_by_the_user_is_a_conflict_when_applied(
    kernel: Kernel, session: Session, page: NotebookPage
) -> None:
    """Nothing is applied before the user chooses."""
    page.type("a", "x = mine")
    page.type("b", "y = mine")
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "offered", "cell:n": "offered"}
    (conflict,) = apply(kernel, session, turn)["conflicts"]
    assert [conflict[name] for name in ("id", "base", "current", "target")] == ["cell:a", "x = 1", "x = mine", "x = 10"]
    assert page.texts() == {**OLD, "a": "x = mine", "b": "y = mine"}
    apply(kernel, session, turn, choices={conflict["path"]: "theirs"})
    assert page.texts() == {**NEW, "b": "y = mine"}


def test_notebook_last_saved_by_the_user_gets_no_offer(
    session: Session, page: NotebookPage, path: Path, kernel: Kernel
) -> None:
    """The file is what the page showed, whatever the user typed since."""
    kernel.connect(editors=Saved(str(path)))
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert (states(turn), notices(session)) == ({"file:fit.ipynb": "open"}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (notebook(OLD, metadata={"a": 1}), "reload it to see the rest"),
        ("no notebook", "Reload it to see its cells"),
        (notebook({"c": "z = 3", "a": "x = 1", "b": "y = 2"}), "Reload it to see its cells"),
    ],
)
def test_notice_asks_to_reload_when_cells_cannot_be_applied(session: Session, text: str, words: str) -> None:
    """Changed outputs and metadata, an invalid file, moved cells: a notice says so."""
    turn = does(session, ["write", "fit.ipynb", text])
    assert states(turn) == {"file:fit.ipynb": "open"}
    (notice,) = notices(session)
    assert words in notice


def test_only_a_file_that_an_attached_page_shows_gets_a_notice(session: Session, kernel: Kernel) -> None:
    """A closed page sends no message."""
    does(session, ["write", "other.ipynb", notebook(NEW)], ["write", "fit.py", notebook(NEW)])
    kernel.attend(here=False)
    does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert notices(session) == []
