"""Finds the files that a command's paths lead to: from its folder, through ``cd``, links, ``~`` and patterns."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.workspace import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentnb.policy.commands.paths import NamedPath

_DEVICES = re.compile(r"/dev/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd/\d+)|-")
_DISCARDS = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/[12])|-")
_PROGRAMS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/System",
    "/Library",
)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_MOST = 256
_FOUND = 64
_BASES = 16


class CommandTarget(NamedTuple):
    """A file that a command reaches."""

    path: str
    writes: bool
    known: bool = True
    lists: bool = False


def command_targets(places: Iterable[NamedPath], cwd: str) -> list[CommandTarget]:
    """Returns what a command in *cwd* reaches, as far as its words say; devices that keep nothing are left out."""
    given = list(dict.fromkeys(places))
    found = dict.fromkeys(each for place in given[:_MOST] for each in _of(place, cwd))
    rest = [CommandTarget(f"{len(given) - _MOST} more files", writes=True, known=False)] if len(given) > _MOST else []
    return [*found, *rest]


_SYSTEM_FILES = re.compile(
    r"/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|mounts|partitions|filesystems|devices|interrupts|swaps|vmstat"
    r"|diskstats|modules|cmdline|driver/nvidia/version|(?:self|\d+)/(?:status|limits|mounts|cgroup))"
    r"|/sys/(?:class|devices|fs/cgroup|block|kernel/mm)/.*"
    r"|/etc/(?:os-release|lsb-release|debian_version|redhat-release|issue|hostname|timezone|localtime|shells"
    r"|locale\.conf|nsswitch\.conf|protocols|services|mime\.types)"
)


def is_harmless_to_read(path: str) -> bool:
    """True if *path* says what everybody may know: where programs are kept, and what machine this is."""
    return _SYSTEM_FILES.fullmatch(path) is not None or any(
        path == folder or path.startswith(f"{folder}/") for folder in _program_folders()
    )


@functools.lru_cache(1)
def _program_folders() -> tuple[str, ...]:
    own = {os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)}
    return (*_PROGRAMS, *(each for each in own if each != str(Path.home()) and each.count("/") > 1))


def _of(place: NamedPath, cwd: str) -> Iterator[CommandTarget]:
    if (_DISCARDS if place.writes else _DEVICES).fullmatch(place.path):
        return
    for base in _bases(place, cwd):
        if base is None:
            if ".." in place.path.split("/"):
                yield CommandTarget(place.path, place.writes, known=False)
            continue
        path, known = _expanded(place.path, base, dynamic=place.dynamic)
        if path is None:
            continue
        if not known or (len(path) > LONGEST_PATTERN and glob.has_magic(path)):
            yield CommandTarget(path, place.writes, known=False)
            continue
        yield from (
            CommandTarget(real_path(base, each), place.writes, lists=place.lists) for each in _matches(base, path)
        )


def _expanded(path: str, base: str, *, dynamic: bool) -> tuple[str | None, bool]:
    """*path* with what is known of it put in, and whether all that leads anywhere is known; None: nothing is."""
    path = path if not path.startswith("~") else os.path.expanduser(path)  # noqa: PTH111 - as text
    if path.startswith("~"):
        return path, False
    values = {"HOME": str(Path.home()), "PWD": base}
    if dynamic:
        path = _VARIABLE.sub(lambda found: values.get(found[1], found[0]), path)
    if not dynamic or "$" not in path:
        return path, True
    if re.match(r"\$\{?(?:OLDPWD|TMPDIR|TEMP|TMP|USERPROFILE|XDG_\w+|LOCALAPPDATA|APPDATA)\b", path):
        return path, False
    if ".." in path.split("/"):
        return path, False
    fixed = path.partition("$")[0].rpartition("/")[0]
    return (fixed or "/", True) if path.startswith("/") else (fixed or None, True)


def _bases(place: NamedPath, cwd: str) -> list[str | None]:
    """The folders in which the command may be by then; None: one that is only known when it runs."""
    bases: list[str | None] = [cwd]
    for step in place.through:
        entered: list[str | None] = []
        for base in bases:
            path, known = (None, False) if base is None or step == "-" else _expanded(step, base, dynamic="$" in step)
            if base is None or path is None or not known:
                entered.append(None)
                continue
            joined = os.path.join(base, path)  # noqa: PTH118 - as text
            entered += [real_path(base, path), real_path(base, os.path.normpath(joined))]
        gone = place.sure and all(each is not None and Path(each).is_dir() for each in entered)
        bases = list(dict.fromkeys([*entered, *([] if gone else bases)]))[:_BASES]
    return bases


def _matches(base: str, path: str) -> list[str]:
    """The files that *path* is a pattern of, else itself."""
    if not glob.has_magic(path):
        return [path]
    try:
        found = list(itertools.islice(glob.iglob(os.path.join(base, path)), _FOUND))  # noqa: PTH118, PTH207 - as the shell
    except (OSError, ValueError, re.error):
        found = []
    return [path, *found]
