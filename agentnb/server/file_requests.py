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
    """One entry of a folder.

    Attributes:
        name: The name; bytes that are not text are replaced.
        kind: `file`, `folder`, `link` (wherever it leads), or `other`.
        modified: The time of the last change, in milliseconds since 1970.
        size: The size of a file, in bytes.
    """

    name: str
    kind: Literal["file", "folder", "link", "other"]
    modified: int
    size: Count | None = None


class ListFilesResult(Wire, frozen=True, kw_only=True):
    """The contents of the folder: folders first, by name.

    Attributes:
        path: The folder, relative to the workspace.
        entries: The entries of the folder.
        more: The number of entries left out.
    """

    path: str
    entries: tuple[FileEntry, ...]
    more: Count


@request("listFiles", right="drive")
async def list_files(asker: Asker[Host], *, channel: str, path: str = ".") -> ListFilesResult:
    """List the contents of a folder of a session's workspace.

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
    """``readFile``: read a range of a file of a session's workspace, or its first or last lines, as bytes.

    The kernel reads no file outside the workspace, none that may contain secrets, and none above 67,108,864 bytes.

    Attributes:
        channel: The session's or the chat's channel.
        path: The file, relative to the workspace or absolute.
        offset: The first byte, from 0.
        length: The maximum number of bytes; at most 262,144 are returned at once.
        head: The number of lines from the range's start; all if absent.
        tail: The number of lines from the end of the file's last `length` bytes; `offset` is then ignored.
    """

    channel: str
    path: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144
    head: Annotated[int, msgspec.Meta(ge=1)] | None = None
    tail: Annotated[int, msgspec.Meta(ge=1)] | None = None


class ReadFileResult(Wire, frozen=True, kw_only=True):
    """The bytes are in `_buffers`, as base64; none if the range begins after the file's end.

    Attributes:
        path: The file, relative to the workspace, with links resolved.
        offset: The first returned byte, from 0.
        size: The size of the file, in bytes.
        modified: The time of the last change, in milliseconds since 1970; a different time means that it was changed.
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
    """Lines of a file's change, from 0; each end is the line after the last one.

    Attributes:
        before_start: The first line in the version before the change.
        before_end: The line after the last one there.
        after_start: The first line in the version after the change.
        after_end: The line after the last one there.
        before: The digest of the version before, as in the change set.
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
        hunk: For `undo` and `keep`: the affected lines of a file's change of a turn. `redo` without it redoes the part
            that was undone last.
    """

    kind: Literal["resource"]
    resource: str
    hunk: ChangeHunk | None = None


class ChangeConflict(Wire, frozen=True, kw_only=True):
    """A conflict with a later change, in three versions.

    Attributes:
        id: The change's id.
        path: The file's path in the workspace, or the name of the cell or variable; the key in `choices`.
        base: The text that the operation expected; absent if there was nothing, or no text.
        current: The current text, likewise.
        target: The text after the operation, likewise.
        merged: The three merged, with conflict marks; absent if they are not texts.
    """

    id: str
    path: str
    base: str | None = None
    current: str | None = None
    target: str | None = None
    merged: str | None = None


class InvokeChangesetOperationResult(Wire, frozen=True, kw_only=True):
    """The result (AHP ``InvokeChangesetOperationResult``); the change sets' channels have the new states.

    Attributes:
        message: A sentence that says what was done, or why nothing was.
        conflicts: The later changes: nothing was done, and the page can send the request again with `choices`.
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
    """Undo, redo, keep or apply changes (AHP ``invokeChangesetOperation``).

    Later changes are never overwritten: texts are merged; if that is not possible, nothing is done and the answer has
    the conflicts. Except for `keep`, no turn may run in the workspace meanwhile.

    Args:
        channel: The change set's channel: a turn's, or the conversation's.
        operation_id: The operation; `apply` gives an open notebook the cells that an agent wrote to its file.
        target: The one change to process; the whole change set if absent.
        choices: The choices for conflicts, by their `path`: `mine` keeps the current version, `theirs` takes the
            operation's.
        onwards: True if all later turns are undone, too; only with a turn's change set and `undo`.

    Raises:
        AgentnbError: If it is not possible; the change set's operation says so, too.
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
    """Go back to before a message: cut the transcript there, and keep a copy of the conversation in the history.

    The agent continues in a new session, which gets the rest of the transcript with the next prompt.

    Args:
        channel: The session's or the chat's channel.
        turn_id: The turn whose message is the first to be cut; all turns if absent.
        changes: True if files, cells and variables go back, too. If that is not possible, nothing is done, and the
            answer has the conflicts.
        choices: The choices for conflicts, as for `invokeChangesetOperation`.

    Raises:
        AgentnbError: If a turn runs, or going back is not possible.
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
        kernel_conflicts = tuple(
            ChangeConflict(id=each.id, path=each.name, base=each.base, current=each.current, target=each.target)
            for each in refused.conflicts
        )
        return InvokeChangesetOperationResult(message=refused.message, conflicts=kernel_conflicts)
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


class ReadChangeResult(Wire, frozen=True, kw_only=True):
    """The bytes are in `_buffers`, as base64.

    Attributes:
        size: The size of the whole content, in bytes.
        cut: True if more bytes follow the returned ones.
        binary: True if it is not text: it has a NUL among its first bytes, or is not UTF-8.
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
    """Read a range of the content of one side of a change, as the answer's bytes.

    Args:
        channel: The change set's channel.
        id: The change's id in it.
        side: `before` or `after` the change, or `now`: the current file in the workspace.
        first: The first byte, from 0.
        length: The maximum number of bytes; at most 262,144 are returned at once.

    Raises:
        UsageError: If the change or the side does not exist.
        ContentNotStored: If the content is not stored.
        FileUnavailable: If the file may contain secrets, or cannot be read.
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
