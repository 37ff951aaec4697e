"""The memory of this machine, of this container and of this process, as Linux reports it."""

from __future__ import annotations

import functools
import os
from pathlib import Path

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")
_UNLIMITED = 2**60
"""Bytes from which a limit counts as none: cgroup version 1 writes "no limit" as a number near the largest."""
_Group: TypeAlias = "tuple[Path, tuple[str, str, str]]"  # the folder, and the names of the files read in it


def available_memory() -> int | None:
    """Returns how many bytes this process can get without swapping; None if the system does not say."""
    in_groups = _left_in(_own_groups())
    known = [each for each in (_free_in_machine(), in_groups, _free_in_address_space()) if each is not None]
    return min(known, default=None)


def _free_in_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - no file of the user's
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def free_in_container(groups: Path = CGROUPS, own: Path = _OWN_GROUPS) -> int | None:
    """Returns how many bytes the control groups of this process leave to it; None if they set no limit.

    Cached pages of files count as free: the system drops them before the limit is reached.

    Args:
        groups: The folder where the control groups are mounted, of version 2 or 1.
        own: The file that names this process's groups.
    """
    return _left_in(_groups_with_limit(groups, own))


@functools.cache
def _own_groups() -> list[_Group]:
    """Cached: with many groups, the search takes as long as keeping a table."""
    return _groups_with_limit(CGROUPS, _OWN_GROUPS)


def _groups_with_limit(groups: Path, own: Path) -> list[_Group]:
    try:
        lines = [line.split(":", 2) for line in own.read_text("utf-8", "surrogateescape").splitlines()]
    except OSError:
        return []
    limited_groups: list[_Group] = []
    for _, controllers, path in (each for each in lines if len(each) == 3):  # noqa: PLR2004
        if controllers == "":
            limited_groups += _limited(groups, path, _V2)
        elif "memory" in controllers.split(","):
            limited_groups += _limited(groups / "memory", path, _V1)
    return limited_groups


def _limited(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[_Group]:
    """Yields those of a group and its parents that have a limit; a container may see its own group only as the root."""
    group = Path(os.path.normpath(root / path.strip("/")))
    for folder in (group, *group.parents):
        if not folder.is_relative_to(root):
            return
        limit = _number(folder / names[0])
        if limit is not None and limit < _UNLIMITED:
            yield folder, names


def _left_in(groups: list[_Group]) -> int | None:
    return min((left for each in groups if (left := _left(*each)) is not None), default=None)


def _left(folder: Path, names: tuple[str, str, str]) -> int | None:
    limit, used = _number(folder / names[0]), _number(folder / names[1])
    if limit is None or used is None:
        return None
    return max(0, limit - max(0, used - _file_pages(folder / "memory.stat", names[2])))


def _number(path: Path) -> int | None:
    """Returns the number in a file; None if the file is missing, or says ``max``."""
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _file_pages(path: Path, name: str) -> int:
    try:
        pairs = [line.split() for line in path.read_text("ascii").splitlines()]
        return next(int(pair[1]) for pair in pairs if pair[:1] == [name])
    except (OSError, ValueError, StopIteration, IndexError):
        return 0


def _free_in_address_space() -> int | None:
    """Returns how many bytes a limit such as that of ``ulimit -v`` leaves; None if there is no limit."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # on Windows
        return None
    limit, _ = getrlimit(RLIMIT_AS)
    used = address_space()
    return None if limit == RLIM_INFINITY or not used else max(0, limit - used)


def address_space() -> int:
    """Returns how many bytes of address space this process uses; 0 if the system does not say."""
    return _pages(0)


def resident_memory() -> int:
    """Returns how many bytes of memory this process occupies; 0 if the system does not say."""
    return _pages(1)


def _pages(field: int) -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no file of the user's
            return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
