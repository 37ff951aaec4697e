"""Tools that move, delete, split and merge cells and set type and tags: results, requests, refusals, undo."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentnb.errors import KernelChangesConflict
from agentnb.state import ToolDiffContent
from tests.thorough import examples
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import TURN, Tools

FIRST = "x = 1\ny = 2"
CELLS = {"a": FIRST, "b": "b", "c": "c"}


@pytest.fixture
def page(tools: Tools) -> Iterator[NotebookPage]:
    """The page of the tools' notebook, in a turn."""
    tools.changes.begin(TURN)
    notebook_page = NotebookPage("fit.ipynb", CELLS)
    yield notebook_page
    notebook_page.close()


def undo(tools: Tools, **choices: Any) -> None:
    tools.undo(*tools.cells_changed(), kind="cell", **choices)


def redo(tools: Tools) -> None:
    tools.redo(*tools.cells_changed(), kind="cell")


CALLS: dict[str, tuple[dict[str, Any], list[str], str, str]] = {
    "move_cell": ({"cell": "a", "below": "c"}, ["b", "c", FIRST], "Move the cell `x = 1` below the cell `c`", "move"),
    "move_cell above": (
        {"cell": "c", "above": "a"},
        ["c", FIRST, "b"],
        "Move the cell `c` above the cell `x = 1`",
        "move",
    ),
    "delete_cell": ({"cell": "b"}, [FIRST, "c"], "Delete the cell `b`", "delete"),
    "split_cell": (
        {"cell": "a", "line": 2},
        ["x = 1", "y = 2", "b", "c"],
        "Split the cell `x = 1` before line 2",
        "split",
    ),
    "merge_cells": (
        {"first": "a", "last": "c"},
        [f"{FIRST}\n\nb\n\nc"],
        "Merge 3 cells, from the cell `x = 1` to the cell `c`",
        "merge",
    ),
    "set_cell_type": (
        {"cell": "b", "cell_type": "markdown"},
        [FIRST, "b", "c"],
        "Make the cell `b` a Markdown cell",
        "type",
    ),
    "set_cell_tags": (
        {"cell": "b", "tags": ["x", " y ", "x"]},
        [FIRST, "b", "c"],
        "Tag the cell `b` with x, y",
        "tags",
    ),
}
REPLACED = {"cell": "b", "source": "new"}
EDITS = {"replace_cell": REPLACED, **{name: called[0] for name, called in CALLS.items()}}


@pytest.mark.parametrize("called", CALLS)
def test_cell_tool_change_is_one_step_to_undo_and_redo(tools: Tools, page: NotebookPage, called: str) -> None:
    """The card names the cell and the change, the page can show it in the cell, and the turn has it."""
    arguments, texts, title, action = CALLS[called]
    before = copy.deepcopy(page.cells)
    result = tools.call(called.partition(" ")[0], **arguments)
    assert not result["isError"], result
    assert [each["source"] for each in page.cells] == texts
    assert page.steps == 1
    request = tools.requests[-1]
    assert (request.kind, request.title) == ("cell", title)
    assert request.cell is not None
    assert request.cell.action == action
    after = copy.deepcopy(page.cells)
    assert after != before
    undo(tools)
    assert (page.cells, page.steps) == (before, 2)
    redo(tools)
    assert (page.cells, page.steps) == (after, 3)
    assert all(change.refusal is None for change in tools.cells_changed().values())


def test_clear_outputs_skips_prompts_and_can_be_undone(tools: Tools, page: NotebookPage) -> None:
    """It clears all cells that have run, or one; texts and variables stay."""
    page.cells[0]["count"], page.cells[1]["count"], page.cells[2]["count"] = 3, None, 5
    page.type("c", "%agent Hello")
    cleared = tools.text("clear_outputs")
    assert cleared == "Cleared the outputs of In [3]: `x = 1`. The variables are as before."
    page.type("c", "c")
    assert tools.text("clear_outputs", cell="c").startswith("Cleared the outputs of In [5]: `c`")
    assert [each.get("count") for each in page.cells] == [None, None, None]
    assert {each.detail for each in tools.cells_changed().values()} == {"outputs cleared"}
    undo(tools)
    assert [each.get("count") for each in page.cells] == [3, None, 5]
    redo(tools)
    assert [each.get("count") for each in page.cells] == [None, None, None]
    assert tools.text("clear_outputs").startswith("No code cell has been run yet.")


def test_turn_records_changed_cell_type_tags_and_position(tools: Tools, page: NotebookPage) -> None:
    """The texts are equal, so the line beside the name says what changed; a change back is none."""
    tools.call("set_cell_type", cell="b", cell_type="raw")
    tools.call("set_cell_tags", cell="b", tags=["x"])
    tools.call("move_cell", cell="b", below="c")
    (change,) = tools.cells_changed().values()
    assert (change.status, change.detail) == ("changed", "moved, code → raw, tags: none → x")
    tools.call("set_cell_type", cell="b", kind="code")
    tools.call("set_cell_tags", cell="b", tags=[])
    tools.call("move_cell", cell="b", below="a")
    assert tools.cells_changed() == {}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("move_cell", {"cell": "a"}, "either 'below' or 'above'"),
        ("move_cell", {"cell": "a", "below": "b", "above": "c"}, "either 'below' or 'above'"),
        ("move_cell", {"cell": "a", "below": "a"}, "next to itself"),
        ("move_cell", {"cell": "b", "below": "a"}, "is already below"),
        ("move_cell", {"cell": "gone", "below": "a"}, "has no cell 'gone'"),
        ("split_cell", {"cell": "a", "line": 3}, "has 2 lines"),
        ("split_cell", {"cell": "a", "line": 1}, "at least 2"),
        ("merge_cells", {"first": "c", "last": "a"}, "must be below the first"),
        ("merge_cells", {"first": "a", "last": "a"}, "must be below the first"),
        ("set_cell_type", {"cell": "a", "cell_type": "code"}, "is a code cell already"),
        ("set_cell_tags", {"cell": "a", "tags": []}, "has these tags already"),
        ("set_cell_tags", {"cell": "a", "tags": "x"}, "is an array"),
        ("set_cell_tags", {"cell": "a", "tags": [1]}, "is a string"),
        ("set_cell_tags", {"cell": "a", "tags": ["\u202e"]}, "can be printed"),
        ("set_cell_tags", {"cell": "a", "tags": ["x" * 101]}, "1 to 100 characters"),
        ("set_cell_tags", {"cell": "a", "tags": [str(each) for each in range(51)]}, "at most 50 tags"),
    ],
)
def test_cell_tool_rejects_invalid_arguments_without_asking(
    tools: Tools, page: NotebookPage, name: str, arguments: dict[str, Any], words: str
) -> None:
    result = tools.call(name, **arguments)
    assert result["isError"]
    assert words in result["content"][0]["text"]
    assert (page.texts(), tools.requests) == (CELLS, [])


def test_cell_tool_is_refused_for_two_types_or_a_shared_id(tools: Tools, page: NotebookPage) -> None:
    page.cells[1].update(kind="markdown", count=7)
    page.tell()
    assert "Only cells of one type" in tools.text("merge_cells", first="a", last="c")
    page.cells.append(dict(page.cells[1]))
    page.tell()
    for name, arguments in (("delete_cell", {"cell": "b"}), ("replace_cell", REPLACED), ("delete_cell", {"cell": "7"})):
        words = "2 cells of the notebook have the id 'b'. Ask the user to save"
        assert tools.text(name, **arguments).startswith(words)
    assert (len(page.cells), tools.requests) == (4, [])


LOCKED = [
    ("replace_cell", {"cell": "b", "source": "new"}, "b", "editable"),
    ("split_cell", {"cell": "a", "line": 2}, "a", "editable"),
    ("set_cell_type", {"cell": "b", "cell_type": "markdown"}, "b", "editable"),
    ("set_cell_tags", {"cell": "b", "tags": ["x"]}, "b", "editable"),
    ("merge_cells", {"first": "a", "last": "c"}, "a", "editable"),
    ("merge_cells", {"first": "a", "last": "c"}, "c", "deletable"),
    ("delete_cell", {"cell": "b"}, "b", "deletable"),
]


@pytest.mark.parametrize("row", LOCKED, ids=[f"{each[0]} {each[3]}" for each in LOCKED])
def test_cell_tool_is_refused_when_metadata_locks_the_cell(
    tools: Tools, page: NotebookPage, row: tuple[str, dict[str, Any], str, str]
) -> None:
    """The agent gets the cell, the reason and what to do instead; `cells` says it beforehand. It can be moved."""
    name, arguments, locked, lock = row
    next(each for each in page.cells if each["id"] == locked)[lock] = False
    page.tell()
    can = {"editable": "edited", "deletable": "deleted"}[lock]
    assert f"(id {locked}, can't be {can})" in tools.text("cells")
    request_count = len(tools.requests)
    result = tools.call(name, **arguments)
    title = {"a": "The cell `x = 1`", "b": "The cell `b`", "c": "The cell `c`"}[locked]
    assert result["isError"]
    assert result["content"][0]["text"].startswith(
        f"{title} can't be {can}: its metadata has `{lock}: false`. Leave it"
    )
    assert (len(tools.requests), page.texts()) == (request_count, CELLS)
    tools.call("move_cell", cell=locked, **({"above": "b"} if locked == "c" else {"below": "c"}))
    assert page.texts() == CELLS
    assert [*page.texts()] != [*CELLS]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("insert_cell", {"source": "new"}), ("replace_cell", REPLACED), ("delete_cell", {"cell": "b"})],
)
def test_change_to_a_read_only_notebook_warns_it_cannot_be_saved(
    tools: Tools, page: NotebookPage, name: str, arguments: dict[str, Any]
) -> None:
    """JupyterLab allows it, too, but loses the change silently; the note says so."""
    page.read_only = True
    page.tell()
    assert "fit.ipynb: 3 cells, its file is read-only (used last)" in tools.text("notebooks")
    result = tools.call(name, **arguments)
    assert not result["isError"]
    assert page.cells != [{"id": each, "kind": "code", "source": text, "tags": []} for each, text in CELLS.items()]
    assert result["content"][0]["text"].endswith(
        "The file of fit.ipynb is read-only: the change is in the open page only, and can't be saved there. "
        "Tell the user to save the notebook under another name (File → Save Notebook As…)."
    )


@pytest.mark.parametrize("renamed", [False, True])
def test_undo_changes_the_page_the_user_visited_last(tools: Tools, page: NotebookPage, renamed: bool) -> None:
    """The page last visited counts; a page that was renamed meanwhile is known by its earlier path."""
    tools.call("delete_cell", cell="b")
    other = NotebookPage("fit.ipynb", {"a": FIRST, "c": "c"})
    if renamed:
        page.rename("renamed.ipynb")
    page.tell()
    undo(tools)
    assert (page.texts(), [*other.texts()]) == (CELLS, ["a", "c"])
    other.close()


def test_deleted_cell_records_its_old_place(tools: Tools, page: NotebookPage) -> None:
    """The page can show where the cell was; for a cell that was moved first, before the turn."""
    tools.call("delete_cell", cell="b")
    tools.call("move_cell", cell="c", above="a")
    tools.call("delete_cell", cell="c")
    for deleted in tools.cells_changed().values():
        assert deleted.old_place is not None
        assert (deleted.old_place.notebook, deleted.old_place.below, deleted.old_place.index) == ("fit.ipynb", "a", 1)
    undo(tools)
    assert page.texts() == CELLS


@pytest.mark.parametrize("called", EDITS)
@pytest.mark.parametrize("when", ["before", "while asked"])
def test_cell_tool_is_refused_when_the_user_changed_the_cell(
    tools: Tools, page: NotebookPage, called: str, when: str
) -> None:
    """The user edits after the agent's read or before the answer; the agent gets the new text and can call again."""
    name, arguments = called.partition(" ")[0], EDITS[called]
    cell = str(arguments.get("cell") or arguments["last"])
    tools.call("cells")
    if when == "before":
        page.type(cell, "mine\n2")
    else:
        tools.while_asked = lambda: page.type(cell, "mine\n2")
    result = tools.call(name, **arguments)
    assert result["isError"]
    assert "has changed since you read it, so nothing was done. Its text is now:" in result["content"][0]["text"]
    assert "```\nmine\n2\n```" in result["content"][0]["text"]
    if when == "before":
        assert [each.kind for each in tools.requests] == ["read"]
    assert page.texts() == {**CELLS, cell: "mine\n2"}
    tools.while_asked = lambda: None
    assert not tools.call(name, **arguments)["isError"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda page: page.remove("b"), ("The cell is no longer in the notebook.",) * 2),
        (lambda page: page.rename("other.ipynb"), ("Deleted the cell `b`", "Replaced the text of the cell (id b).")),
        (lambda page: page.cells[1].update(kind="markdown"), ("Deleted the cell `b`", "Replaced the text of the cell")),
    ],
    ids=["deleted", "renamed", "another type"],
)
@pytest.mark.parametrize("name", ["delete_cell", "replace_cell"])
def test_cell_tool_handles_notebook_changes_during_approval(
    tools: Tools, page: NotebookPage, name: str, change: Callable[[NotebookPage], object], words: tuple[str, str]
) -> None:
    """A cell that is gone is not deleted; a renamed notebook is found by its cells."""
    tools.while_asked = lambda: change(page)
    is_deletion = name == "delete_cell"
    assert words[not is_deletion] in tools.text(name, **({"cell": "b"} if is_deletion else REPLACED))
    gone = is_deletion or "b" not in page.texts()
    assert page.texts() == ({"a": FIRST, "c": "c"} if gone else {**CELLS, "b": "new"})


def test_undo_restores_the_full_text_of_a_long_deleted_cell(tools: Tools, page: NotebookPage) -> None:
    """A page sends only the beginning of a long cell; the card shows all the text to be removed."""
    page.longest = 3
    page.tell()
    tools.call("delete_cell", cell="a")
    (diff,) = tools.requests[-1].preview or ()
    assert isinstance(diff, ToolDiffContent)
    assert (diff.old_text, diff.new_text) == ("x = 1\ny = 2\n", "")
    undo(tools)
    assert page.texts() == CELLS


def test_undo_keeps_the_users_edit_and_conflicts_with_their_type(tools: Tools, page: NotebookPage) -> None:
    """An edited cell is moved back; a type that the user has changed since is a conflict."""
    tools.call("move_cell", cell="a", below="c")
    page.type("a", "mine")
    undo(tools)
    assert page.texts() == {**CELLS, "a": "mine"}
    tools.call("set_cell_type", cell="b", cell_type="markdown")
    page.cells[1]["kind"] = "raw"
    page.tell()
    with pytest.raises(KernelChangesConflict):
        tools.undo("b", kind="cell")
    assert page.cells[1]["kind"] == "raw"
    tools.undo("b", kind="cell", b="theirs")
    assert page.cells[1]["kind"] == "code"


KINDS = ("code", "markdown", "raw")
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "replace", "move", "delete", "split", "merge", "type", "tags"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


def _call(operation: tuple[str, int, int], ids: list[str]) -> tuple[str, dict[str, Any]]:
    what, first, second = operation
    cell, other = ids[first % len(ids)], ids[second % len(ids)]
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "insert": ("insert_cell", {"source": f"new {second}\nline", "below": cell}),
        "replace": ("replace_cell", {"cell": cell, "source": f"text {second}\nline"}),
        "move": ("move_cell", {"cell": cell, "above" if second % 3 else "below": other}),
        "delete": ("delete_cell", {"cell": cell}),
        "split": ("split_cell", {"cell": cell, "line": 2}),
        "merge": ("merge_cells", {"first": cell, "last": other}),
        "type": ("set_cell_type", {"cell": cell, "cell_type": KINDS[second % 3]}),
        "tags": ("set_cell_tags", {"cell": cell, "tags": [str(second)] if second % 3 else []}),
    }
    return calls[what]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_undo_and_redo_restore_the_notebook_after_any_changes(
    tools: Tools, operations: list[tuple[str, int, int]]
) -> None:
    """Texts, types, tags and order, in one step each, after any sequence of changes."""
    tools.use(tools.runner)
    tools.changes.close()
    tools.changes.begin(TURN)
    page = NotebookPage("fit.ipynb", {each: f"{each}\n2" for each in "abcdef"})
    before = copy.deepcopy(page.cells)
    for operation in operations:
        if page.cells:
            name, arguments = _call(operation, [each["id"] for each in page.cells])
            tools.call(name, **arguments)  # invalid calls are refused
    after = copy.deepcopy(page.cells)
    steps = page.steps
    undo(tools)
    assert page.cells == before
    redo(tools)
    assert page.cells == after
    undo(tools)
    assert page.cells == before
    assert page.steps - steps <= 3
    page.close()
