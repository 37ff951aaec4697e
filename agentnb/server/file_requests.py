"""The requests about the files of a workspace, and about what turns changed: undo, redo, keep, and contents."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from agentnb.errors import AgentnbError, FilesConflict, KernelChangesConflict, UsageError
from agentnb.host.changes.contents import range_for_page, versions
from agentnb.host.changes.hunks import Hunk
from agentnb.host.files.workspace_files import for_page, listed, snippet
from agentnb.host.turns.rewind import rewind
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.server.request_table import Asker, Bytes, request
from agentnb.server.window import RANGE
from agentnb.state import ErrorInfo
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from agentnb.host.changes.undo import Outcome
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.policy.sensitive import Patterns


class FileEntry(Wire, frozen=True, kw_only=True):
    """One name in a folder.

    Attributes:
        name: The name; what in it is no text is replaced.
        kind: `file`, `folder`, `link` (wherever it leads), or `other`.
        modified: When it was changed last, in milliseconds since 1970.
        size: Of a file, in bytes.
    """

    name: str
    kind: Literal["file", "folder", "link", "other"]
    modified: int
    size: Count | None = None


class ListFilesResult(Wire, frozen=True, kw_only=True):
    """The contents of the folder: folders first, by name.

    Attributes:
        path: The folder, relative to the workspace.
        entries: What is in it.
        more: How many there are besides.
    """

    path: str
    entries: tuple[FileEntry, ...]
    more: Count


@request("listFiles", right="drive")
async def list_files(asker: Asker[Host], *, channel: str, path: str = ".") -> ListFilesResult:
    """Returns what is in a folder of a session's workspace.

    Args:
        channel: The session's or the chat's channel.
        path: The folder, relative to the workspace or absolute.
    """
    return await asyncio.to_thread(_folder, asker.host.find(channel).cwd, path)


def _folder(cwd: Path, path: str) -> ListFilesResult:
    title, entries, more = listed(WorkspaceBoundary(cwd), path)
    rows = (
        FileEntry(name=_text(name), kind=kind, modified=modified, size=size) for name, kind, size, modified in entries
    )
    return ListFilesResult(path=_text(title), entries=tuple(rows), more=more)


class ReadFileParams(Wire, frozen=True, kw_only=True):
    """``readFile``: a range of a file of a session's workspace, or its first or last lines, as bytes.

    Nothing outside the workspace is read, nothing that may hold secrets, and nothing of a file above 67,108,864 bytes.

    Attributes:
        channel: The session's or the chat's channel.
        path: The file, relative to the workspace or absolute.
        offset: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
        head: How many of the range's first lines, if not all.
        tail: How many lines of the file's last `length` bytes, if not all; then `offset` does not count.
    """

    channel: str
    path: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144
    head: Annotated[int, msgspec.Meta(ge=1)] | None = None
    tail: Annotated[int, msgspec.Meta(ge=1)] | None = None


class ReadFileResult(Wire, frozen=True, kw_only=True):
    """The bytes are in `_buffers`, as base64; none where the range begins behind the file's end.

    Attributes:
        path: The file, relative to the workspace, links followed.
        offset: The first byte given, from 0.
        size: How many bytes the file has.
        modified: When it was changed last, in milliseconds since 1970; another one than before is another file.
    """

    path: str
    offset: Count
    size: Count
    modified: int


@request("readFile", ReadFileParams, ReadFileResult, right="drive")
async def read_file(asker: Asker[Host], params: ReadFileParams) -> Bytes:
    """Read a range of a file of a session's workspace, or its first or last lines."""
    conversation = asker.host.find(params.channel)
    return await asyncio.to_thread(_piece, conversation.cwd, params, conversation.policy.situation().patterns)


def _piece(cwd: Path, params: ReadFileParams, patterns: Patterns) -> Bytes:
    if params.head is not None and params.tail is not None:
        raise UsageError("Both head and tail were given.", hint="Request one after the other.")
    length, from_end = min(params.length, RANGE), params.tail is not None
    piece = snippet(WorkspaceBoundary(cwd), params.path, offset=params.offset, length=length, from_end=from_end)
    piece = for_page(piece, patterns)
    if params.head is not None or params.tail is not None:
        piece = piece.only(params.head, params.tail)
    result = ReadFileResult(path=_text(piece.path), offset=piece.offset, size=piece.size, modified=piece.modified)
    return Bytes(result, (piece.data,))


def _text(name: str) -> str:
    """A name as JSON can have it."""
    return os.fsencode(name).decode("utf-8", "replace")


class ChangeHunk(Wire, frozen=True, kw_only=True):
    """Lines of a file's change, from 0, up to the one behind the last.

    Attributes:
        before_start: The first line in the version before the change.
        before_end: The line behind the last one there.
        after_start: The first line in the version after the change.
        after_end: The line behind the last one there.
        before: The digest of the version before, as the change set has it.
        after: The digest of the version after.
    """

    before_start: Count
    before_end: Count
    after_start: Count
    after_end: Count
    before: str
    after: str


class ChangeTarget(Wire, frozen=True, kw_only=True):
    """One change of a change set (AHP ``ChangesetOperationTarget``), or a part of one.

    Attributes:
        kind: `resource`.
        resource: The change's id in its change set.
        hunk: For `undo` and `keep`: the lines that are meant, of a file's change of a turn. `redo` without it does
            the part again that was undone last.
    """

    kind: Literal["resource"]
    resource: str
    hunk: ChangeHunk | None = None


class ChangeConflict(Wire, frozen=True, kw_only=True):
    """Something that was changed since, in its three versions.

    Attributes:
        id: The change's id.
        path: The file's path in the workspace, the cell's or the variable's name; what `choices` names.
        base: The text that the operation expected; absent where there was nothing, or no text.
        current: The text that is there now, likewise.
        target: The text that the operation would put there, likewise.
        merged: The three merged, with conflict marks; absent where they are no texts.
    """

    id: str
    path: str
    base: str | None = None
    current: str | None = None
    target: str | None = None
    merged: str | None = None


class InvokeChangesetOperationResult(Wire, frozen=True, kw_only=True):
    """What came of it (AHP ``InvokeChangesetOperationResult``); the change sets' channels have the new states.

    Attributes:
        message: What was done, or why nothing was, in a sentence.
        conflicts: What changed since: nothing was done, and the request can be sent again with `choices`.
    """

    message: str
    conflicts: tuple[ChangeConflict, ...] | None = None


@request("invokeChangesetOperation", right="approve")
async def invoke_changeset_operation(
    asker: Asker[Host],
    *,
    channel: str,
    operation_id: Literal["undo", "redo", "keep", "apply"],
    target: ChangeTarget | None = None,
    choices: dict[str, Literal["mine", "theirs"]] | None = None,
    onwards: bool = False,
) -> InvokeChangesetOperationResult:
    """Undo, redo or keep changes (AHP ``invokeChangesetOperation``).

    Nothing that changed since is overwritten: texts are merged; where that is not possible nothing is done, and the
    answer has the conflicts. No turn may run in the workspace meanwhile.

    Args:
        channel: The change set's channel: a turn's, or the conversation's.
        operation_id: What to do.
        target: The one change that is meant; all of the change set where absent.
        choices: What to do about conflicts, by their `path`: `mine` leaves it as it is now, `theirs` takes what the
            operation would make of it.
        onwards: With a turn's change set and `undo`: whether the changes of all later turns are undone, too.

    Raises:
        AgentnbError: If it cannot be done; the change set's operation says so, too.
    """
    conversation = asker.host.find(channel)
    changesets, operation = conversation.changesets, operation_id
    turn_id = changesets.turn_of(channel)
    if onwards and (turn_id is None or operation != "undo" or target is not None):
        raise UsageError("`onwards` goes with undo and a whole change set of a turn.", hint="Leave it out.")
    ids = () if target is None else (target.resource,)
    changesets.operation(turn_id, operation, None, runs=True)
    error: ErrorInfo | None = None
    work = conversation.undo.do(
        operation, turn_id, ids, onwards=onwards, choices=choices or {}, hunk=_hunk(target), by="user"
    )
    try:
        return await _done_or_conflicts(conversation, work)
    except AgentnbError as failed:
        error = ErrorInfo(error_type=type(failed).__name__, message=str(failed))
        raise
    finally:
        changesets.operation(turn_id, operation, error, runs=False)


@request("rewindSession", right="approve")
async def rewind_session(
    asker: Asker[Host],
    *,
    channel: str,
    turn_id: str | None = None,
    changes: bool = False,
    choices: dict[str, Literal["mine", "theirs"]] | None = None,
) -> InvokeChangesetOperationResult:
    """Go back to before a message: the transcript is cut there, and the history has a copy of it.

    The agent continues in a new session, which is given the rest of the transcript with the next prompt.

    Args:
        channel: The session's or the chat's channel.
        turn_id: The turn whose message is the first to go; absent: all go.
        changes: Whether files, cells and variables become as they were then. Where that is not possible nothing is
            done, and the answer has the conflicts.
        choices: What to do about conflicts, as for `invokeChangesetOperation`.

    Raises:
        AgentnbError: If a turn runs, or it cannot be done.
    """
    conversation = asker.host.find(channel)
    work = rewind(conversation, turn_id, changes=changes, choices=choices or {})
    return await _done_or_conflicts(conversation, work)


async def _done_or_conflicts(
    conversation: Conversation, work: Coroutine[Any, Any, Outcome]
) -> InvokeChangesetOperationResult:
    try:
        outcome = await work
    except FilesConflict as refused:
        conflicts = await versions(conversation.changes, refused)
        return InvokeChangesetOperationResult(
            message=refused.message, conflicts=msgspec.convert(conflicts, tuple[ChangeConflict, ...])
        )
    except KernelChangesConflict as refused:
        return InvokeChangesetOperationResult(
            message=refused.message, conflicts=tuple(_kernel_conflict(each) for each in refused.conflicts)
        )
    return InvokeChangesetOperationResult(message=outcome.message)


def _hunk(target: ChangeTarget | None) -> Hunk | None:
    lines = None if target is None else target.hunk
    if lines is None:
        return None
    return Hunk(
        before=(lines.before_start, lines.before_end),
        after=(lines.after_start, lines.after_end),
        digests=(lines.before, lines.after),
    )


def _kernel_conflict(conflict: Any) -> ChangeConflict:
    return ChangeConflict(
        id=conflict.id, path=conflict.name, base=conflict.base, current=conflict.current, target=conflict.target
    )


class ReadChangeResult(Wire, frozen=True, kw_only=True):
    """The bytes are in `_buffers`, as base64.

    Attributes:
        size: How many bytes there are in all.
        cut: Whether there are more behind those that are given.
        binary: Whether it is no text: it has a NUL among its first bytes, or is not UTF-8.
    """

    size: Count
    cut: bool
    binary: bool


@request("readChange", result=ReadChangeResult, right="drive")
async def read_change(
    asker: Asker[Host],
    *,
    channel: str,
    id: str,
    side: Literal["before", "after", "now"],
    first: Annotated[int, msgspec.Meta(ge=0)] = 0,
    length: Annotated[int, msgspec.Meta(ge=1)] = 262144,
) -> Bytes:
    """A range of what one side of a change holds, as the answer's bytes.

    Args:
        channel: The change set's channel.
        id: The change's id in it.
        side: `before` or `after` the change, or `now`: a file as it is in the workspace.
        first: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.

    Raises:
        UsageError: If there is no such change, or side.
        ContentNotStored: If its contents are not stored.
        FileUnavailable: If it may hold secrets, or cannot be read.
    """
    conversation = asker.host.find(channel)
    changesets = conversation.changesets
    item = changesets.item(changesets.turn_of(channel), id)
    if item is None:
        raise UsageError(f"The change set has no change {id!r}.", hint="Check it again.")
    piece = await range_for_page(
        conversation.changes,
        item,
        side,
        conversation.policy.situation().patterns,
        first=first,
        length=min(length, RANGE),
    )
    return Bytes(ReadChangeResult(size=piece.size, cut=piece.is_cut, binary=piece.is_binary), (piece.data,))
