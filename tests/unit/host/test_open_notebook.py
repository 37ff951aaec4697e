"""An agent writes the file of a notebook that is open in a page: real files and sessions, a page in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb import Session, Turn
from agentnb.errors import KernelChangesConflict
from agentnb.host import Host
from agentnb.host.changes.open_notebook import MOST_CELLS, FileCell, cells_in, is_cells_only, missing_in_page
from agentnb.kernel.code_runner import NotebookCell
from agentnb.state import SystemNotificationResponsePart
from tests.unit.host.conftest import Open, Saved, hosted
from tests.unit.host.test_change_tracker import does
from tests.unit.host.test_changesets import ask
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
def session(attended: Host, tools: Tools, open_session: Open, page: NotebookPage) -> Session:
    """A session without kernel access, whose agent writes files itself."""
    attended.environment.connect(shell=tools)
    return open_session("writes_files")


def notices(session: Session) -> list[str]:
    """Returns the notices in the transcript."""
    parts = [part for turn in session.chat.turns for part in turn.response_parts]
    return [str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)]


def states(turn: Turn) -> dict[str, str]:
    """Returns the states of the changes by id."""
    return {each.id: each.state for each in turn.changes}


def apply(host: Host, session: Session, turn: Turn, **more: Any) -> Any:
    """Applies cells as a page does."""
    conversation = hosted(host, session)
    uri = f"{conversation.session.uri}/changes/{turn.id}"
    return ask(host, "invokeChangesetOperation", channel=uri, operationId="apply", **more)


def test_page_is_offered_cells_when_an_agent_writes_its_file(host: Host, session: Session, page: NotebookPage) -> None:
    """The page keeps its old cells until they are applied; undo restores both."""
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "offered", "cell:n": "offered"}
    assert turn.changes[0].detail == "It is open in a page that still has the old cells."
    (notice,) = notices(session)
    assert notice.startswith("The agent wrote fit.ipynb directly while it is open here.")
    assert notice.endswith("Apply its 2 cell changes to the notebook, or reload it.")
    assert page.texts() == OLD
    answer = apply(host, session, turn)
    assert answer["message"].startswith("2 cells were applied. If Jupyter says that its file has changed")
    assert (list(page.texts().items()), page.steps) == (list(NEW.items()), 1)
    assert list(page.file_hashes) == [sha256(notebook(cells).encode()).hexdigest() for cells in (OLD, NEW)]
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "open", "cell:n": "open"}
    turn.undo()
    assert page.texts() == OLD
    assert set(states(turn).values()) == {"undone"}
    turn.redo()
    assert page.texts() == NEW


def test_other_cells_stay_offered_when_one_is_applied(host: Host, session: Session, page: NotebookPage) -> None:
    """Kept cells are no longer offered, and undo of the turn leaves out cells that were not applied."""
    turn = does(session, ["write", "fit.ipynb", notebook({"a": "x = 10", "b": "y = 20"})])
    answer = apply(host, session, turn, target={"kind": "resource", "resource": "cell:c"})
    assert answer["message"].startswith("1 cell was applied. Apply the others, too, before you save")
    assert page.texts() == {"a": "x = 1", "b": "y = 2"}
    assert page.file_hashes is None  # the file has more changes
    turn.keep("cell:a")
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "kept", "cell:b": "offered", "cell:c": "open"}
    turn.undo()
    assert page.texts() == OLD
    assert states(turn)["cell:b"] == "offered"


def test_cell_edited_by_the_user_is_a_conflict_when_applied(host: Host, session: Session, page: NotebookPage) -> None:
    """Nothing is applied before the user chooses."""
    page.type("a", "x = mine")
    page.type("b", "y = mine")
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert states(turn) == {"file:fit.ipynb": "open", "cell:a": "offered", "cell:n": "offered"}
    (conflict,) = apply(host, session, turn)["conflicts"]
    assert [conflict[name] for name in ("id", "base", "current", "target")] == ["cell:a", "x = 1", "x = mine", "x = 10"]
    assert page.texts() == {**OLD, "a": "x = mine", "b": "y = mine"}
    apply(host, session, turn, choices={conflict["path"]: "theirs"})
    assert page.texts() == {**NEW, "b": "y = mine"}


def test_notebook_last_saved_by_the_user_gets_no_offer(
    session: Session, page: NotebookPage, path: Path, host: Host
) -> None:
    """The file is what the page showed, whatever the user typed since."""
    host.environment.connect(editors=Saved(str(path)))
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


@pytest.mark.parametrize("name", ["other.ipynb", "fit.py"])
def test_writing_another_file_gives_no_notebook_notice(session: Session, name: str) -> None:
    does(session, ["write", name, notebook(NEW)])
    assert notices(session) == []


def test_notebook_without_an_attached_page_gets_no_offer(session: Session, host: Host) -> None:
    """A closed page sends no message."""
    host.environment.connect(attached=lambda: False)
    does(session, ["write", "fit.ipynb", notebook(NEW)])
    assert notices(session) == []


def test_applied_cells_that_the_user_edited_are_not_undone(host: Host, session: Session, page: NotebookPage) -> None:
    turn = does(session, ["write", "fit.ipynb", notebook(NEW)])
    apply(host, session, turn)
    page.type("n", "mine")
    with pytest.raises(KernelChangesConflict):
        turn.undo()
    assert page.texts() == {**NEW, "n": "mine"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "cell_type", "source", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4) | json_values, st.sampled_from([4, 3, "4", None]))
def test_any_json_file_gives_cells_or_none(cells: Any, version: Any) -> None:
    file_cells = cells_in(json.dumps({"nbformat": version, "cells": cells}).encode())
    assert file_cells is None or len(file_cells) == len(cells)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 100_000, b"4", b'{"nbformat": 4}', b"\xff"])
def test_file_that_is_not_a_notebook_gives_no_cells(content: bytes) -> None:
    assert cells_in(content) is None


texts = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123"), max_size=6)


def in_order(cells: dict[str, str]) -> dict[str, str]:
    return dict(sorted(cells.items()))


@given(texts.map(in_order), texts.map(in_order))
def test_page_with_the_old_cells_gets_exactly_the_new_ones(before: dict[str, str], after: dict[str, str]) -> None:
    """However the agent changed, added and deleted them."""
    page = NotebookPage("fit.ipynb", before)
    then, now = ([FileCell(name, "code", text) for name, text in cells.items()] for cells in (before, after))
    page_cells = [NotebookCell(id=name, kind="code", source=text) for name, text in before.items()]
    changes = missing_in_page("fit.ipynb", then, now, page_cells)
    assert changes is not None
    steps = [step for each in changes if (step := each.step(each.source)) is not None]
    page.close()
    assert page.changed(steps) == {}
    assert list(page.texts().items()) == list(after.items())


@given(texts.map(in_order), texts.map(in_order))
def test_page_changed_only_by_the_user_gets_no_offer(page_cells: dict[str, str], saved: dict[str, str]) -> None:
    """The file has the same cells before and after; only outputs differ."""
    cells = [FileCell(name, "code", text) for name, text in saved.items()]
    page = [NotebookCell(id=name, kind="code", source=text) for name, text in page_cells.items()]
    assert missing_in_page("fit.ipynb", cells, cells, page) == []


CELL = {"id": "a", "cell_type": "code", "metadata": {}, "source": "1", "outputs": [1], "execution_count": 2}


@pytest.mark.parametrize(
    ("cell", "more", "expected"),
    [
        ({**CELL, "source": "2"}, {}, True),
        ({**CELL, "source": "2", "outputs": [], "execution_count": None}, {}, True),
        ({"id": "b", "cell_type": "markdown", "metadata": {}, "source": "2"}, {}, True),
        ({**CELL, "outputs": [2]}, {}, False),
        ({**CELL, "id": "b"}, {}, False),
        ({**CELL, "metadata": {"tags": ["x"]}}, {}, False),
        ({**CELL, "cell_type": "raw"}, {}, False),
        ({**CELL, "attachments": {}}, {}, False),
        ({"id": "b", "cell_type": "markdown", "metadata": {"tags": ["x"]}, "source": ""}, {}, False),
        (CELL, {"metadata": {"kernelspec": {}}}, False),
        ([], {}, False),
    ],
)
def test_only_cell_text_changes_allow_saving_over_the_file(cell: Any, more: dict[str, Any], *, expected: bool) -> None:
    """The page does not have the outputs and metadata that the agent wrote."""
    made = {"nbformat": 4, "metadata": {}}
    before, after = {**made, "cells": [CELL]}, {**made, **more, "cells": [cell]}
    assert is_cells_only(json.dumps(before).encode(), json.dumps(after).encode()) is expected
    assert not is_cells_only(b"", json.dumps(after).encode())


def test_cells_without_ids_are_matched_by_position() -> None:
    """In nbformat 4.4 and older, the page makes up ids that the file lacks."""
    then, now = (
        [FileCell("", "code", "1"), FileCell("", "code", "2")],
        [FileCell("", "code", "1"), FileCell("", "code", "3")],
    )
    page = [NotebookCell(id=name, kind="code", source=text) for name, text in (("p", "1"), ("q", "2"))]
    (change,) = missing_in_page("fit.ipynb", then, now, page) or []
    assert (change.cell_id, change.before, change.after) == ("q", "2", "3")
    assert missing_in_page("fit.ipynb", then, now[:1], page) is None


def test_truncated_page_cell_is_compared_with_the_file_text() -> None:
    long = "1" * 30_000
    page = [NotebookCell(id="a", kind="code", source=long[:20_000], cut=True)]
    then, now = ([FileCell("a", "code", text)] for text in (long, f"{long}2"))
    (change,) = missing_in_page("fit.ipynb", then, now, page) or []
    assert (change.before, change.after) == (long, f"{long}2")
    many = [FileCell(str(at), "code", "") for at in range(MOST_CELLS)]
    assert cells_in(notebook({each.id: each.source for each in many}).encode()) is None
