"""The changes of turns, seen from Python: tables of changes, undo, redo and keep."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from agentnb.api.columns import Rows, Table, line_counts, on_one_line
from agentnb.api.waiting import in_time, with_main_thread
from agentnb.changes.model import path_from_json, path_to_json
from agentnb.errors import ChangesError, UsageError
from agentnb.host.changes.undo import merged
from agentnb.host.files.changes import FileChange
from agentnb.host.intents import FROM_PYTHON
from agentnb.host.turns.rewind import rewind
from agentnb.kernel.data_checks import DataChecks
from agentnb.state import find_finished_turn

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from agentnb.host.changes.records import By, Item, State, Status
    from agentnb.host.changes.undo import Operation, Outcome
    from agentnb.host.conversation import Conversation
    from agentnb.host.files.changes import Kind

T = TypeVar("T")

WAIT_SECONDS = 30.0
"""The most seconds that :attr:`agentnb.Turn.changes` waits for the comparison."""
UNDO_SECONDS = 120.0
"""Seconds that undo, redo and keep may take, and the differences of all files of a turn."""

Choice: TypeAlias = Literal["mine", "theirs"]
"""The choice for a file that changed since: keep its current content (``"mine"``), or replace it (``"theirs"``)."""

_TURN_RUNS = "A turn is still running, so its changes are not in this table yet."
HEAD = ("kind", "name", "status", "added", "removed", "by", "state")
_BY: dict[By, str] = {
    "toolCall": "tool call",
    "during": "while the agent worked",
    "otherTab": "another tab",
    "user": "you",
}


class _CallableText(str):
    """A text that may also be called, for one release, because ``Change.diff`` was a method."""

    __slots__ = ()

    def __call__(self) -> str:
        warnings.warn(
            "Change.diff is a property now: change.diff, not change.diff().", DeprecationWarning, stacklevel=2
        )
        return str(self)


class Change:
    """One file, cell or variable that differs after a turn.

    Example:
        >>> change = turn.changes[0]  # doctest: +SKIP
        >>> change.kind, change.name, change.status  # doctest: +SKIP
        ('file', 'fit.py', 'changed')
    """

    def __init__(self, conversation: Conversation, turn_id: str, item: Item) -> None:
        self._conversation = conversation
        self._turn_id = turn_id
        self._item = item

    @property
    def item(self) -> Item:
        """Returns the item that describes this change."""
        return self._item

    @property
    def id(self) -> str:
        """Returns the change's id, unique among the turn's changes, such as ``"file:fit.py"``."""
        return self._item.id

    @property
    def kind(self) -> Literal["file", "cell", "variable"]:
        """Returns what was changed: ``"file"``, ``"cell"`` or ``"variable"``."""
        return self._item.kind

    @property
    def name(self) -> str:
        """Returns the file's path in the workspace, or the cell's or the variable's name."""
        return path_from_json(self._item.name) if self.kind == "file" else self._item.name

    @property
    def was(self) -> str | None:
        """Returns the file's earlier path if it was moved, else None."""
        return None if self._item.was is None else path_from_json(self._item.was)

    @property
    def status(self) -> Status:
        """Returns the kind of difference: ``"added"``, ``"changed"``, ``"deleted"`` or ``"moved"``."""
        return self._item.status

    @property
    def state(self) -> State:
        """Returns what was done about the change: ``"open"`` (nothing), ``"kept"`` or ``"undone"``.

        ``"offered"``: the agent wrote the cell to the file of an open notebook, and the open notebook does not have it.
        """
        return self._item.state

    @property
    def by(self) -> tuple[By, ...]:
        """Returns who changed it, as far as known.

        ``"toolCall"``: a tool call of the turn names it. ``"during"``: it changed during the turn, and nothing shows
        who did it. ``"otherTab"``: a tool call in another tab names it, too. ``"user"``: you saved it in Jupyter.
        """
        return self._item.by

    @property
    def added(self) -> int | None:
        """Returns the number of added lines; None if they cannot be counted."""
        return self._item.added

    @property
    def removed(self) -> int | None:
        """Returns the number of removed lines; None if they cannot be counted."""
        return self._item.removed

    @property
    def undoable(self) -> bool:
        """True if the change can be undone; otherwise :attr:`reason` says why not."""
        return self._item.undoable

    @property
    def reason(self) -> str | None:
        """Returns a sentence on why the change cannot be undone; None if it can."""
        return self._item.reason

    @property
    def detail(self) -> str | None:
        """Returns a few words on the change, such as a variable's shapes; None if there is nothing to add."""
        return self._item.detail

    @property
    def diff(self) -> str:
        """Returns the change as a unified diff; empty for a variable.

        Raises:
            ChangesError: If its contents are no longer stored.
        """
        return _CallableText(_awaited(self._conversation, self._conversation.undo.diff(self._item), WAIT_SECONDS))

    def undo(self, *, choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Undo the change; see :meth:`agentnb.Turn.undo`."""
        return carry_out(self._conversation, "undo", self._turn_id, (self,), choices=choices)

    def redo(self, *, choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Redo the change; see :meth:`agentnb.Turn.redo`."""
        return carry_out(self._conversation, "redo", self._turn_id, (self,), choices=choices)

    def keep(self) -> ChangeTable:
        """Accept the change; see :meth:`agentnb.Turn.keep`."""
        return carry_out(self._conversation, "keep", self._turn_id, (self,))

    def __repr__(self) -> str:
        return f"<Change: {self.kind} {self.name!r} {self.status}{'' if self.state == 'open' else f', {self.state}'}>"


class ChangeTable(Table, Rows[Change]):
    """Changes; a table when displayed.

    Args:
        rows: The changes.
        notes: Sentences on what is not covered or cannot be undone.
        is_known: True if the table has all changes. If False, as while a turn runs, ``notes`` say why.
    """

    _head = HEAD
    _none = ""

    def __init__(self, rows: Iterable[Change] = (), notes: tuple[str, ...] = (), *, is_known: bool = True) -> None:
        super().__init__(rows)
        self.notes = notes
        self.is_known = is_known

    def _cells(self, row: Change) -> tuple[str, ...]:
        return cells_of(row.item)

    def _notes(self) -> tuple[str, ...]:
        """Returns the sentences below the rows; "Nothing was changed." only if that is known."""
        return self.notes if self or not self.is_known else ("Nothing was changed.", *self.notes)


def changes_of(conversation: Conversation, turn_id: str | None) -> ChangeTable:
    """Returns the changes of turn *turn_id*, of the whole conversation for None; waits until they are known."""
    _awaited(conversation, conversation.changes.compared(turn_id), WAIT_SECONDS)
    return conversation.host.loop.call(_read, conversation, turn_id)


def data_checks_of(conversation: Conversation, turn_id: str) -> DataChecks:
    """Returns the possible problems in the tables that turn *turn_id* changed; waits until they are known."""
    _awaited(conversation, conversation.changes.compared(turn_id), WAIT_SECONDS)
    ended = conversation.host.loop.call(find_finished_turn, conversation.chat.state, turn_id)
    changes = None if ended is None else ended.changes
    return DataChecks(() if changes is None else changes.data_checks or ())


def _read(conversation: Conversation, turn_id: str | None) -> ChangeTable:
    record = conversation.changes.record
    if turn_id is None:
        rows = [Change(conversation, "", item) for item in merged(record.turns)]
        notes = tuple(dict.fromkeys(note for turn in record.turns for note in turn.notes))
        runs = conversation.chat.state.active_turn is not None
        return ChangeTable(rows, (*notes, *([_TURN_RUNS] if runs else [])), is_known=not runs)
    ended = find_finished_turn(conversation.chat.state, turn_id)
    known = None if ended is None else ended.changes
    if known is not None and known.error is not None:
        raise ChangesError(known.error.message)
    turn = record.turn(turn_id)
    if turn is None and known is None and (why := _why_unknown(conversation, turn_id)):
        return ChangeTable(notes=(why,), is_known=False)
    if turn is None:
        return ChangeTable(notes=() if known is None else known.notes or ())
    return ChangeTable((Change(conversation, turn_id, item) for item in turn.items), turn.notes)


def _why_unknown(conversation: Conversation, turn_id: str) -> str:
    """Returns the reason that the changes of turn *turn_id* are unknown; '' if it never ran."""
    if conversation.channels.is_active(turn_id):
        return "The turn is still running. Its changes are known when it ends."
    if conversation.channels.queued(turn_id) is not None:
        return "The turn is waiting in the queue and has not started."
    ended = find_finished_turn(conversation.chat.state, turn_id)
    return "" if ended is None else "The changes of this turn were not tracked."


def files_of(conversation: Conversation, turn_id: str) -> list[FileChange] | None:
    """Returns the files that turn *turn_id* changed, as for ``turn.files``; None if they are not known (yet)."""
    turn = conversation.host.loop.call(lambda: conversation.changes.record.turn(turn_id))
    if turn is None:
        return None
    files = [item for item in turn.items if item.kind == "file"]
    try:
        diffs = _awaited(conversation, conversation.undo.file_diffs(files), UNDO_SECONDS)
    except ChangesError:  # the store cannot be read: the files are listed without diffs
        diffs = [""] * len(files)
    return [_as_file_change(item, diff) for item, diff in zip(files, diffs, strict=True)]


def _as_file_change(item: Item, diff: str) -> FileChange:
    kind: Kind = "created" if item.status == "added" else item.status
    return FileChange(path_from_json(item.name), kind, item.added, item.removed, diff)


def carry_out(
    conversation: Conversation,
    operation: Operation,
    turn_id: str | None,
    items: Iterable[Any] = (),
    *,
    onwards: bool = False,
    choices: Mapping[str, Choice] | None = None,
) -> ChangeTable:
    """Undo, redo or keep changes; returns the changes for which this was done."""
    wanted = tuple(map(_id_of, items))
    _check(choices)
    work = conversation.undo.do(operation, turn_id or None, wanted, onwards=onwards, choices=choices, by="python")
    return _result(conversation, work)


def go_back(
    conversation: Conversation, turn_id: str | None, *, changes: bool, choices: Mapping[str, Choice] | None
) -> ChangeTable:
    """Cut the transcript before a turn, or remove all of it for None; returns the changes that were undone."""
    _check(choices)
    work = rewind(conversation, turn_id, changes=changes, choices=choices, origin=FROM_PYTHON, by="python")
    return _result(conversation, work)


def _result(conversation: Conversation, work: Coroutine[Any, Any, Outcome]) -> ChangeTable:
    outcome = with_main_thread(conversation.host, conversation.tab_id, work, UNDO_SECONDS, _late(UNDO_SECONDS))
    return conversation.host.loop.call(_done, conversation, outcome)


def _check(choices: Mapping[str, Choice] | None) -> None:
    for path, choice in (choices or {}).items():
        if choice not in ("mine", "theirs"):
            raise UsageError(f"choices[{path!r}] is {choice!r}.", hint='Use "mine" or "theirs".')


def _done(conversation: Conversation, outcome: Outcome) -> ChangeTable:
    record = conversation.changes.record
    changes = []
    for turn_id, item_id in outcome.done:
        turn = record.turn(turn_id)
        if turn is not None and (item := turn.item(item_id)) is not None:
            changes.append(Change(conversation, turn_id, item))
    return ChangeTable(changes, (outcome.message,) if outcome.message else ())


def _id_of(item: Any) -> str:
    """Returns the id of a change, which may be given as the change itself, its id or its name."""
    if isinstance(item, Change):
        return item.id
    if isinstance(item, str | os.PathLike) and (name := os.fspath(item)):
        return path_to_json(str(name))
    raise UsageError(f"{item!r} is not a change.", hint="Give items of turn.changes, or paths.")


def cells_of(item: Item) -> tuple[str, ...]:
    name = item.name if item.was is None else f"{item.was} → {item.name}"
    by = ", ".join(_BY[each] for each in item.by)
    detail = "" if item.detail is None else f" ({item.detail})"
    state = "" if item.state == "open" else item.state
    name = on_one_line(path_from_json(name)) + detail
    return (item.kind, name, item.status, *line_counts(item.added, item.removed), by, state)


def _awaited(conversation: Conversation, work: Coroutine[Any, Any, T], timeout: float) -> T:
    return in_time(conversation.host, work, timeout, _late(timeout))


def _late(timeout: float) -> ChangesError:
    message = f"The store of changes did not answer within {timeout:g} s."
    return ChangesError(message, hint="It continues; check again later.")
