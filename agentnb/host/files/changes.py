"""The changes of files by tool calls, by path, as the calls themselves report them, with lines added and removed."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.state import (
    ToolCallCompletedState,
    ToolCallDetails,
    ToolCallPendingResultConfirmationState,
    ToolCallResponsePart,
    ToolDiffContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentnb.state import ResponsePart, ToolCallState

Kind: TypeAlias = Literal["created", "changed", "deleted", "moved"]

LONGEST = 2_000_000
"""Characters of an old and a new text together, above which they are not compared."""

_KINDS: dict[str, Kind] = {"edit": "changed", "delete": "deleted", "move": "moved"}
_CONTEXT = 3
_OPEN_END = "\\ No newline at end of file"


class FileChange(NamedTuple):
    path: str
    kind: Kind
    added: int | None
    removed: int | None
    diff: str


class _Edit(NamedTuple):
    old: str | None
    new: str


class _File:
    """One file as the changes read so far describe it."""

    def __init__(self) -> None:
        self.kind: Kind = "changed"
        self.made = False
        self.edits: list[_Edit] = []
        self.has_edits = False

    def edit(self, edit: _Edit) -> None:
        """Add a change: it is merged with one that it continues; one contained in a larger one is reported once."""
        if not self.has_edits:
            self.made, self.has_edits = edit.old is None, True
        last = self.edits[-1] if self.edits else None
        if last is not None and last.new == edit.old:
            self.edits[-1] = _Edit(last.old, edit.new)
        elif not any(_holds(other, edit) for other in self.edits):
            self.edits = [*(other for other in self.edits if not _holds(edit, other)), edit]
        self.kind = "created" if self.made else "changed"

    def change(self, path: str) -> FileChange | None:
        if self.kind in {"deleted", "moved"} or not self.has_edits:
            gone = self.kind == "deleted" and self.made
            return None if gone else FileChange(path, self.kind, None, None, "")
        edits = [edit for edit in self.edits if (edit.old or "") != edit.new or edit.old is None]
        if not edits:
            return None
        if sum(len(edit.old or "") + len(edit.new) for edit in edits) > LONGEST:
            return FileChange(path, self.kind, None, None, "")
        comparisons = [_compared(edit) for edit in edits]
        lines = [line for hunks in comparisons for line in hunks]
        head = [f"--- {_named('a', path) if not self.made else '/dev/null'}", f"+++ {_named('b', path)}"]
        return FileChange(
            path,
            self.kind,
            sum(line.startswith("+") for line in lines),
            sum(line.startswith("-") for line in lines),
            "\n".join([*head, *lines, ""]),
        )


def changes(parts: Iterable[ResponsePart], cwd: Path) -> tuple[FileChange, ...]:
    """Returns what the tool calls among *parts* changed, in the order in which the files first appeared."""
    files: dict[str, _File] = {}
    for call in _done(parts):
        details = call.details or ToolCallDetails()
        diffs = [piece for piece in details.content or () if isinstance(piece, ToolDiffContent)]
        for piece in diffs:
            files.setdefault(relative(piece.path, cwd), _File()).edit(_Edit(piece.old_text, piece.new_text))
        kind = _KINDS.get(details.kind or "")
        if kind is None or (diffs and kind == "changed"):
            continue
        for place in details.locations or ():
            file = files.setdefault(relative(place.path, cwd), _File())
            if kind != "changed":
                file.kind = kind
    rows = (file.change(path) for path, file in files.items())
    return tuple(each for each in rows if each is not None)


def relative(path: str, cwd: Path) -> str:
    """*path* as it is displayed: relative to the workspace if it is inside, else unchanged."""
    try:
        return PurePath(os.path.normpath(cwd / path)).relative_to(cwd).as_posix()
    except ValueError:
        return path


def _done(parts: Iterable[ResponsePart]) -> Iterator[ToolCallState]:
    for part in parts:
        call = part.tool_call if isinstance(part, ToolCallResponsePart) else None
        if isinstance(call, ToolCallCompletedState | ToolCallPendingResultConfirmationState) and call.success:
            yield call


def _holds(whole: _Edit, some: _Edit) -> bool:
    """True if *some*, a part of a file as an agent shows it, is plainly in *whole*."""
    return bool(some.old or some.new) and (some.old or "") in (whole.old or "") and some.new in whole.new


def _compared(edit: _Edit) -> list[str]:
    old, new = _lines(edit.old or ""), _lines(edit.new)
    lines = list(difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]
    return [piece for line in lines for piece in ([line[:-1], _OPEN_END] if line.endswith("\0") else [line])]


def _lines(text: str) -> list[str]:
    """Split into lines; a last line without a newline is marked, so that it differs from one with."""
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, f"{last}\0"] if last else lines


def _named(side: str, path: str) -> str:
    """The file name for a diff; quoted if it has characters that would break the line."""
    name = f"{side}/{path}" if not path.startswith("/") else path
    return name if name.isprintable() and not name.endswith(" ") else json.dumps(name)
