"""Locks of open files between processes; a killed process lets go of its own."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def try_lock(descriptor: int, *, without_locks: bool = True) -> bool:
    """Lock an open file, until it is closed, unless another process has locked it."""
    if sys.platform == "win32":
        return without_locks
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return without_locks
    return True


@contextlib.contextmanager
def locked(descriptor: int, *, without_locks: bool = True) -> Iterator[None]:
    """Wait for the lock of an open file, and hold it; where files have no locks, that is an error or does nothing."""
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
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open, too
