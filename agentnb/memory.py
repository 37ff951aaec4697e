"""The memory of this machine and of this process, as Linux tells it."""

from __future__ import annotations

import os


def available_memory() -> int | None:
    """Returns how many bytes this process can have without swapping; None where the system does not say."""
    known = [each for each in (_free_in_machine(), _free_in_address_space()) if each is not None]
    return min(known, default=None)


def _free_in_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - no file of the user's
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def _free_in_address_space() -> int | None:
    """What a limit such as that of ``ulimit -v`` leaves; None where there is none."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows
        return None
    limit, _ = getrlimit(RLIMIT_AS)
    used = address_space()
    return None if limit == RLIM_INFINITY or not used else max(0, limit - used)


def address_space() -> int:
    """Returns how many bytes of address space this process has; 0 where the system does not say."""
    return _pages(0)


def resident_memory() -> int:
    """Returns how many bytes this process takes; 0 where the system does not say."""
    return _pages(1)


def _pages(field: int) -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no file of the user's
            return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
