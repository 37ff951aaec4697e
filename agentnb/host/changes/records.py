"""Records of the changes of a conversation's turns, kept beside the store so that a resumed one can undo, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from agentnb.changes.model import FileVersion, PathChange, Snapshot, folders_above, path_from_json, path_to_json
from agentnb.clock import now_ms
from agentnb.credentials import logger
from agentnb.kernel.cell_changes import CellPlace
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record as read_json_record
from agentnb.state import DataCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from logging import Logger
    from pathlib import Path

log: Logger = logger("agentnb.changes")

Kind: TypeAlias = Literal["file", "cell", "variable"]
"""The kind of thing that was changed."""

Status: TypeAlias = Literal["added", "changed", "deleted", "moved"]
"""The change that was made to it."""

State: TypeAlias = Literal["open", "kept", "undone", "offered"]
"""The state of the change: open, accepted, or undone. A cell that an agent wrote to the file of an open notebook is
offered to the notebook until it is applied there."""

By: TypeAlias = Literal["toolCall", "during", "otherTab", "user"]
"""Who changed it, if known: a tool call of the turn named it; it changed while the turn ran; another tab of this kernel
also changed it; the user saved it."""


class Item(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    id: str
    kind: Kind
    name: str
    was: str | None = None
    status: Status
    state: State = "open"
    by: tuple[By, ...] = ()
    added: int | None = None  # lines added; None if they cannot be counted
    removed: int | None = None
    undoable: bool = True
    reason: str | None = None
    detail: str | None = None
    file: PathChange | None = None
    before: str | None = None
    after: str | None = None
    language: str | None = None
    binary: bool = False
    place: CellPlace | None = None
    notebook: str | None = None  # for a cell: the notebook's path on the Jupyter server
    undone_parts: tuple[FileVersion, ...] = ()  # the version before each undo of a part
    kept_from: FileVersion | None = None  # the version before the turn, if parts of the change were kept


class TurnChangeRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    turn_id: str
    before: Snapshot | None = None
    after: Snapshot | None = None
    between: tuple[Snapshot, ...] = ()
    items: tuple[Item, ...] = ()
    made_folders: tuple[str, ...] | None = None
    removed_folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""  # the language model's id, if the agent reports it
    data_checks: tuple[DataCheck, ...] = ()

    def item(self, item_id: str) -> Item | None:
        return next((each for each in self.items if each.id == item_id), None)


class PlacedCode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Code of an agent's answer that the user put into a cell by a click."""

    turn_id: str
    cell_id: str
    notebook: str  # its path on the Jupyter server
    before: str | None = None  # the cell's text; None if the cell is new
    after: str
    time: int  # milliseconds since 1970


class Undone(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One undo, which is itself a change that redo takes back."""

    time: int  # milliseconds since 1970
    items: tuple[tuple[str, str], ...]
    files: tuple[PathChange, ...] = ()
    is_whole: bool = True

    def without(self, done: AbstractSet[tuple[str, str]]) -> Undone:
        """Returns what is left of the undo after the items *done* were redone."""
        items = tuple(each for each in self.items if each not in done)
        return self if items == self.items else replace(self, items=items, files=(), is_whole=False)


class ConversationRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    session: str
    workspace: str
    turns: tuple[TurnChangeRecord, ...] = ()
    undone: tuple[Undone, ...] = ()
    rewinding: str | None = None  # the conversation is being rewound to before this turn
    placed: tuple[PlacedCode, ...] = ()
    version: int = 1

    def turn(self, turn_id: str) -> TurnChangeRecord | None:
        return next((each for each in self.turns if each.turn_id == turn_id), None)

    def with_turn(self, turn: TurnChangeRecord) -> ConversationRecord:
        known = any(each.turn_id == turn.turn_id for each in self.turns)
        turns = tuple(turn if each.turn_id == turn.turn_id else each for each in self.turns)
        return replace(self, turns=turns if known else (*turns, turn))

    def with_item(self, turn_id: str, item: Item) -> ConversationRecord:
        if (turn := self.turn(turn_id)) is None:
            return self
        return self.with_turn(replace(turn, items=tuple(item if each.id == item.id else each for each in turn.items)))

    def with_states(self, items: Iterable[tuple[str, str]], state: State) -> ConversationRecord:
        """A copy of the record with the changes *items* (turn and item ids) set to *state*."""
        wanted = frozenset(items)

        def changed(turn: TurnChangeRecord) -> TurnChangeRecord:
            after = (replace(each, state=state) if (turn.turn_id, each.id) in wanted else each for each in turn.items)
            return replace(turn, items=tuple(after))

        return replace(self, turns=tuple(map(changed, self.turns)))

    @property
    def folders(self) -> dict[str, bool]:
        """The folders that turns made or removed; False for one that is removed with the last entry in it."""
        folders: dict[str, bool] = {}
        undone_at: dict[str, float] = {}
        times = {key: each.time for each in self.undone for key in each.items}
        for turn in self.turns:
            for path, before, after in _folders(turn):
                time = _undone_at(turn, path, times)
                if time is None:
                    folders[path] = after
                    undone_at.pop(path, None)
                elif turn.after is None or undone_at.get(path, 0) <= turn.after.taken_at:
                    folders[path] = before  # otherwise an earlier turn was undone after this one ended
                    undone_at[path] = time
        return folders

    @property
    def next_time(self) -> int:
        """The time for an undo made now, in milliseconds since 1970; later than all earlier undos and ended turns."""
        before = [each.time for each in self.undone]
        before += [turn.after.taken_at for turn in self.turns if turn.after is not None]
        return max(now_ms(), 1 + max(before, default=0))

    def paths(self, items: Iterable[tuple[str, str]]) -> frozenset[str]:
        """The paths of the changes *items* (turn and item ids)."""
        wanted = frozenset(items)
        files = (item.file for turn in self.turns for item in turn.items if (turn.turn_id, item.id) in wanted)
        return frozenset(path for file in files if file is not None for path in file.paths)

    @property
    def snapshots(self) -> frozenset[str]:
        of_turns = ((turn.before, *turn.between, turn.after) for turn in self.turns)
        return frozenset(snapshot.id for each in of_turns for snapshot in each if snapshot is not None)


def _folders(turn: TurnChangeRecord) -> Iterator[tuple[str, bool, bool]]:
    """The folders that *turn* made or removed, and whether each exists before and after it."""
    if turn.made_folders is None:
        paths = {path for item in turn.items if item.file is not None for path in item.file.paths}
        above = {folder for path in paths for folder in folders_above(path)} - paths
        yield from ((path, False, False) for path in sorted(above))
    yield from ((path, False, True) for path in turn.made_folders or ())
    yield from ((path, True, False) for path in turn.removed_folders)


def _undone_at(turn: TurnChangeRecord, folder: str, times: Mapping[tuple[str, str], float]) -> float | None:
    items = {path: item for item in turn.items if item.file is not None for path in item.file.paths}
    inside = [item for path, item in items.items() if path.startswith(f"{folder}/")]
    concerned = [items[folder]] if folder in items else inside
    if any(item.state != "undone" for item in concerned):
        return None
    return max((times.get((turn.turn_id, item.id), math.inf) for item in concerned), default=0)


def count_by_kind(items: Iterable[Item]) -> dict[Kind, int]:
    """Returns how many files, cells and variables changed; one that several turns changed counts once."""
    counts: dict[Kind, int] = {"file": 0, "cell": 0, "variable": 0}
    for kind, _ in {(item.kind, item.id) for item in items}:
        counts[kind] += 1
    return counts


def record_file(records: Path, tab_id: str) -> Path:
    return records / f"{tab_id}.json"


def read_record(path: Path) -> ConversationRecord | None:
    """Returns the record in the file *path*; None if there is none, or it is damaged."""
    try:
        record = read_json_record(path.read_bytes(), ConversationRecord)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read, so its turns cannot be undone: %s", path, error)
        return None
    return _with_paths(record, path_from_json)


def write_record(path: Path, record: ConversationRecord) -> None:
    """Write *record* to the file *path* atomically, readable only by its owner."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, msgspec.json.encode(_with_paths(record, path_to_json)))


def all_records(changes: Path) -> Iterator[tuple[Path, ConversationRecord]]:
    """The records of every conversation in every store below the folder *changes*."""
    for path in sorted(changes.glob("*/records/*.json")):
        record = read_record(path)
        if record is not None:
            yield path, record


def _with_paths(record: ConversationRecord, change: Callable[[str], str]) -> ConversationRecord:
    """A copy with the paths of file changes rewritten, since JSON cannot hold undecodable bytes."""

    def file(each: PathChange) -> PathChange:
        return replace(each, path=change(each.path), was=None if each.was is None else change(each.was))

    def item(each: Item) -> Item:
        return each if each.file is None else replace(each, file=file(each.file))

    def of_turn(turn: TurnChangeRecord) -> TurnChangeRecord:
        made, removed = (
            None if each is None else tuple(map(change, each)) for each in (turn.made_folders, turn.removed_folders)
        )
        return replace(turn, items=tuple(map(item, turn.items)), made_folders=made, removed_folders=removed or ())

    turns = tuple(map(of_turn, record.turns))
    undone = tuple(replace(each, files=tuple(map(file, each.files))) for each in record.undone)
    return replace(record, turns=turns, undone=undone)
