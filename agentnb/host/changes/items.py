"""The items of a turn's record: files from a comparison, cells and variables from the kernel; and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.changes.model import path_to_json
from agentnb.changes.text_diff import count_lines
from agentnb.errors import ChangesError
from agentnb.host.changes.attribution import is_left_alone
from agentnb.host.changes.records import Item, TurnChangeRecord, count_by_kind
from agentnb.kernel.cell_changes import CellRecord
from agentnb.kernel.variables.changes import NameChange
from agentnb.state import TurnChanges

if TYPE_CHECKING:
    from agentnb.changes.model import FileVersion, PathChange
    from agentnb.changes.store import ChangeStore
    from agentnb.host.changes.records import By, State


def file_item(change: PathChange, counted: tuple[int | None, int | None] | None, by: tuple[By, ...]) -> Item:
    added, removed = counted or (None, None)
    name = path_to_json(change.path)
    return Item(
        id=f"file:{name}",
        kind="file",
        name=name,
        was=None if change.was is None else path_to_json(change.was),
        status=change.status,
        by=by,
        added=added,
        removed=removed,
        undoable=change.undoable,
        reason=change.reason,
        file=change,
        binary=counted == (None, None) and change.undoable,
    )


def kernel_item(change: CellRecord | NameChange, *, is_kept: bool) -> Item:
    """A changed cell or variable as an item: its texts are a cell's source, or a line on an object."""
    item = Item(
        id=change.id,
        kind="variable",
        name=change.name,
        status=change.status,
        state=_state(change, is_kept=is_kept),
        by=("during",) if isinstance(change, CellRecord) and change.from_file else ("toolCall",),
        undoable=change.refusal is None,
        detail=change.detail or None,
    )
    if isinstance(change, NameChange):
        before, after = (None if each is None else each.summary.text for each in (change.before, change.after))
        return replace(item, reason=change.reason, before=before, after=after)
    kind = change.kind if change.after is not None else change.old_kind or change.kind
    texts = ((each or "").encode("utf-8", "replace") for each in (change.before, change.after))
    added, removed = count_lines(*texts)
    return replace(
        item,
        kind="cell",
        reason=change.refusal,
        before=change.before,
        after=change.after,
        added=added,
        removed=removed,
        language={"code": "python", "markdown": "markdown"}.get(kind),
        place=change.old_place,
        notebook=change.notebook,
    )


def _state(change: CellRecord | NameChange, *, is_kept: bool) -> State:
    if isinstance(change, CellRecord) and change.offered:
        return "kept" if is_kept else "offered"
    return "undone" if change.undone else "kept" if is_kept else "open"


def numbers(record: TurnChangeRecord) -> TurnChanges:
    """Returns what the chat's state says of a turn's changes."""
    items, counts = record.items, count_by_kind(record.items)
    return TurnChanges(
        status="ready",
        files=counts["file"],
        added=sum(each.added or 0 for each in items if each.kind == "file"),
        removed=sum(each.removed or 0 for each in items if each.kind == "file"),
        cells=counts["cell"],
        variables=counts["variable"],
        undone=sum(each.state == "undone" for each in items),
        kept=sum(each.state == "kept" for each in items),
        undoable=sum(each.state == "open" and each.undoable and not is_left_alone(each.by) for each in items),
        notes=record.notes or None,
        data_checks=record.data_checks or None,
    )


def stored_content(store: ChangeStore, version: FileVersion | None) -> bytes | None:
    """The content of one side of a change; None where there is no such side, or its content is not stored."""
    try:
        return None if version is None else store.content(version)
    except ChangesError:
        return None
