"""Locks of open files between processes; a killed process lets go of its own."""

from __future__ import annotations

import sys


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
