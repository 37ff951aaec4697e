"""What a call of a kernel tool that moves, deletes, splits or merges cells, or sets their type or tags, would do.

Pure: from the notebook as its page told of it come the steps for the page, what the card says, what the page shows in
the cells meanwhile, and the records for undo. And whether it may: cells can be locked, or have another text than the
agent has read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.kernel.cell_changes import CellOrder, CellRecord, order_of
from agentnb.kernel.cell_names import LONGEST_TAG, MOST_TAGS, cell_title, named_cell
from agentnb.kernel.code_runner import CellStep
from agentnb.state import ToolCallCell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.kernel.code_runner import CellView, NotebookView

SECOND_LINE = 2
"""The first that a cell can be split before."""
TYPE_NAMES = {"code": "code", "markdown": "Markdown", "raw": "raw"}
BETWEEN_MERGED = "\n\n"
"""What stands between the texts of merged cells, as JupyterLab merges them."""


class CellPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would do."""

    title: str
    steps: tuple[CellStep, ...]
    shown: ToolCallCell
    records: tuple[CellRecord, ...]
    orders: tuple[CellOrder, CellOrder] | None = None
    before: str = ""
    after: str = ""
    done: str


def planned_cells(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> tuple[CellView, ...]:
    """The cells that a call would change: whose texts must be as the agent read them."""
    if name != "merge_cells":
        return (named_cell(arguments["cell"], notebook),)
    first, last = (notebook.cells.index(named_cell(arguments[each], notebook)) for each in ("first", "last"))
    if first >= last:
        raise UsageError(
            "The last cell to merge comes below the first.", hint="`cells` without either shows their order."
        )
    return notebook.cells[first : last + 1]


def plan_cells(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> CellPlan:
    """What the call of the tool *name* with the checked *arguments* would do to *notebook*."""
    return PLANS[name](arguments, notebook, planned_cells(name, arguments, notebook))


def _move(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    (cell,) = cells
    if ("below" in arguments) == ("above" in arguments):
        raise UsageError("move_cell wants either 'below' or 'above'.", hint="Both name the cell that it is put beside.")
    where = "below" if "below" in arguments else "above"
    other = named_cell(arguments[where], notebook)
    if other is cell:
        raise UsageError("A cell cannot be moved beside itself.")
    at = notebook.cells.index(cell)
    rest = [each for each in notebook.cells if each is not cell]
    place = rest.index(other) + (where == "below")
    if place == at:
        raise UsageError(f"{_name(cell)} is already {where} {_title(other)}.")
    above = rest[place - 1].cell_id if place else None
    step = CellStep(
        action="move", cell_id=cell.cell_id, expected=cell.source, below=above, index=notebook.start + place
    )
    record = _record(
        notebook,
        cell,
        moved=True,
        below=above,
        index=notebook.start + place,
        old_below=notebook.cells[at - 1].cell_id if at else None,
        old_index=notebook.start + at,
    )
    return CellPlan(
        title=f"Move {_title(cell)} {where} {_title(other)}",
        steps=(step,),
        shown=_shown(notebook, cell, "move", below=above),
        records=(record,),
        orders=_orders(notebook, (step,)),
        done=f"Moved {_title(cell)} (id {cell.cell_id}) {where} {_title(other)} (id {other.cell_id}).",
    )


def _delete(_arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    (cell,) = cells
    steps = (_deletion(cell),)
    return CellPlan(
        title=f"Delete {_title(cell)}",
        steps=steps,
        shown=_shown(notebook, cell, "delete"),
        records=(_deleted(notebook, cell),),
        orders=_orders(notebook, steps),
        before=cell.source,
        done=f"Deleted {_title(cell)} (id {cell.cell_id}).",
    )


def _split(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    (cell,) = cells
    lines = cell.source.split("\n")
    line = arguments["line"]
    if not SECOND_LINE <= line <= len(lines):
        raise UsageError(
            f"{_name(cell)} has {len(lines)} lines; the new cell begins with one of the lines from 2 on, not {line}."
        )
    first, rest = "\n".join(lines[: line - 1]), "\n".join(lines[line - 1 :])
    made, place = new_id(), notebook.start + notebook.cells.index(cell) + 1
    steps = (
        CellStep(action="replace", cell_id=cell.cell_id, kind=cell.kind, source=first, expected=cell.source),
        CellStep(
            action="insert",
            cell_id=made,
            kind=cell.kind,
            source=rest,
            tags=cell.tags or None,
            below=cell.cell_id,
            index=place,
        ),
    )
    added = CellRecord(
        cell_id=made,
        notebook=notebook.name,
        kind=cell.kind,
        before=None,
        after=rest,
        tags=cell.tags or None,
        below=cell.cell_id,
        index=place,
    )
    return CellPlan(
        title=f"Split {_title(cell)} before line {line}",
        steps=steps,
        shown=_shown(notebook, cell, "split", new_text=first, more_text=rest),
        records=(_record(notebook, cell, after=first), added),
        orders=_orders(notebook, steps),
        before=cell.source,
        after=f"{first}\n\n# --- new cell ---\n\n{rest}" if cell.kind == "code" else f"{first}\n\n---\n\n{rest}",
        done=f"Split {_title(cell)} (id {cell.cell_id}); its lines from {line} on are in a new cell (id {made}).",
    )


def _merge(_arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    first, *rest = cells
    other = next((each for each in rest if each.kind != first.kind), None)
    if other is not None:
        message = (
            f"{_name(first)} is a {TYPE_NAMES[first.kind]} cell and {_title(other)} a {TYPE_NAMES[other.kind]} one."
        )
        raise UsageError(message, hint="Only cells of one type can be merged; set_cell_type changes a cell's type.")
    text = BETWEEN_MERGED.join(each.source for each in cells)
    steps = (
        CellStep(action="replace", cell_id=first.cell_id, kind=first.kind, source=text, expected=first.source),
        *map(_deletion, rest),
    )
    many = f"{len(cells)} cells"
    return CellPlan(
        title=f"Merge {many}, from {_title(first)} to {_title(cells[-1])}",
        steps=steps,
        shown=_shown(notebook, first, "merge", new_text=text, others=tuple(each.cell_id for each in rest)),
        records=(_record(notebook, first, after=text), *(_deleted(notebook, each) for each in rest)),
        orders=_orders(notebook, steps),
        before=first.source,
        after=text,
        done=f"Merged {many} into {_title(first)} (id {first.cell_id}).",
    )


def _set_type(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    (cell,) = cells
    kind = arguments["cell_type"]
    if kind == cell.kind:
        raise UsageError(f"{_name(cell)} is a {TYPE_NAMES[kind]} cell already.")
    step = _replacement(cell, new_kind=kind, expected_kind=cell.kind)
    return CellPlan(
        title=f"Make {_title(cell)} a {TYPE_NAMES[kind]} cell",
        steps=(step,),
        shown=_shown(notebook, cell, "type", new_kind=kind),
        records=(_record(notebook, cell, kind=kind, old_kind=cell.kind),),
        done=f"Made {_title(cell)} (id {cell.cell_id}) a {TYPE_NAMES[kind]} cell.",
    )


def _set_tags(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[CellView]) -> CellPlan:
    (cell,) = cells
    tags = tuple(dict.fromkeys(each.strip() for each in arguments["tags"]))
    for tag in tags:
        if not tag.isprintable() or not 0 < len(tag) <= LONGEST_TAG:
            raise UsageError(f"A tag has 1 to {LONGEST_TAG} characters that can be printed, unlike {tag!r}.")
    if len(tags) > MOST_TAGS:
        raise UsageError(f"A cell has at most {MOST_TAGS} tags, not {len(tags)}.")
    if tags == cell.tags:
        raise UsageError(f"{_name(cell)} has these tags already.")
    listed = ", ".join(tags)
    return CellPlan(
        title=f"Tag {_title(cell)} with {listed}" if tags else f"Remove the tags of {_title(cell)}",
        steps=(_replacement(cell, tags=tags, expected_tags=cell.tags),),
        shown=_shown(notebook, cell, "tags", new_tags=tags),
        records=(_record(notebook, cell, tags=tags, old_tags=cell.tags),),
        done=f"The tags of {_title(cell)} (id {cell.cell_id}) are now: {listed or 'none'}.",
    )


PLANS: dict[str, Callable[[Mapping[str, Any], NotebookView, Sequence[CellView]], CellPlan]] = {
    "move_cell": _move,
    "delete_cell": _delete,
    "split_cell": _split,
    "merge_cells": _merge,
    "set_cell_type": _set_type,
    "set_cell_tags": _set_tags,
}
"""By tool."""


def proposed_cell(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> ToolCallCell | None:
    """What the call of a kernel tool would do to a cell, for a page that shows it there; None where it changes none."""
    if not notebook.live:
        return None
    try:
        if name in PLANS:
            return plan_cells(name, arguments, notebook).shown
        if name == "replace_cell":
            return _shown(notebook, named_cell(arguments["cell"], notebook), "replace", new_text=arguments["source"])
        if name == "insert_cell":
            below = named_cell(arguments["below"], notebook) if "below" in arguments else None
            return ToolCallCell(
                notebook=notebook.name,
                action="insert",
                cell_id=below.cell_id if below is not None else None,
                kind=arguments.get("cell_type", "code"),
                new_text=arguments["source"],
            )
    except UsageError:
        pass  # the call itself says so
    return None


def check_locks(tool: str, cells: Sequence[CellView]) -> None:
    """Check that *tool* may change *cells*: those of ``merge_cells`` but the first are deleted, others edited.

    Moving a cell is always possible, as it is for the user.
    """
    if tool == "move_cell":
        return
    deleted = cells if tool == "delete_cell" else cells[1:]
    for cell in cells:
        is_deleted = any(cell is each for each in deleted)
        if cell.deletable if is_deleted else cell.editable:
            continue
        lock, can = ("deletable", "deleted") if is_deleted else ("editable", "edited")
        named = cell_title(cell.kind, cell.count, cell.source)
        raise UsageError(
            f"{named[0].upper()}{named[1:]} can't be {can}: its metadata has `{lock}: false`.",
            hint="Leave it as it is and insert a new cell instead, or ask the user to unlock it (JupyterLab: Property "
            "Inspector → Common Tools).",
        )


def note_on_file(notebook: NotebookView) -> str:
    """What to add to the answer of a tool that changed *notebook*; empty where its file can be written."""
    if not notebook.read_only:
        return ""
    return (
        f"\nThe file of {notebook.name} is read-only: the change is in the open page only, and can't be saved there. "
        "Tell the user to save the notebook under another name (File → Save Notebook As…)."
    )


class ReadTexts:
    """The cells' texts as the agent was last given them, by notebook: a copy has cells with the same ids.

    A cell that has another text since is not changed.
    """

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def note(self, notebook: str, cell_id: str, text: str | None) -> None:
        """The agent knows *text* of the cell; None: nothing any longer."""
        known = self._texts.setdefault(notebook, {})
        known.pop(cell_id, None)
        if text is not None:
            known[cell_id] = text

    def text(self, notebook: str, cell_id: str) -> str | None:
        """The text that the agent knows; of a notebook that it has not read by this name, which may be new, by any."""
        if (known := self._texts.get(notebook)) is not None:
            return known.get(cell_id)
        return next((each[cell_id] for each in reversed(self._texts.values()) if cell_id in each), None)


def _deletion(cell: CellView) -> CellStep:
    return CellStep(action="delete", cell_id=cell.cell_id, expected=cell.source)


def _replacement(cell: CellView, **what: Any) -> CellStep:
    return CellStep(
        action="replace", cell_id=cell.cell_id, kind=cell.kind, source=cell.source, expected=cell.source, **what
    )


def _deleted(notebook: NotebookView, cell: CellView) -> CellRecord:
    at = notebook.cells.index(cell)
    return _record(
        notebook,
        cell,
        after=None,
        old_tags=cell.tags,
        below=notebook.cells[at - 1].cell_id if at else None,
        index=notebook.start + at,
    )


def _record(notebook: NotebookView, cell: CellView, **what: Any) -> CellRecord:
    given = {"kind": cell.kind, "before": cell.source, "after": cell.source, "count": cell.count, **what}
    return CellRecord(cell_id=cell.cell_id, notebook=notebook.name, **given)


def _shown(notebook: NotebookView, cell: CellView, action: str, **what: Any) -> ToolCallCell:
    return ToolCallCell(
        notebook=notebook.name,
        action=action,
        cell_id=cell.cell_id,
        kind=cell.kind,
        old_text=None if cell.cut else cell.source,
        **what,
    )


def _orders(notebook: NotebookView, steps: Sequence[CellStep]) -> tuple[CellOrder, CellOrder]:
    before = order_of(notebook)
    return before, before.after(steps)


def _title(cell: CellView) -> str:
    return cell_title(cell.kind, cell.count, cell.source)


def _name(cell: CellView) -> str:
    title = _title(cell)
    return title[0].upper() + title[1:]
