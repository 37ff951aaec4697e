"""The workspace's files: listed, searched and read for clients, and those that clients serve."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentnb.errors import FileUnavailable, OutsideWorkspace, SessionError
from agentnb.host.conversation import Conversation
from agentnb.host.pairing import (
    ANSWER_SECONDS,
    IDLE_SECONDS,
    UnpromptedTurns,
    answered_within,
    client_spec,
    open_for,
    show_running,
)
from agentnb.host.session_options import SessionOptions
from agentnb.policy.sensitive import SENSITIVE, secret_pattern
from agentnb.safe_files import open_folder, open_parent, open_path, replace_entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from agentnb.host.host import Host
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.workspace import WorkspaceBoundary


ENTRIES = 1_000
"""The most entries of one folder that are listed."""

LARGEST = 64 * 1024 * 1024
"""The most bytes of a file that are read, or kept while it is changed."""

MOST_COUNTED = 10_000
"""Files of a folder that are counted in the question whether to delete it."""

Kind: TypeAlias = Literal["file", "folder", "link", "other"]
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class FolderEntry(NamedTuple):
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
        """True if this is not the whole file."""
        return len(self.data) < self.size

    @property
    def text(self) -> str:
        """The bytes as UTF-8; invalid ones are replaced."""
        return self.data.decode("utf-8", "replace")

    def only(self, head: int | None = None, tail: int | None = None) -> Snippet:
        """Returns the snippet with only its first *head* or last *tail* lines."""
        rows = self.data.splitlines(keepends=True)
        if head is not None:
            return self._replace(data=b"".join(rows[:head]))
        data = b"".join(rows[-tail:]) if tail else b""
        return self._replace(data=data, offset=self.offset + len(self.data) - len(data))

    def __repr__(self) -> str:
        cut = f" of {self.size:,}, from {self.offset:,} on" if self.cut else ""
        return f"<{self.path}: {len(self.data):,} bytes{cut}>"


def listed(workspace: WorkspaceBoundary, path: str) -> tuple[str, list[FolderEntry], int]:
    """Lists a folder: its path in the workspace, its entries (folders first, by name), and how many are left out."""
    with _held(workspace, path, "folder") as (named, descriptor, _), os.scandir(descriptor) as scan:
        names = sorted(scan, key=lambda each: (not each.is_dir(follow_symlinks=False), each.name))
        entries = [each for each in map(_entry, names[:ENTRIES]) if each is not None]
        return named, entries, max(0, len(names) - ENTRIES)


def snippet(
    workspace: WorkspaceBoundary, path: str, *, offset: int = 0, length: int, from_end: bool = False
) -> Snippet:
    with _held(workspace, path, "file") as (named, descriptor, state):
        begin = max(0, state.st_size - length) if from_end else offset
        with open(descriptor, "rb", closefd=False) as file:
            file.seek(begin)
            data = file.read(length)
    size = max(state.st_size, begin + len(data)) if data else state.st_size  # the file may have grown meanwhile
    return Snippet(named, data, begin, size, _modified(state))


def for_page(piece: Snippet, patterns: Patterns = SENSITIVE) -> Snippet:
    """Returns *piece* if it may be sent to a page: not if it may hold secrets or its file is too large."""
    pattern, read = secret_pattern(piece.path, patterns), f"Read it in Python: session.files.read({piece.path!r})."
    if pattern is not None:
        message = f"{piece.path!r} may hold secrets: it matches {pattern}, and such files are not sent to a page."
        raise FileUnavailable(message, hint=read)
    if piece.size > LARGEST:
        message = f"{piece.path!r} has {piece.size:,} bytes; files of up to {LARGEST:,} are sent to a page."
        raise FileUnavailable(message, hint=read)
    return piece


@contextlib.contextmanager
def _held(
    workspace: WorkspaceBoundary, path: str, what: Literal["file", "folder"]
) -> Iterator[tuple[str, int, os.stat_result]]:
    """Opens *path*: yields its path in the workspace, a descriptor, and its stat result."""
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


def _entry(entry: os.DirEntry[str]) -> FolderEntry | None:
    try:
        state = entry.stat(follow_symlinks=False)
    except OSError:  # deleted meanwhile
        return None
    kind = _KINDS.get(stat.S_IFMT(state.st_mode), "other")
    return FolderEntry(entry.name, kind, state.st_size if kind == "file" else None, _modified(state))


def _modified(state: os.stat_result) -> int:
    return state.st_mtime_ns // 1_000_000


def _unavailable(named: str, error: OSError, what: str) -> FileUnavailable:
    if isinstance(error, FileNotFoundError):
        return FileUnavailable(f"There is no {what} {named!r} in the workspace.", hint="It may have been moved.")
    return FileUnavailable(f"{named!r} cannot be read as a {what}: {error.strerror or error}.")


class WorkspacePath(NamedTuple):
    root: Path
    path: Path


class FoundPath(NamedTuple):
    path: Path
    kind: Literal["file", "directory", "symlink"]
    size: int
    modified_ns: int
    version: str


def place_of(workspace: WorkspaceBoundary, path: str, *, follow: bool = True) -> WorkspacePath:
    if follow:
        real = workspace.resolve(path)
    else:
        named = workspace.root / path
        if named.name in {"", ".."}:
            raise OutsideWorkspace(
                f"{path[:200]!r} does not name a file of the workspace.", hint="Give the path of a file."
            )
        real = workspace.resolve(str(named.parent)) / named.name
        if real in workspace.roots:
            raise OutsideWorkspace(f"{path[:200]!r} is the workspace itself.", hint="Give the path of a file in it.")
    return WorkspacePath(workspace.root_of(real) or workspace.root, real)


def found_at(place: WorkspacePath) -> FoundPath | None:
    try:
        if place.path == place.root:
            state = os.stat(place.root)  # noqa: PTH116
        else:
            with open_parent(place.root, place.path) as folder:
                state = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unchangeable(place, error) from error
    kinds: dict[int, Literal["file", "directory", "symlink"]] = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symlink",
    }
    kind = kinds.get(stat.S_IFMT(state.st_mode))
    if kind is None:
        raise FileUnavailable(f"{_quoted(place)} is neither a file nor a folder.", hint="Choose another path.")
    version = f'"{state.st_ino:x}-{state.st_size:x}-{state.st_mtime_ns:x}"'
    return FoundPath(place.path, kind, state.st_size, state.st_mtime_ns, version)


def content_of(place: WorkspacePath) -> bytes | None:
    current = found_at(place)
    if current is None:
        return None
    if current.kind != "file":
        raise FileUnavailable(f"{_quoted(place)} is not a file.", hint="Give the path of a file.")
    if current.size > LARGEST:
        raise FileUnavailable(f"{_quoted(place)} has more than {LARGEST:,} bytes.", hint="Change it in the notebook.")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_path(place.root, place.path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unchangeable(place, error) from error
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(LARGEST)


def write(place: WorkspacePath, data: bytes, expected: bytes | None) -> bool:
    """Write *data*, unless the file no longer holds *expected*; returns True if it was written."""
    try:
        with open_parent(place.root, place.path) as folder:
            mode = _mode(folder, place)
            return replace_entry(folder, place.path, data, mode, lambda: content_of(place) == expected)
    except OSError as error:
        raise _unchangeable(place, error) from error


def make_folder(place: WorkspacePath) -> None:
    """Make the folder at *place*, and missing parents."""
    try:
        with open_folder(place.root, place.path.relative_to(place.root).parts, make=True):
            pass
    except OSError as error:
        raise _unchangeable(place, error) from error


def delete(place: WorkspacePath, *, recursive: bool = False) -> None:
    """Delete what is at *place*; for a link, the link itself."""
    try:
        with open_parent(place.root, place.path) as folder:
            _delete(folder, place.path.name, recursive=recursive)
    except RecursionError:
        message = f"{_quoted(place)} has too many nested folders."
        raise FileUnavailable(message, hint="Delete it in a terminal.") from None
    except OSError as error:
        raise _unchangeable(place, error) from error


def move(source: WorkspacePath, destination: WorkspacePath) -> None:
    """Move what is at *source* to *destination*; an existing file there is replaced."""
    try:
        with open_parent(source.root, source.path) as one, open_parent(destination.root, destination.path) as other:
            os.replace(source.path.name, destination.path.name, src_dir_fd=one, dst_dir_fd=other)
    except OSError as error:
        raise _unchangeable(source, error) from error


def files_below(place: WorkspacePath) -> int:
    """Returns how many files the folder at *place* contains, recursively; counts up to :data:`MOST_COUNTED`."""
    count = 0
    for _, _, names in os.walk(place.path):
        count += len(names)
        if count >= MOST_COUNTED:
            return MOST_COUNTED
    return count


def _delete(folder: int, name: str, *, recursive: bool) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    if recursive:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            for entry in os.listdir(inner):  # noqa: PTH208 - of a descriptor
                _delete(inner, entry, recursive=True)
        finally:
            os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _mode(folder: int, place: WorkspacePath) -> int | None:
    """The mode of the existing file, for its replacement; None if there is no file."""
    try:
        state = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not state.st_mode & 0o222 or not os.access(place.path, os.W_OK):  # replacing it needs only its folder's right
        raise FileUnavailable(f"{_quoted(place)} is read-only.", hint="Make it writable, or write to another file.")
    return stat.S_IMODE(state.st_mode)


def _quoted(place: WorkspacePath) -> str:
    return repr(place.path.relative_to(place.root).as_posix())


def _unchangeable(place: WorkspacePath, error: OSError) -> FileUnavailable:
    if isinstance(error, FileNotFoundError):
        return FileUnavailable(f"There is no {_quoted(place)}, or no folder for it.", hint="It may have been moved.")
    return FileUnavailable(f"{_quoted(place)} cannot be changed: {error.strerror or error}.")


PREFIX = "remote-"
"""The prefix of these agents' names: a client that calls itself ``claude`` is not the agent with that name."""
Authorize: TypeAlias = "Callable[[PolicyRequest], Coroutine[Any, Any, None]]"
"""Asks whether a change may be made; raises PermissionDenied."""


class ClientFiles:
    """The changes that clients make. On the host's thread."""

    def __init__(self, host: Host) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.answer_seconds = ANSWER_SECONDS
        self._host = host
        self._open: dict[tuple[str, Path], tuple[Conversation, UnpromptedTurns]] = {}

    @contextlib.asynccontextmanager
    async def change(self, client: str, workspace: Path) -> AsyncIterator[Authorize]:
        """Within the block, changes belong to a turn of *client* in *workspace*; yields how to ask for each."""
        conversation, turns = self._turns(client, workspace)

        async def authorize(request: PolicyRequest) -> None:
            answer = conversation.permissions.authorize(request)
            await answered_within(self.answer_seconds, answer, request.title, "try")

        try:
            await turns.enter()
            yield authorize
        finally:
            turns.leave(None if conversation.closed else self.idle_seconds)

    def _turns(self, client: str, workspace: Path) -> tuple[Conversation, UnpromptedTurns]:
        known = self._open.get((client, workspace))
        if known is None or known[0].closed:
            conversation = self._conversation(client, workspace)
            known = conversation, UnpromptedTurns(conversation, f"{conversation.spec.title} changes files.")
            self._open[client, workspace] = known
        return known

    def _conversation(self, client: str, workspace: Path) -> Conversation:
        title = f"{client} (remote client)"
        about, command = "A client of another program.", ("agentnb", "serve")
        spec = client_spec(PREFIX, client, title=title, about=about, command=command)
        options = SessionOptions(spec=spec, cwd=workspace)
        read_only = SessionError(f"{title} only changes files here.", hint="Write to an agent in another tab.")
        conversation = open_for(Conversation, self._host, options, read_only, title=title)
        show_running(conversation)
        return conversation
