"""What a page asks about contents, files and changes, and the kernel's answers, as structs."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from agentnb.comm.answers import Count
from agentnb.state.wire import Wire


class FetchContentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchContent``: a range of large content, as the answer's one binary buffer.

    Attributes:
        channel: The chat's channel.
        uri: The reference's URI.
        offset: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
    """

    channel: str
    uri: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144


class FetchModuleParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchModule``: a part of the front end that is not loaded at once, as the answer's one binary buffer.

    Attributes:
        name: Its name: `attention`, what calls the user; `cell-changes`, what follows changes of cells; `highlighting`,
            what colours code; `history`, the list of the log's conversations; or `math`, what draws formulas.
    """

    name: str


class ListFilesParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listFiles``: what is in a folder of a session's workspace.

    Attributes:
        channel: The session's or the chat's channel.
        path: The folder, relative to the workspace or absolute.
    """

    channel: str
    path: str = "."


class ReadFileParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``readFile``: a range of a file of a session's workspace, or its first or last lines, as one binary buffer.

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


class ChangeTarget(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One change of a change set (AHP ``ChangesetOperationTarget``).

    Attributes:
        kind: `resource`.
        resource: The change's id in its change set.
    """

    kind: Literal["resource"]
    resource: str


class InvokeChangesetOperationParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``invokeChangesetOperation``: undo, redo or keep changes (AHP ``invokeChangesetOperation``).

    Nothing that changed since is overwritten: texts are merged; where that is not possible nothing is done, and the
    answer has the conflicts. No turn may run in the workspace meanwhile.

    Attributes:
        changeset: The change set's channel: a turn's, or the conversation's.
        operation_id: What to do.
        target: The one change that is meant; all of the change set where absent.
        choices: What to do about conflicts, by their `path`: `mine` leaves it as it is now, `theirs` takes what the
            operation would make of it.
        onwards: With a turn's change set and `undo`: whether the changes of all later turns are undone, too.
    """

    changeset: str
    operation_id: Literal["undo", "redo", "keep", "apply"]
    target: ChangeTarget | None = None
    choices: dict[str, Literal["mine", "theirs"]] = msgspec.field(default_factory=dict)
    onwards: bool = False


class ReadChangeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``readChange``: a range of what one side of a change holds, as the answer's one binary buffer.

    Attributes:
        changeset: The change set's channel.
        id: The change's id in it.
        side: `before` or `after` the change, or `now`: a file as it is in the workspace.
        first: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
    """

    changeset: str
    id: str
    side: Literal["before", "after", "now"]
    first: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144


class FetchContentResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer.

    Attributes:
        uri: The reference's URI.
        offset: The first byte given, from 0.
        size: How many bytes there are in all.
    """

    uri: str
    offset: Count
    size: Count


class FetchModuleResult(Wire, frozen=True, kw_only=True):
    """The module; its text is the one buffer beside the message.

    Attributes:
        size: How long it is, in bytes.
    """

    size: Count


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


class ReadFileResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer; none where the range begins behind the file's end.

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


class ReadChangeResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer.

    Attributes:
        size: How many bytes there are in all.
        cut: Whether there are more behind those that are given.
        binary: Whether it is no text: it has a NUL among its first bytes, or is not UTF-8.
    """

    size: Count
    cut: bool
    binary: bool
