"""Which process a kernel is, so that another one can tell whether it still lives."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def machine() -> str:
    """This machine's name."""
    return platform.node()


def started(pid: int) -> str:
    """When process *pid* began, in the machine's own words; empty where it does not say, or there is none.

    A number is given to a new process after the old one has ended; number and beginning together are not.
    """
    if sys.platform != "linux":
        return ""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if len(fields) > 19 else ""  # noqa: PLR2004 - starttime, the 22nd of proc_pid_stat(5)


def alive(on: str, pid: int, began: str) -> bool:
    """Whether the process *pid* on the machine *on*, which began at *began*, still runs, as far as can be told here."""
    if on != machine() or sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started(pid) == began
