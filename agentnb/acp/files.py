"""The files service: agents read and write files through it, confined to the workspace."""

from __future__ import annotations

import asyncio
import os
import stat
from typing import TYPE_CHECKING, Any

from agentnb.acp.failure import NOT_FOUND
from agentnb.errors import OutsideWorkspace
from agentnb.policy.request import PolicyRequest, RequestKind
from agentnb.rpc_message import INVALID_PARAMS, RpcError
from agentnb.safe_files import open_parent, open_path, replace_entry
from agentnb.state import ToolContent, ToolDiffContent, ToolTextContent

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.acp.peer import SessionListener
    from agentnb.policy.workspace import WorkspaceBoundary

WHOLE = 256 * 1024
"""Characters, old and new together, up to which a change is shown whole; of a larger one, only changed lines."""
SIDE = 64 * 1024
"""Characters of each side of a cut change, at most."""
AROUND = 50
"""Unchanged lines shown around a cut change."""


def write_request(path: Path, old: bytes | None, new: str, *, again: bool = False) -> PolicyRequest:
    title = f"Write {path.name}, which has changed in the meantime" if again else f"Write {path.name}"
    return PolicyRequest(kind="write", title=title, path=str(path), preview=_preview(path, old, new), again=again)


def _preview(path: Path, old: bytes | None, new: str) -> tuple[ToolContent, ...]:
    where = str(path)
    if old is None:
        excerpt = new[:WHOLE]
        note = f"A new file of {len(new):,} characters; the first {len(excerpt):,} are shown." if excerpt != new else ""
        return *_note(note), ToolDiffContent(path=where, old_text=None, new_text=excerpt)
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError:
        note = f"This replaces a file that is not text ({len(old):,} bytes) with {len(new):,} characters of text."
        return *_note(note), ToolDiffContent(path=where, old_text="", new_text=new[:WHOLE])
    if len(text) + len(new) <= WHOLE:
        return (ToolDiffContent(path=where, old_text=text, new_text=new),)
    return _changed(where, text, new)


def _changed(where: str, old: str, new: str) -> tuple[ToolContent, ...]:
    """The changed lines, with some context and their line numbers."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    top = _alike(before, after)
    end = _alike(before[top:][::-1], after[top:][::-1])
    first, below = max(top - AROUND, 0), max(end - AROUND, 0)
    lines = [side[first : len(side) - below] for side in (before, after)]
    parts = ["".join(side) for side in lines]
    excerpts = [part[:SIDE] for part in parts]
    size = f"The file has {len(old):,} characters, and would have {len(new):,}."
    note = f"{size} Shown: lines {first + 1:,} to {first + len(lines[0]):,}, with all the changes."
    if excerpts != parts:
        note = f"{size} It changes from line {top + 1:,} on; the changes are too long to be shown in full."
    return *_note(note), ToolDiffContent(path=where, old_text=excerpts[0], new_text=excerpts[1])


def _alike(one: list[str], other: list[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _note(note: str) -> tuple[ToolTextContent, ...]:
    return (ToolTextContent(text=note),) if note else ()


LIMIT = 64 * 1024 * 1024
"""The largest file, in bytes, that is read for an agent."""
TIMES = 5
"""The most attempts, each with a permission request, to write a file that changes meanwhile."""


class Files:
    def __init__(self, workspace: WorkspaceBoundary, listener: SessionListener) -> None:
        self._workspace = workspace
        self._listener = listener

    async def read(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``fs/read_text_file``: all lines, or ``limit`` of them beginning with ``line`` (counted from one)."""
        root, path = self._locate(_text(params, "path"), "read")
        await self._listener.authorize(PolicyRequest(kind="read", title=f"Read {path.name}", path=str(path)))
        unsaved = self._listener.unsaved(str(path))
        text = await asyncio.to_thread(_read, root, path)
        if unsaved is not None:
            text = await asyncio.to_thread(unsaved.over, text)
        return {"content": _lines(text, _count(params.get("line")), _count(params.get("limit")))}

    async def write(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``fs/write_text_file``: write the whole file; a missing file is created with its folders."""
        named, content = _text(params, "path"), _text(params, "content")
        root, path = self._locate(named, "edit")
        await asyncio.to_thread(_check_writable, path)
        for time in range(TIMES):
            current = await asyncio.to_thread(_current, root, path)
            await self._listener.authorize(write_request(path, current, _written_as(content, current), again=time > 0))
            if self._workspace.follow(named) != path:  # a link was moved while the user decided
                raise RpcError(INVALID_PARAMS, f"{named} no longer leads to the same file.")
            if await asyncio.to_thread(_write, root, path, content, current):
                return {}
        message = f"{path} was changed by something else each of the {TIMES} times that this was tried. Read it again."
        raise RpcError(INVALID_PARAMS, message)

    def _locate(self, named: str, tool: str) -> tuple[Path, Path]:
        """Returns the real path of *named*, and the folder below which it is opened."""
        kind: RequestKind = "read" if tool == "read" else "write"
        place = named
        try:
            place = str(real := self._workspace.follow(named))
            if not self._workspace.holds(real) and self._listener.opens(place, tool):
                return type(real)(real.anchor), real
            real = self._workspace.resolve(named)
        except OutsideWorkspace as error:
            self._listener.refused(PolicyRequest(kind=kind, title=f"{kind.title()} {named}", path=place), error)
            raise
        return self._workspace.root_of(real) or self._workspace.root, real


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"`{name}` must be text.")
    return value


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _lines(text: str, line: int | None, limit: int | None) -> str:
    if (line or 1) == 1 and limit is None:
        return text
    lines = text.split("\n")
    first = max((line or 1) - 1, 0)
    last = len(lines) if limit is None else first + limit
    chosen = "\n".join(lines[first:last])
    return chosen + "\n" if limit and last < len(lines) else chosen


def _read(root: Path, path: Path) -> str:
    data, _ = _bytes(root, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RpcError(INVALID_PARAMS, f"{path} is not UTF-8 text.") from error


def _bytes(root: Path, path: Path) -> tuple[bytes, int]:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_path(root, path, flags)
    except OSError as error:
        raise _failure(path, error) from error
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise RpcError(INVALID_PARAMS, f"{path} is not a file.")
        if state.st_size > LIMIT:
            raise RpcError(INVALID_PARAMS, f"{path} has {state.st_size} bytes, more than the {LIMIT} that are read.")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LIMIT), stat.S_IMODE(state.st_mode)
    finally:
        os.close(descriptor)


def _current(root: Path, path: Path) -> bytes | None:
    """Returns the file's current content, for the question; None if there is no file or it cannot be read."""
    try:
        return _bytes(root, path)[0]
    except (RpcError, OutsideWorkspace):
        return None


def _check_writable(path: Path) -> None:
    """Refuse a read-only file: replacing it would need only the right to write its folder."""
    try:
        mode = path.stat().st_mode
    except OSError:  # the file does not exist, or writing it raises the error
        return
    if stat.S_ISREG(mode) and (not mode & 0o222 or not os.access(path, os.W_OK)):
        what_to_do = "Write another file, or ask the user to make this one writable."
        raise RpcError(INVALID_PARAMS, f"{path} is read-only, so nothing was written. {what_to_do}")


def _write(root: Path, path: Path, content: str, expected: bytes | None) -> bool:
    """Write *content* unless the file no longer matches *expected*; returns True if it was written."""
    if path.is_dir():
        raise RpcError(INVALID_PARAMS, f"{path} is a folder.")
    before: bytes | None
    try:
        before, mode = _bytes(root, path)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        before, mode = None, None
    if before != expected:
        return False
    data = _written_as(content, expected).encode("utf-8", "replace")
    try:
        with open_parent(root, path, make=True) as folder:
            return replace_entry(folder, path, data, mode, lambda: _current(root, path) == expected)
    except OSError as error:
        raise _failure(path, error) from error


def _written_as(content: str, before: bytes | None) -> str:
    """Returns *content* with Windows newlines if the file had them throughout."""
    before = before or b""
    windows = before.count(b"\r\n")
    if windows and windows == before.count(b"\n"):
        return content.replace("\r\n", "\n").replace("\n", "\r\n")
    return content


def _failure(path: Path, error: OSError) -> RpcError:
    if isinstance(error, FileNotFoundError):
        return RpcError(NOT_FOUND, f"There is no file {path}.", {"uri": str(path)})
    return RpcError(INVALID_PARAMS, f"{path}: {error.strerror or error}.")
