"""The files of a workspace, for the user: listed and read in pieces, never outside of it.

What a path leads to is worked out, looked at, and opened without following a link on the way
(`agentnb.open_without_links`), so what was decided about is what is read.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.errors import FileUnavailable
from agentnb.open_without_links import open_path
from agentnb.policy.sensitive import SENSITIVE, secret_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.workspace import Workspace

ENTRIES = 1_000
"""The most entries of one folder that are listed."""

LARGEST = 64 * 1024 * 1024
"""The most bytes of a file that are read."""

Kind: TypeAlias = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):
    """One name in a folder."""

    name: str
    kind: Kind
    size: int | None
    modified: int


class Snippet(NamedTuple):
    """A piece of a file."""

    path: str
    data: bytes
    offset: int
    size: int
    modified: int

    @property
    def cut(self) -> bool:
        """Whether there is more of the file than this."""
        return len(self.data) < self.size

    @property
    def text(self) -> str:
        """The bytes as UTF-8; what is none is replaced."""
        return self.data.decode("utf-8", "replace")

    def only(self, head: int | None = None, tail: int | None = None) -> Snippet:
        r"""The first or the last lines of it."""
        rows = self.data.splitlines(keepends=True)
        if head is not None:
            return self._replace(data=b"".join(rows[:head]))
        data = b"".join(rows[-tail:]) if tail else b""
        return self._replace(data=data, offset=self.offset + len(self.data) - len(data))

    def __repr__(self) -> str:
        cut = f" of {self.size:,}, from {self.offset:,} on" if self.cut else ""
        return f"<{self.path}: {len(self.data):,} bytes{cut}>"


def listed(workspace: Workspace, path: str) -> tuple[str, list[Entry], int]:
    """What is in a folder: its path in the workspace, its entries (folders first, by name), how many more there are."""
    with _held(workspace, path, "folder") as (named, descriptor, _), os.scandir(descriptor) as found:
        names = sorted(found, key=lambda each: (not each.is_dir(follow_symlinks=False), each.name))
        entries = [each for each in map(_entry, names[:ENTRIES]) if each is not None]
        return named, entries, max(0, len(names) - ENTRIES)


def snippet(workspace: Workspace, path: str, *, offset: int = 0, length: int, from_end: bool = False) -> Snippet:
    """A piece of a file."""
    with _held(workspace, path, "file") as (named, descriptor, state):
        begin = max(0, state.st_size - length) if from_end else offset
        with open(descriptor, "rb", closefd=False) as file:
            file.seek(begin)
            data = file.read(length)
    size = max(state.st_size, begin + len(data)) if data else state.st_size  # it may have grown meanwhile
    return Snippet(named, data, begin, size, _modified(state))


def for_page(found: Snippet, patterns: Patterns = SENSITIVE) -> Snippet:
    """*found*, as far as it may be given to a page: nothing that may hold secrets, nothing of what is too large.

    It is the file that was read that counts, not how it was called.
    """
    pattern, read = secret_pattern(found.path, patterns), f"Read it in Python: session.files.read({found.path!r})."
    if pattern is not None:
        message = f"{found.path!r} may hold secrets: it matches {pattern}, and such files are not sent to a page."
        raise FileUnavailable(message, hint=read)
    if found.size > LARGEST:
        message = f"{found.path!r} has {found.size:,} bytes; files of up to {LARGEST:,} are sent to a page."
        raise FileUnavailable(message, hint=read)
    return found


@contextlib.contextmanager
def _held(
    workspace: Workspace, path: str, what: Literal["file", "folder"]
) -> Iterator[tuple[str, int, os.stat_result]]:
    """What *path* leads to, open: its path in the workspace, a descriptor, its state."""
    real = workspace.resolve(path)
    named = real.relative_to(workspace.root).as_posix()
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_path(workspace.root, real, flags)
    except OSError as error:
        raise _unavailable(named, error, what) from error
    try:
        state = os.fstat(descriptor)
        if not (stat.S_ISREG if what == "file" else stat.S_ISDIR)(state.st_mode):
            raise FileUnavailable(f"{named!r} is not a {what}.", hint=f"Give the path of a {what}.")
        yield named, descriptor, state
    except OSError as error:
        raise _unavailable(named, error, what) from error
    finally:
        os.close(descriptor)


def _entry(found: os.DirEntry[str]) -> Entry | None:
    try:
        state = found.stat(follow_symlinks=False)
    except OSError:  # gone meanwhile
        return None
    kind: Kind = "other"
    if stat.S_ISLNK(state.st_mode):
        kind = "link"
    elif stat.S_ISDIR(state.st_mode):
        kind = "folder"
    elif stat.S_ISREG(state.st_mode):
        kind = "file"
    return Entry(found.name, kind, state.st_size if kind == "file" else None, _modified(state))


def _modified(state: os.stat_result) -> int:
    return state.st_mtime_ns // 1_000_000


def _unavailable(named: str, error: OSError, what: str) -> FileUnavailable:
    if isinstance(error, FileNotFoundError):
        return FileUnavailable(f"There is no {what} {named!r} in the workspace.", hint="It may have been moved.")
    return FileUnavailable(f"{named!r} cannot be read as a {what}: {error.strerror or error}.")
