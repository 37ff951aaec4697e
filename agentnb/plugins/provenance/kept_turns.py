"""The turns that changed cells, from the records of changes and the session log."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.api.columns import on_one_line
from agentnb.changes.store import ChangeStore
from agentnb.credentials import Credentials
from agentnb.errors import AgentnbError
from agentnb.host.changes.items import stored_content
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.records import TurnChangeRecord, read_record
from agentnb.plugins.provenance.cell_metadata import cells_of
from agentnb.plugins.provenance.line_ledger import CellChange
from agentnb.plugins.provenance.turns import (
    ProvenanceTurn,
    TurnStep,
    TurnSteps,
    cell_id_of,
    steps_of_calls,
    steps_of_items,
    steps_of_placed,
)
from agentnb.state import ToolCallCompletedState, ToolCallResponsePart
from agentnb.state.change import milliseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from agentnb.host.changes.records import ConversationRecord, Item
    from agentnb.log.record import StoredSession
    from agentnb.log.store import LogStore
    from agentnb.state import ToolCallCell, Turn

FIRST_WORDS = 80
"""Characters of a prompt that are shown."""
MOST_REMEMBERED = 500
_NOT_THE_AGENTS = {"user", "otherTab"}


class WantedNotebook(NamedTuple):
    """The ids of the cells of the notebook whose turns are wanted, and its file; None if that is not known."""

    ids: Collection[str]
    path: Path | None


class KeptTurns:
    """Reads the turns; records and conversations that have not changed are read once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # requests of pages run on several threads
        self._records: dict[Path, tuple[tuple[int, int], ConversationRecord]] = {}
        self._sessions: dict[str, tuple[int, StoredSession]] = {}

    def about(
        self, wanted: WantedNotebook, log: LogStore | None, open_here: Iterable[ConversationRecord] = ()
    ) -> list[TurnSteps]:
        """Returns the turns of all conversations that changed cells of a notebook, the earliest first.

        *open_here*: the records of conversations that this kernel has open; their files may be older.
        """
        records: dict[str, tuple[Path | None, ConversationRecord]] = {each.session: (None, each) for each in open_here}
        with self._lock:
            for folder, record in self._files():
                records[record.session] = (folder, records[record.session][1] if record.session in records else record)
            chosen = [each for each in records.values() if _is_about(each[1], wanted)]
            turns = [turn for folder, record in chosen for turn in self._turns(record, folder, wanted, log)]
        first: dict[str, TurnSteps] = {}
        for _, each in sorted(turns, key=lambda each: each[0]):
            known = first.get(each.turn.turn)  # a duplicated conversation has the same turns
            first[each.turn.turn] = each if known is None else known.with_placed(each)
        return list(first.values())

    def _files(self) -> Iterator[tuple[Path, ConversationRecord]]:
        """Yields every record, with the folder of its store."""
        for path in sorted(changes_folder().glob("*/records/*.json")):
            try:
                state = path.stat()
            except OSError:
                continue
            signature = (state.st_mtime_ns, state.st_size)
            known = self._records.pop(path, None)
            record = known[1] if known is not None and known[0] == signature else read_record(path)
            if record is not None:
                self._records[path] = (signature, record)
                yield path.parent.parent, record
        while len(self._records) > MOST_REMEMBERED:
            del self._records[next(iter(self._records))]

    def _turns(
        self, record: ConversationRecord, folder: Path | None, wanted: WantedNotebook, log: LogStore | None
    ) -> Iterator[tuple[tuple[int, int], TurnSteps]]:
        """Yields the turns of a conversation, each with its end time and the start time of the conversation."""
        stored = self._stored(record.session, log)
        turns = {} if stored is None else {each.id: (at, each) for at, each in enumerate(stored.chat.turns, 1)}
        title = "" if stored is None else _first_words(stored.record.title)
        for change in (*record.turns, *_turns_without_changes(record)):
            number, turn = turns.get(change.turn_id, (None, None))
            steps = (
                *_steps_of_file(record, change, folder, wanted),
                *steps_of_calls(_cells(turn)),
                *steps_of_items(change.items),
                *steps_of_placed(each for each in record.placed if each.turn_id == change.turn_id),
            )
            if not steps:
                continue
            time = _time(change, turn)
            made = ProvenanceTurn(
                session=record.session,
                turn=change.turn_id,
                agent=record.session.partition(":")[0],
                model=change.model or (turn.usage.model or "" if turn is not None and turn.usage is not None else ""),
                number=number,
                time=time or None,
                prompt="" if turn is None else _first_words(turn.message.text),
                title=title,
                is_kept=turn is not None,
            )
            yield (time, 0 if stored is None else stored.record.created_at), TurnSteps(made, steps)

    def _stored(self, session: str, log: LogStore | None) -> StoredSession | None:
        """Returns the conversation; None if the log does not have it, or it cannot be read."""
        if log is None:
            return None
        try:
            record = next((each for each in log.named(session.rpartition("/")[2]) if each.uri == session), None)
            if record is None:
                return None
            known = self._sessions.pop(session, None)
            stored = known[1] if known is not None and known[0] == record.modified_at else log.load(session)
        except AgentnbError:
            return None
        self._sessions[session] = (record.modified_at, stored)
        while len(self._sessions) > MOST_REMEMBERED:
            del self._sessions[next(iter(self._sessions))]
        return stored


def _turns_without_changes(record: ConversationRecord) -> Iterator[TurnChangeRecord]:
    """Returns the turns that changed nothing themselves but from whose answers the user took code."""
    turns = dict.fromkeys(each.turn_id for each in record.placed)
    return (TurnChangeRecord(turn_id=each) for each in turns if record.turn(each) is None)


def _is_about(record: ConversationRecord, wanted: WantedNotebook) -> bool:
    changed = any(_concerns(item, record, wanted) for turn in record.turns for item in turn.items)
    return changed or any(each.cell_id in wanted.ids or _is_path(each.notebook, wanted.path) for each in record.placed)


def _concerns(item: Item, record: ConversationRecord, wanted: WantedNotebook) -> bool:
    if item.kind == "cell":
        notebook = item.notebook or (item.place.notebook if item.place is not None else None)
        return cell_id_of(item) in wanted.ids or _is_path(notebook, wanted.path)
    return _is_file(item, record, wanted)


def _is_path(notebook: str | None, path: Path | None) -> bool:
    """True if *notebook*, a path on a Jupyter server, may be the file *path*."""
    if not notebook or path is None:
        return False
    ends = Path(notebook.strip("/")).parts
    return path.parts[-len(ends) :] == ends


def _is_file(item: Item, record: ConversationRecord, wanted: WantedNotebook) -> bool:
    if item.kind != "file" or item.file is None or wanted.path is None or _NOT_THE_AGENTS & {*item.by}:
        return False
    return any(Path(record.workspace, each) == wanted.path for each in item.file.paths)


def _steps_of_file(
    record: ConversationRecord, change: TurnChangeRecord, folder: Path | None, wanted: WantedNotebook
) -> Iterator[TurnStep]:
    """Yields what the agent did to the cells in the notebook's file."""
    for item in change.items:
        if folder is None or item.file is None or not _is_file(item, record, wanted):
            continue
        try:
            store = ChangeStore(folder, Path(record.workspace), is_sensitive=lambda _: False)
            texts = [stored_content(store, each) for each in (item.file.before, item.file.after)]
            before, after = ({} if text is None else _texts(text) for text in texts)
        except (AgentnbError, OSError):
            continue
        changes = [
            CellChange(cell, before.get(cell), after.get(cell))
            for cell in {**before, **after}
            if before.get(cell) != after.get(cell)
        ]
        if changes:
            yield TurnStep(tuple(changes), undone=item.state == "undone")


def _texts(content: bytes) -> Mapping[str, str]:
    """Returns the texts of the cells in a notebook's file, keyed by id, or by text if a cell has no id."""
    cells = cells_of(content.decode("utf-8", "replace"))
    return {each.id or f"text {each.source}": each.source for each in cells}


def _cells(turn: Turn | None) -> Iterator[ToolCallCell]:
    """Yields the cells that the turn's tool calls changed, in order."""
    for part in () if turn is None else turn.response_parts:
        call = part.tool_call if isinstance(part, ToolCallResponsePart) else None
        if isinstance(call, ToolCallCompletedState) and call.success and call.details is not None and call.details.cell:
            yield call.details.cell


def _time(change: TurnChangeRecord, turn: Turn | None) -> int:
    """Returns the end time of the turn, in milliseconds since 1970; 0 if it is not known."""
    snapshot = change.after or change.before
    if snapshot is not None:
        return snapshot.taken_at
    if turn is not None and turn.started_at is not None:
        with suppress(ValueError):
            return milliseconds(turn.started_at)
    return 0


def _first_words(text: str) -> str:
    """Returns the first words on one line, without credentials."""
    line = " ".join(Credentials(os.environ).hidden(text[: FIRST_WORDS * 20]).split())
    return on_one_line(line if len(line) <= FIRST_WORDS else f"{line[: FIRST_WORDS - 1].rstrip()}…")
