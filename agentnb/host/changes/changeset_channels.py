"""The change sets that clients can subscribe to (AHP changesets): one for each turn, one for the conversation."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from agentnb.clock import now_ms
from agentnb.host.changes.hunks import can_be_divided
from agentnb.host.changes.undo import merged
from agentnb.host.channels import CHANGES, Channel
from agentnb.state import (
    ChangesetContentChanged,
    ChangesetFile,
    ChangesetFileSet,
    ChangesetOperation,
    ChangesetOperationStatusChanged,
    ChangesetState,
    ChangesetStatusChanged,
    ErrorInfo,
    find_finished_turn,
    reduce_changeset,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from agentnb.changes.model import FileVersion
    from agentnb.host.changes.change_tracker import ChangeTracker
    from agentnb.host.changes.records import Item
    from agentnb.host.channels import Listener, SessionChannels
    from agentnb.state import Action, TurnChanges

MOST_SINGLE = 20
"""The most new changes that are sent one by one; beyond that, all changes are sent together."""

_SCOPES = ("changeset", "resource")
OPERATIONS = (
    ChangesetOperation(id="undo", label="Undo", scopes=_SCOPES, status="idle"),
    ChangesetOperation(id="redo", label="Redo", scopes=_SCOPES, status="idle"),
    ChangesetOperation(id="keep", label="Keep", scopes=_SCOPES, status="idle"),
    ChangesetOperation(id="apply", label="Apply to the notebook", scopes=_SCOPES, status="idle"),
)
"""The operations that every change set has."""


def session_of(uri: str) -> str:
    """The session that a change set belongs to; *uri* itself if it is not a change set."""
    head, separator, tail = uri.rpartition(CHANGES)
    return head if separator and (not tail or (tail.startswith("/") and "/" not in tail[1:])) else uri


class ChangesetChannels:
    """The change sets of one conversation. On the host's thread."""

    def __init__(self, channels: SessionChannels, tracker: ChangeTracker, listeners: Sequence[Listener]) -> None:
        self._channels = channels
        self._tracker = tracker
        self._listeners = listeners
        self._made: dict[str | None, Channel[ChangesetState]] = {}
        tracker.changed = self._changed

    def turn_of(self, uri: str) -> str | None:
        """The turn of the change set *uri*; None if it is the conversation's."""
        return uri.removeprefix(f"{self._channels.session.uri}{CHANGES}").removeprefix("/") or None

    def find(self, uri: str) -> Channel[ChangesetState] | None:
        """Returns the channel *uri*; None if there is no such turn, or its changes were not tracked."""
        turn_id = self.turn_of(uri)
        if turn_id not in self._made:
            if turn_id is not None and self._known(turn_id) is None and self._tracker.record.turn(turn_id) is None:
                return None
            self._made[turn_id] = Channel(uri, self._state(turn_id), reduce_changeset, self._listeners)
        return self._made[turn_id]

    def operation(self, turn_id: str | None, operation_id: str, error: ErrorInfo | None, *, runs: bool) -> None:
        status = "running" if runs else "idle" if error is None else "error"
        if (channel := self._made.get(turn_id)) is not None:
            channel.accept(
                ChangesetOperationStatusChanged(operation_id=operation_id, status=status, error=error, time=now_ms())
            )

    def item(self, turn_id: str | None, item_id: str) -> Item | None:
        """The change *item_id* of a turn's change set, or of the conversation's."""
        return next((each for each in self._items(turn_id) if each.id == item_id), None)

    def _changed(self, turn_id: str) -> None:
        for each in (turn_id, None):
            channel = self._made.get(each)
            if channel is not None:
                for action in _difference(channel.state, self._state(each)):
                    channel.accept(action)

    def _known(self, turn_id: str) -> TurnChanges | None:
        turn = find_finished_turn(self._channels.chat.state, turn_id)
        return None if turn is None else turn.changes

    def _items(self, turn_id: str | None) -> Sequence[Item]:
        record = self._tracker.record
        if turn_id is None:
            return merged(record.turns)
        turn = record.turn(turn_id)
        return () if turn is None else turn.items

    def _state(self, turn_id: str | None) -> ChangesetState:
        known = None if turn_id is None else self._known(turn_id)
        workspace = self._tracker.workspace
        return ChangesetState(
            status="ready" if known is None else known.status,
            error=None if known is None else known.error,
            files=tuple(changeset_file(item, workspace) for item in self._items(turn_id)),
            operations=OPERATIONS,
        )


def changeset_file(item: Item, workspace: Path) -> ChangesetFile:
    """A change in the form of the protocol: AHP's file edit, with what AHP lacks in ``_meta.agentnb``."""
    edit: dict[str, Any] = {}
    if item.file is not None:
        edit["before"] = _side(workspace, item.file.was or item.file.path, item.file.before)
        edit["after"] = _side(workspace, item.file.path, item.file.after)
    else:
        edit["before"], edit["after"] = (_text_side(item, text) for text in (item.before, item.after))
    if item.added is not None and item.removed is not None:
        edit["diff"] = {"added": item.added, "removed": item.removed}
    meta = {
        "kind": item.kind,
        "name": item.name,
        "was": item.was,
        "status": item.status,
        "state": item.state,
        "by": list(item.by),
        "undoable": item.undoable,
        "reason": item.reason,
        "detail": item.detail,
        "mode": _mode(item),
        "binary": item.binary or None,
        "language": item.language,
        "divisible": can_be_divided(item) or None,
        "undoneParts": len(item.undone_parts) or None,
        "place": None if item.place is None else msgspec.to_builtins(item.place),
    }
    return ChangesetFile(
        id=item.id,
        edit={name: side for name, side in edit.items() if side is not None},
        meta={"agentnb": {name: value for name, value in meta.items() if value is not None}},
    )


def _side(workspace: Path, path: str, version: FileVersion | None) -> dict[str, Any] | None:
    if version is None:
        return None
    uri = f"{workspace.as_uri()}/{quote(path, errors='surrogateescape')}"
    return {"uri": uri, "content": {"uri": f"agentnb-blob:/{version.digest}"}}


def _text_side(item: Item, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:40]
    return {"uri": f"agentnb-{item.kind}:/{quote(item.id)}", "content": {"uri": f"agentnb-blob:/{digest}"}}


def _mode(item: Item) -> str | None:
    """Returns what is special about the kind of file, in words; None if nothing is."""
    if item.file is None:
        return None
    was, now = (None if each is None else each.mode for each in (item.file.before, item.file.after))
    if was == "executable" and now == "file":
        return "no longer executable"
    words = {"executable": "executable", "link": "link", "folder": "empty folder"}
    return words.get(now or was or "")


def _difference(before: ChangesetState, after: ChangesetState) -> list[Action]:
    actions: list[Action] = []
    old = {each.id: each for each in before.files}
    new = [each for each in after.files if old.get(each.id) != each]
    same_ids = [each.id for each in before.files] == [each.id for each in after.files]
    if same_ids and len(new) <= MOST_SINGLE:
        actions += [ChangesetFileSet(file=each, time=now_ms()) for each in new]
    elif before.files != after.files:
        actions.append(ChangesetContentChanged(files=after.files, time=now_ms()))
    if (before.status, before.error) != (after.status, after.error):
        actions.append(ChangesetStatusChanged(status=after.status, error=after.error, time=now_ms()))
    return actions
