"""Files opened without following links, written at once or not at all, and locked."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import uuid
from typing import TYPE_CHECKING

from agentnb.errors import OutsideWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomically(path: Path, content: bytes, *, mode: int = 0o600, sync: bool = False) -> None:
    """Write *content* to a temporary file beside *path*, then rename it to *path*.

    The temporary name cannot be guessed and must be unused, so nobody can place a link there that leads elsewhere.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with open(os.open(draft, _NEW, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if mode != 0o600:  # noqa: PLR2004 - as it was made
            draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def try_lock(descriptor: int, *, without_locks: bool = True) -> bool:
    """Lock an open file until it is closed; returns False if another process has locked it."""
    if sys.platform == "win32":
        return without_locks
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return without_locks
    return True


@contextlib.contextmanager
def locked(descriptor: int, *, without_locks: bool = True) -> Iterator[None]:
    """Wait for an open file's lock and hold it; without lock support, raise, or do nothing if *without_locks*."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    accepted = (OSError,) if without_locks else ()
    with contextlib.suppress(*accepted):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with contextlib.suppress(*accepted):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # explicitly: a process forked meanwhile also has the file open


_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PASSING = _FOLDER | getattr(os, "O_PATH", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@contextlib.contextmanager
def open_parent(root: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    """Open the folder that *path* is in; yields a descriptor for ``dir_fd``."""
    with open_folder(root, path.relative_to(root).parts[:-1], make=make) as here:
        yield here


@contextlib.contextmanager
def open_folder(root: Path | str, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder; yields a descriptor for ``dir_fd``."""
    here = os.open(root, _PASSING & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for depth, name in enumerate(parts, 1):
            try:
                below = _step(here, name, f"{root}/{'/'.join(parts)}", make=make)
            except OSError as error:
                error.filename = os.path.join(root, *parts[:depth])  # noqa: PTH118 - the system named the last part
                raise
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def open_entry(folder: int, name: str, flags: int, path: Path) -> int:
    """Open the file *name* in *folder*, which must not be a link either."""
    try:
        return os.open(name, flags | _FILE, 0o666, dir_fd=folder)
    except OSError as error:
        raise _moved(path, error) from error


def open_path(root: Path, path: Path, flags: int) -> int:
    """Open *path*, a file or folder below *root*, or *root* itself."""
    with open_parent(root, path) as folder:
        return open_entry(folder, "." if path == root else path.name, flags, path)


def replace_entry(folder: int, path: Path, data: bytes, mode: int | None, as_shown: Callable[[], bool]) -> bool:
    """Write beside a file, then replace it; *folder* is open, so that nothing can redirect the write meanwhile."""
    draft = f".{path.name[:32]}.{uuid.uuid4().hex[:8]}.part"
    descriptor = open_entry(folder, draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), path)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        same = as_shown()
        if same:
            os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.unlink(draft, dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    return same


def _step(here: int, name: str, path: str, *, make: bool) -> int:
    try:
        return os.open(name, _PASSING, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        raise _moved(path, error) from error
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=here)
    try:
        return os.open(name, _PASSING, dir_fd=here)
    except OSError as error:
        raise _moved(path, error) from error


def _moved(path: Path | str, error: OSError) -> Exception:
    """Returns OutsideWorkspace for a link where none was (``ELOOP``; ``ENOTDIR`` on the way), else *error*."""
    if error.errno not in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
        return error
    message = f"{str(path)!r} no longer leads where it led: there is a link or a file on the way."
    return OutsideWorkspace(message, hint="Ask for the path again.")
