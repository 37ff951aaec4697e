"""Undoes, redoes and keeps one part of a file's change.

An undone part leaves the change: the file is brought to the version without it. A kept part leaves it, too: what
remains to be decided starts from the version with it. When nothing remains, the whole change, in its original form,
is undone or kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from agentnb.changes.model import FileVersion, PathChange, Step
from agentnb.changes.text_diff import count_lines, text_lines
from agentnb.errors import ChangesError, ChangesUnavailable, UsageError
from agentnb.host.changes.notebook_cells import SUFFIX
from agentnb.host.changes.records import Undone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.changes.model import Choice
    from agentnb.changes.store import ChangeStore
    from agentnb.host.changes.change_tracker import ChangeTracker
    from agentnb.host.changes.records import Item, State


Decision: TypeAlias = Literal["undo", "redo", "keep"]
Decided: TypeAlias = "tuple[Item, FileVersion | None]"
"""The change after a part of it was decided, and the file's target if it has to be written."""


class Hunk(NamedTuple):
    """The ranges of lines that differ, from 0 and without the end, in the two versions with these digests."""

    before: tuple[int, int]
    after: tuple[int, int]
    digests: tuple[str, str]


def can_be_divided(item: Item) -> bool:
    """True if parts of *item* can be decided: it is text that the turn changed, and a review shows it as it is."""
    file = item.file
    return (
        item.kind == "file"
        and item.state == "open"
        and item.undoable
        and not item.binary
        and file is not None
        and file.was is None
        and file.before is not None
        and file.after is not None
        and {file.before.mode, file.after.mode} <= {"file", "executable"}
        and not item.name.endswith(SUFFIX)
    )


async def decide_hunk(
    tracker: ChangeTracker,
    decision: Decision,
    turn_id: str,
    item: Item,
    hunk: Hunk | None,
    *,
    choices: Mapping[str, Choice],
) -> str:
    """Undo or keep *hunk* of *item*, or redo the part that was undone last; returns a sentence on what was done."""
    store, file = tracker.store, item.file
    if store is None or file is None:
        raise ChangesUnavailable("Changes are not tracked here.", hint="AGENTNB_CHANGES switches that off.")
    if not can_be_divided(item):
        raise UsageError(f"{item.name} can only be decided as a whole.", hint="Leave the lines out.")
    after, target = await store.run(lambda opened: _decided(opened, decision, item, file, hunk))
    changed: tuple[PathChange, ...] = ()
    if target is not None:
        if choices.get(item.name) == "mine":
            return f"{item.name} was left as it is."
        step = Step(path=file.path, base=file.after, target=target)
        changed = await store.run(lambda opened: opened.apply([step], choices))
    record = tracker.record.with_item(turn_id, after)
    if after.state == "undone":
        key = (turn_id, item.id)
        undone = Undone(time=record.next_time, items=(key,), files=changed, is_whole=False)
        record = replace(record, undone=(*record.undone, undone))
    await tracker.save(record)
    words = {"undo": "undone", "redo": "redone", "keep": "kept"}
    return f"A part of {item.name} was {words[decision]}."


def _decided(store: ChangeStore, decision: Decision, item: Item, file: PathChange, hunk: Hunk | None) -> Decided:
    """Runs on the store's thread."""
    if decision == "redo":
        return _redone(store, item, file)
    before, after = file.before, file.after
    if hunk is None or before is None or after is None:
        raise UsageError("It takes the lines to undo or keep.", hint="Omit the lines to select the whole change.")
    if hunk.digests != (before.digest, after.digest):
        raise ChangesError(f"{item.name} was decided in part meanwhile.", hint="Check its diff again.")
    old, new = _lines(store, item, before), _lines(store, item, after)
    (begin, end), (first, last) = hunk.before, hunk.after
    if not (0 <= begin <= end <= len(old) and 0 <= first <= last <= len(new)):
        raise UsageError(f"{item.name} has no such lines.", hint="Check its diff again.")
    if begin == end and first == last:
        raise UsageError("Only the end of the last line differs.", hint="Keep or undo the whole change.")
    if decision == "undo":
        return _undone(store, item, file, b"".join([*new[:first], *old[begin:end], *new[last:]]))
    return _kept(store, item, file, b"".join([*old[:begin], *new[first:last], *old[end:]]))


def _lines(store: ChangeStore, item: Item, version: FileVersion) -> list[bytes]:
    lines = text_lines(store.content(version))
    if lines is None:
        raise UsageError(
            f"{item.name} is not text that can be split into parts.", hint="Keep or undo the whole change."
        )
    return lines


def _redone(store: ChangeStore, item: Item, file: PathChange) -> Decided:
    if not item.undone_parts:
        raise UsageError(f"No part of {item.name} was undone.", hint="Check the changes.")
    last = item.undone_parts[-1]
    again = replace(item, file=replace(file, after=last), undone_parts=item.undone_parts[:-1])
    return _counted(store, again), last


def _undone(store: ChangeStore, item: Item, file: PathChange, content: bytes) -> Decided:
    """The change with a part undone: *content* is the turn's result without that part."""
    before, after = file.before, file.after
    if before is None or after is None:
        return item, None
    target, parts = store.keep(content, after.mode), (*item.undone_parts, after)
    if target.digest == before.digest:
        return _whole(store, item, replace(file, after=parts[0]), "undone"), before
    left = replace(item, file=replace(file, after=target), undone_parts=parts)
    return _counted(store, left), target


def _kept(store: ChangeStore, item: Item, file: PathChange, content: bytes) -> Decided:
    """The change without a part that was kept: *content* is the original with that part."""
    before, after = file.before, file.after
    if before is None or after is None:
        return item, None
    start, origin = store.keep(content, before.mode), item.kept_from or before
    if start.digest == after.digest:
        return _whole(store, item, replace(file, before=origin), "kept"), None
    left = replace(item, file=replace(file, before=start), kept_from=origin)
    return _counted(store, left), None


def _whole(store: ChangeStore, item: Item, file: PathChange, state: State) -> Item:
    """The change in its original form, since no part of it is left to decide."""
    return _counted(store, replace(item, file=file, state=state, undone_parts=(), kept_from=None))


def _counted(store: ChangeStore, item: Item) -> Item:
    file = item.file
    if file is None or file.before is None or file.after is None:
        return item
    added, removed = count_lines(store.content(file.before), store.content(file.after))
    return replace(item, added=added, removed=removed)
