"""Files of a workspace, changed for a client: written whole or not at all, and no link is followed on the way.

What is changed is what was shown to who decided: the path is worked out before the question, and is gone component by
component afterwards (`agentnb.open_without_links`).
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.errors import FileUnavailable, OutsideWorkspace
from agentnb.open_without_links import open_folder, open_parent, open_path, replace_entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentnb.policy.workspace import Workspace

LARGEST = 64 * 1024 * 1024
"""The most bytes of a file that are kept while it is changed."""
MOST_COUNTED = 10_000
"""Files of a folder that are counted for the question whether it may be deleted."""

Kind: TypeAlias = Literal["file", "directory", "symlink"]


class Place(NamedTuple):
    """A path in a workspace."""

    root: Path
    path: Path


class Found(NamedTuple):
    """What is at a place."""

    path: Path
    kind: Kind
    size: int
    modified_ns: int
    version: str


def place_of(workspace: Workspace, path: str, *, follow: bool = True) -> Place:
    """Where *path* leads."""
    if follow:
        real = workspace.resolve(path)
    else:
        named = workspace.root / path
        if named.name in {"", ".."}:
            raise OutsideWorkspace(f"{path[:200]!r} names no file of the workspace.", hint="Give the path of a file.")
        real = workspace.resolve(str(named.parent)) / named.name
        if real in workspace.roots:
            raise OutsideWorkspace(f"{path[:200]!r} is the workspace itself.", hint="Give the path of a file in it.")
    return Place(workspace.root_of(real) or workspace.root, real)


def found_at(place: Place) -> Found | None:
    """What is at *place*; None where nothing is."""
    try:
        if place.path == place.root:
            state = os.stat(place.root)  # noqa: PTH116
        else:
            with open_parent(place.root, place.path) as folder:
                state = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unavailable(place, error) from error
    kinds: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    kind = kinds.get(stat.S_IFMT(state.st_mode))
    if kind is None:
        raise FileUnavailable(f"{_named(place)} is neither a file nor a folder.", hint="Choose another path.")
    version = f'"{state.st_ino:x}-{state.st_size:x}-{state.st_mtime_ns:x}"'
    return Found(place.path, kind, state.st_size, state.st_mtime_ns, version)


def content_of(place: Place) -> bytes | None:
    """What the file at *place* holds; None where there is none."""
    found = found_at(place)
    if found is None:
        return None
    if found.kind != "file":
        raise FileUnavailable(f"{_named(place)} is not a file.", hint="Give the path of a file.")
    if found.size > LARGEST:
        raise FileUnavailable(f"{_named(place)} has more than {LARGEST:,} bytes.", hint="Change it in the notebook.")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_path(place.root, place.path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unavailable(place, error) from error
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(LARGEST)


def write(place: Place, data: bytes, shown: bytes | None) -> bool:
    """Write *data*, unless the file does not hold what was *shown* any more; says whether it was written."""
    try:
        with open_parent(place.root, place.path) as folder:
            mode = _mode(folder, place)
            return replace_entry(folder, place.path, data, mode, lambda: content_of(place) == shown)
    except OSError as error:
        raise _unavailable(place, error) from error


def make_folder(place: Place) -> None:
    """Make the folder at *place*, and those on the way to it that are missing."""
    try:
        with open_folder(place.root, place.path.relative_to(place.root).parts, make=True):
            pass
    except OSError as error:
        raise _unavailable(place, error) from error


def delete(place: Place, *, recursive: bool = False) -> None:
    """Delete what is at *place*; a link itself, not what it leads to."""
    try:
        with open_parent(place.root, place.path) as folder:
            _delete(folder, place.path.name, recursive=recursive)
    except RecursionError:
        message = f"{_named(place)} has too many folders in each other."
        raise FileUnavailable(message, hint="Delete it in a terminal.") from None
    except OSError as error:
        raise _unavailable(place, error) from error


def move(source: Place, destination: Place) -> None:
    """Move what is at *source* to *destination*; a file that is there is replaced."""
    try:
        with open_parent(source.root, source.path) as one, open_parent(destination.root, destination.path) as other:
            os.replace(source.path.name, destination.path.name, src_dir_fd=one, dst_dir_fd=other)
    except OSError as error:
        raise _unavailable(source, error) from error


def files_below(place: Place) -> int:
    """How many files the folder at *place* holds, in all its folders; counted up to :data:`MOST_COUNTED`."""
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
        with _inside(folder, name) as inner:
            for entry in os.listdir(inner):  # noqa: PTH208 - of a descriptor
                _delete(inner, entry, recursive=True)
    os.rmdir(name, dir_fd=folder)


@contextlib.contextmanager
def _inside(folder: int, name: str) -> Iterator[int]:
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield inner
    finally:
        os.close(inner)


def _mode(folder: int, place: Place) -> int | None:
    """The file's mode, for the one that takes its place; None where there is none."""
    try:
        state = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not state.st_mode & 0o222 or not os.access(place.path, os.W_OK):  # to replace it takes its folder's right only
        raise FileUnavailable(f"{_named(place)} is read-only.", hint="Make it writable, or write another file.")
    return stat.S_IMODE(state.st_mode)


def _named(place: Place) -> str:
    return repr(place.path.relative_to(place.root).as_posix())


def _unavailable(place: Place, error: OSError) -> FileUnavailable:
    if isinstance(error, FileNotFoundError):
        return FileUnavailable(f"There is no {_named(place)}, or no folder for it.", hint="It may have been moved.")
    return FileUnavailable(f"{_named(place)} cannot be changed: {error.strerror or error}.")
