"""The effect of a kernel tool that changes cells, before it is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.kernel.cell_changes import (
    LONGEST_TAG,
    MOST_TAGS,
    CellOrder,
    CellRecord,
    capitalized,
    cell_title,
    named_cell,
)
from agentnb.kernel.code_runner import CellStep, Edit, Edited
from agentnb.state import ToolCallCell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookCell, NotebookView

SECOND_LINE = 2  # the first line that a cell can be split before
TYPE_NAMES = {"code": "code", "markdown": "Markdown", "raw": "raw"}
BETWEEN_MERGED = "\n\n"  # the separator between the texts of merged cells, as JupyterLab merges them


class CellPlan(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    cell: ToolCallCell
    records: tuple[CellRecord, ...]
    edit: Edit | None = None
    steps: tuple[CellStep, ...] = ()
    changes_order: bool = False
    before: str = ""
    after: str = ""
    done: str = ""

    def performed(self, answer: Edited) -> CellPlan:
        """Returns the plan completed with the page's answer to its edit."""
        (record,) = self.records
        record = replace(record, cell_id=answer.cell_id or record.cell_id, index=answer.index)
        if answer.before is not None:
            record = replace(record, before=answer.before, is_known=True)
        step = CellStep(action="insert", cell_id=record.cell_id, below=record.below, index=record.index)
        return replace(self, records=(record,), steps=(step,), done=answer.text)

    def orders(self, notebook: NotebookView) -> tuple[CellOrder, CellOrder] | None:
        """The order of the cells of *notebook* before and after; None if it does not change."""
        before = CellOrder(tuple(cell.id for cell in notebook.cells), notebook.start)
        return (before, before.after(self.steps)) if self.changes_order else None


def planned_cells(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> tuple[NotebookCell, ...]:
    """The cells that a call would change, whose texts must still be as the agent read them."""
    if name == "insert_cell":
        return ()
    if name == "clear_outputs" and "cell" not in arguments:
        return tuple(each for each in notebook.cells if each.kind == "code" and each.count and not asks_agent(each))
    if name != "merge_cells":
        return (named_cell(arguments["cell"], notebook),)
    first, last = (notebook.cells.index(named_cell(arguments[each], notebook)) for each in ("first", "last"))
    if first >= last:
        raise UsageError(
            "The last cell to merge must be below the first.", hint="`cells` without either shows their order."
        )
    return notebook.cells[first : last + 1]


def plan_cells(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> CellPlan:
    """The effect that the tool *name* would have on *notebook* with the checked *arguments*."""
    return PLANS[name](arguments, notebook, planned_cells(name, arguments, notebook))


def proposed_cell(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> ToolCallCell | None:
    """The proposal that a page shows in the cell that a call would change; None if there is nothing to show."""
    if not notebook.live or name not in PLANS:
        return None
    try:
        return plan_cells(name, arguments, notebook).cell
    except UsageError:
        return None  # the call itself raises the error


def _insert(arguments: Mapping[str, Any], notebook: NotebookView, _cells: Sequence[NotebookCell]) -> CellPlan:
    below = named_cell(arguments["below"], notebook) if "below" in arguments else None
    above = below or (notebook.cells[-1] if notebook.cells else None)
    kind, source = arguments.get("cell_type", "code"), arguments["source"]
    below_id = None if below is None else below.id
    # With a number, the cell's code is left out: it would look like the new cell's code.
    name = f"In [{below.count}]" if below is not None and below.count else below and cell_title(below)
    place = f"below {name}" if name else "at the end"
    return CellPlan(
        title=f"Insert a cell {place}",
        edit=Edit(action="insert", cell_id=below_id, source=source, kind=kind, notebook=notebook.name),
        cell=ToolCallCell(notebook=notebook.name, action="insert", cell_id=below_id, kind=kind, new_text=source),
        records=(_added(notebook, "", kind, source, below=None if above is None else above.id),),
        changes_order=True,
        after=source,
    )


def _replace(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    (cell,) = cells
    source = arguments["source"]
    edit = Edit(
        action="replace",
        cell_id=cell.id,
        source=source,
        expected=cell.source,
        expected_is_cut=cell.cut,
        notebook=notebook.name,
    )
    return CellPlan(
        title=f"Replace {cell_title(cell)}",
        edit=edit,
        cell=_call_cell(notebook, cell, "replace", new_text=source),
        records=(_record(notebook, cell, after=source, is_known=not cell.cut),),
        before=cell.source,
        after=source,
    )


def _move(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    (cell,) = cells
    if ("below" in arguments) == ("above" in arguments):
        raise UsageError(
            "move_cell wants either 'below' or 'above'.", hint="Give only one of them: both say where the cell goes."
        )
    where = "below" if "below" in arguments else "above"
    other = named_cell(arguments[where], notebook)
    if other is cell:
        raise UsageError("A cell cannot be moved next to itself.")
    at = notebook.cells.index(cell)
    rest = [each for each in notebook.cells if each is not cell]
    place = rest.index(other) + (where == "below")
    if place == at:
        raise UsageError(f"{_name(cell)} is already {where} {cell_title(other)}.")
    above, index = rest[place - 1].id if place else None, notebook.start + place
    old = {"old_below": _above(notebook, at), "old_index": notebook.start + at}
    return CellPlan(
        title=f"Move {cell_title(cell)} {where} {cell_title(other)}",
        steps=(CellStep(action="move", cell_id=cell.id, expected=cell.source, below=above, index=index),),
        cell=_call_cell(notebook, cell, "move", below=above),
        records=(_record(notebook, cell, moved=True, below=above, index=index, **old),),
        changes_order=True,
        done=f"Moved {cell_title(cell)} (id {cell.id}) {where} {cell_title(other)} (id {other.id}).",
    )


def _delete(_arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    (cell,) = cells
    return CellPlan(
        title=f"Delete {cell_title(cell)}",
        steps=(_deletion(cell),),
        cell=_call_cell(notebook, cell, "delete"),
        records=(_deleted(notebook, cell),),
        changes_order=True,
        before=cell.source,
        done=f"Deleted {cell_title(cell)} (id {cell.id}).",
    )


def _split(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    (cell,) = cells
    lines = cell.source.split("\n")
    line = arguments["line"]
    if not SECOND_LINE <= line <= len(lines):
        raise UsageError(
            f"{_name(cell)} has {len(lines)} lines; the new cell begins with one of the lines from 2 on, not {line}."
        )
    first, rest = "\n".join(lines[: line - 1]), "\n".join(lines[line - 1 :])
    where: dict[str, Any] = {
        "tags": cell.tags or None,
        "below": cell.id,
        "index": notebook.start + notebook.cells.index(cell) + 1,
    }
    made = new_id()
    return CellPlan(
        title=f"Split {cell_title(cell)} before line {line}",
        steps=(
            _replacement(cell, source=first),
            CellStep(action="insert", cell_id=made, kind=cell.kind, source=rest, **where),
        ),
        cell=_call_cell(notebook, cell, "split", new_text=first, more_text=rest),
        records=(_record(notebook, cell, after=first), _added(notebook, made, cell.kind, rest, **where)),
        changes_order=True,
        before=cell.source,
        after=f"{first}\n\n# --- new cell ---\n\n{rest}" if cell.kind == "code" else f"{first}\n\n---\n\n{rest}",
        done=f"Split {cell_title(cell)} (id {cell.id}); its lines from {line} on are in a new cell (id {made}).",
    )


def _merge(_arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    first, *rest = cells
    other = next((each for each in rest if each.kind != first.kind), None)
    if other is not None:
        message = (
            f"{_name(first)} is a {TYPE_NAMES[first.kind]} cell and {cell_title(other)} a {TYPE_NAMES[other.kind]} one."
        )
        raise UsageError(message, hint="Only cells of one type can be merged; set_cell_type changes a cell's type.")
    text = BETWEEN_MERGED.join(each.source for each in cells)
    return CellPlan(
        title=f"Merge {len(cells)} cells, from {cell_title(first)} to {cell_title(cells[-1])}",
        steps=(_replacement(first, source=text), *map(_deletion, rest)),
        cell=_call_cell(notebook, first, "merge", new_text=text, others=tuple(each.id for each in rest)),
        records=(_record(notebook, first, after=text), *(_deleted(notebook, each) for each in rest)),
        changes_order=True,
        before=first.source,
        after=text,
        done=f"Merged {len(cells)} cells into {cell_title(first)} (id {first.id}).",
    )


def _set_type(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    (cell,) = cells
    kind = arguments["cell_type"]
    if kind == cell.kind:
        raise UsageError(f"{_name(cell)} is a {TYPE_NAMES[kind]} cell already.")
    return CellPlan(
        title=f"Make {cell_title(cell)} a {TYPE_NAMES[kind]} cell",
        steps=(_replacement(cell, new_kind=kind, expected_kind=cell.kind),),
        cell=_call_cell(notebook, cell, "type", new_kind=kind),
        records=(_record(notebook, cell, kind=kind, old_kind=cell.kind),),
        done=f"Made {cell_title(cell)} (id {cell.id}) a {TYPE_NAMES[kind]} cell.",
    )


def _set_tags(arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
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
        title=f"Tag {cell_title(cell)} with {listed}" if tags else f"Remove the tags of {cell_title(cell)}",
        steps=(_replacement(cell, tags=tags, expected_tags=cell.tags),),
        cell=_call_cell(notebook, cell, "tags", new_tags=tags),
        records=(_record(notebook, cell, tags=tags, old_tags=cell.tags),),
        done=f"The tags of {cell_title(cell)} (id {cell.id}) are now: {listed or 'none'}.",
    )


def _clear_outputs(_arguments: Mapping[str, Any], notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
    if not cells or cells[0].kind != "code" or asks_agent(cells[0]):
        why = f"{_name(cells[0])} is not a code cell, or asks an agent." if cells else "No code cell has been run yet."
        raise UsageError(why, hint="`cells` lists the existing cells.")
    what = cell_title(cells[0]) if len(cells) == 1 else f"{len(cells)} cells"
    return CellPlan(
        title=f"Clear the outputs of {what}",
        steps=tuple(CellStep(action="clear", cell_id=each.id, expected=None) for each in cells),
        cell=_call_cell(notebook, cells[0], "change"),
        records=tuple(_record(notebook, each, cleared=True) for each in cells),
        done=f"Cleared the outputs of {what}. The variables are as before.",
    )


def asks_agent(cell: NotebookCell) -> bool:
    """True if the cell is a prompt, whose output is the conversation."""
    return cell.source.lstrip().startswith(("%agent", "%%agent"))


PLANS: dict[str, Callable[[Mapping[str, Any], NotebookView, Sequence[NotebookCell]], CellPlan]] = {
    "insert_cell": _insert,
    "replace_cell": _replace,
    "move_cell": _move,
    "delete_cell": _delete,
    "split_cell": _split,
    "merge_cells": _merge,
    "set_cell_type": _set_type,
    "set_cell_tags": _set_tags,
    "clear_outputs": _clear_outputs,
}
"""The tools that change cells, and the function that plans each one's effect."""


def check_locks(tool: str, cells: Sequence[NotebookCell]) -> None:
    """Check that *tool* may change *cells*: ``merge_cells`` deletes all but the first; the others are edited."""
    if tool in {"move_cell", "clear_outputs"}:
        return
    deleted = cells if tool == "delete_cell" else cells[1:]
    for cell in cells:
        is_deleted = any(cell is each for each in deleted)
        if cell.deletable if is_deleted else cell.editable:
            continue
        lock, can = ("deletable", "deleted") if is_deleted else ("editable", "edited")
        raise UsageError(
            f"{_name(cell)} can't be {can}: its metadata has `{lock}: false`.",
            hint="Leave it as it is and insert a new cell instead, or ask the user to unlock it (JupyterLab: Property "
            "Inspector → Common Tools).",
        )


def note_on_file(notebook: NotebookView) -> str:
    """A note for the answer of a tool that changed *notebook*; '' if its file can be written."""
    if not notebook.read_only:
        return ""
    return (
        f"\nThe file of {notebook.name} is read-only: the change is in the open page only, and can't be saved there. "
        "Tell the user to save the notebook under another name (File → Save Notebook As…)."
    )


def _deletion(cell: NotebookCell) -> CellStep:
    return CellStep(action="delete", cell_id=cell.id, expected=cell.source)


def _replacement(cell: NotebookCell, **what: Any) -> CellStep:
    fields = {"source": cell.source, "expected": cell.source, **what}
    return CellStep(action="replace", cell_id=cell.id, kind=cell.kind, **fields)


def _added(notebook: NotebookView, cell_id: str, kind: str, text: str, **where: Any) -> CellRecord:
    return CellRecord(cell_id=cell_id, notebook=notebook.name, kind=kind, before=None, after=text, **where)


def _deleted(notebook: NotebookView, cell: NotebookCell) -> CellRecord:
    at = notebook.cells.index(cell)
    where = {"below": _above(notebook, at), "index": notebook.start + at}
    return _record(notebook, cell, after=None, old_tags=cell.tags, **where)


def _record(notebook: NotebookView, cell: NotebookCell, **what: Any) -> CellRecord:
    fields = {"kind": cell.kind, "before": cell.source, "after": cell.source, "count": cell.count, **what}
    return CellRecord(cell_id=cell.id, notebook=notebook.name, **fields)


def _above(notebook: NotebookView, at: int) -> str | None:
    return notebook.cells[at - 1].id if at else None


def _call_cell(notebook: NotebookView, cell: NotebookCell, action: str, **what: Any) -> ToolCallCell:
    return ToolCallCell(
        notebook=notebook.name,
        action=action,
        cell_id=cell.id,
        kind=cell.kind,
        old_text=None if cell.cut else cell.source,
        **what,
    )


def _name(cell: NotebookCell) -> str:
    return capitalized(cell_title(cell))
