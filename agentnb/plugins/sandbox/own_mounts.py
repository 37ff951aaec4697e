"""A private view of the file system: other folders are read-only, and terminals are new ones.

Not checked: calls that change permissions, owners, times and extended attributes. It cannot tell other processes'
terminals from its own.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/agentnb/")[0])

from agentnb.plugins.sandbox.namespaces import (
    BIND,
    NEW_IPC,
    NEW_MOUNTS,
    NO_EXEC,
    NO_SUID,
    PRIVATE,
    READ_ONLY,
    RECURSIVE,
    set_mount_flags,
    unshare_as_user,
    works_in_fork,
)
from agentnb.system_calls import mount, unshare

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

TERMINALS = "/dev/pts"
_APART = ("/dev", "/proc", "/sys")
"""Folders that cannot be made read-only here, or need not be."""


def enter(write: Sequence[str]) -> bool:
    """Enter this view, if the system allows it; a fork tries it first, as a process that is half in cannot come back.

    Only a process with one thread can do this.
    """
    if not works_in_fork(lambda: _enter(write)):
        return False
    _enter(write)
    return True


def _enter(write: Sequence[str]) -> None:
    cwd = os.getcwd()
    try:
        unshare(NEW_MOUNTS | NEW_IPC)
    except OSError:  # lacks the privilege
        unshare_as_user(NEW_MOUNTS | NEW_IPC)
    mount("none", "/", None, RECURSIVE | PRIVATE)
    kept = [path for path in map(os.path.realpath, write) if os.path.exists(path) and not path.startswith(_APART)]
    for path in sorted(set(kept)):
        mount(path, path, None, BIND | RECURSIVE)
    set_mount_flags("/", READ_ONLY, 0)
    for path in (*kept, *_APART):
        set_mount_flags(path, 0, READ_ONLY)
    mount("devpts", TERMINALS, "devpts", NO_SUID | NO_EXEC, "newinstance,ptmxmode=0666,mode=0620")
    os.chdir(cwd)  # its old working directory is hidden below the new mounts


if __name__ == "__main__":
    sys.exit(not enter(()))
