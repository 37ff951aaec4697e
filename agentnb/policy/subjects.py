"""The subjects of a decision: the targets of commands, files, hosts and tools."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.policy.commands.names import rate_code
from agentnb.policy.commands.paths import NamedPath
from agentnb.policy.commands.rating import rate_command
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.rules import PolicySubject
from agentnb.policy.sensitive import rate_file, secret_pattern, sensitive_pattern
from agentnb.policy.severity import Risk, together, worst
from agentnb.policy.workspace import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentnb.policy.request import PolicyRequest, Situation

_DEVICES = re.compile(r"/dev/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd/\d+)|-")
_DISCARDS = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/[12])|-")
_PROGRAMS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"),
    *("/System", "/Library"),
)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_MOST = 256
_MOST_MATCHES = 64
_BASES = 16


class CommandTarget(NamedTuple):
    path: str
    writes: bool
    known: bool = True
    lists: bool = False


def command_targets(places: Iterable[NamedPath], cwd: str) -> list[CommandTarget]:
    """Returns what a command in *cwd* accesses, as far as its words show, without devices that store nothing."""
    unique_places = list(dict.fromkeys(places))
    targets = dict.fromkeys(each for place in unique_places[:_MOST] for each in _of(place, cwd))
    if len(unique_places) > _MOST:
        targets[CommandTarget(f"{len(unique_places) - _MOST} more files", writes=True, known=False)] = None
    return list(targets)


_SYSTEM_FILES = re.compile(
    r"/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|mounts|partitions|filesystems|devices|interrupts|swaps|vmstat"
    r"|diskstats|modules|cmdline|driver/nvidia/version|(?:self|\d+)/(?:status|limits|mounts|cgroup))"
    r"|/sys/(?:class|devices|fs/cgroup|block|kernel/mm)/.*"
    r"|/etc/(?:os-release|lsb-release|debian_version|redhat-release|issue|hostname|timezone|localtime|shells"
    r"|locale\.conf|nsswitch\.conf|protocols|services|mime\.types)"
)


def is_harmless_to_read(path: str) -> bool:
    """True if *path* tells only what anyone may know: where programs are installed, or which machine this is."""
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
    """Expands what is known in *path*, and tells if it is known where that leads; a path of None: nothing is known."""
    path = path if not path.startswith("~") else os.path.expanduser(path)  # noqa: PTH111 - as text
    if path.startswith("~"):
        return path, False
    values = {"HOME": str(Path.home()), "PWD": base}
    if dynamic:
        path = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), path)
    if not dynamic or "$" not in path:
        return path, True
    if re.match(r"\$\{?(?:OLDPWD|TMPDIR|TEMP|TMP|USERPROFILE|XDG_\w+|LOCALAPPDATA|APPDATA)\b", path):
        return path, False
    if ".." in path.split("/"):
        return path, False
    fixed = path.partition("$")[0].rpartition("/")[0]
    return (fixed or "/", True) if path.startswith("/") else (fixed or None, True)


def _bases(place: NamedPath, cwd: str) -> list[str | None]:
    """Returns the folders that the command may be in by then; None: a folder known only when it runs."""
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
    """Returns *path*, and the files that it matches if it is a pattern."""
    if not glob.has_magic(path):
        return [path]
    try:
        paths = list(itertools.islice(glob.iglob(os.path.join(base, path)), _MOST_MATCHES))  # noqa: PTH118, PTH207 - as the shell
    except (OSError, ValueError, re.error):
        paths = []
    return [path, *paths]


READING = frozenset({"read", "search", "think"})
"""The kinds of tools that change no file."""

_FILE = "Edits a file in your workspace."
_CELLS = "Changes cells of a notebook in your workspace."


class Seen(msgspec.Struct, frozen=True):
    """The subjects of a request, and how bad it can be."""

    subjects: tuple[PolicySubject, ...]
    risk: Risk
    readable: bool = True
    files: tuple[PolicySubject, ...] = ()


def seen(request: PolicyRequest, situation: Situation) -> Seen:
    if request.tool == "kernel":
        risk = rate_code(request.command or "", "Runs this code in your kernel.")
        return Seen((_subject(request, situation, command=request.command, severity=risk.severity),), risk)
    if request.command is not None:
        return _command(request, request.command, situation)
    about = _CELLS if request.kind == "cell" else _FILE  # an agent may call a file edit a cell edit
    rated_subjects = [_file(path, request.tool, situation, about) for path in request.files]
    if rated_subjects:
        risk = together(finding for _, finding in rated_subjects) or Risk("none", "")
        return Seen(tuple(subject for subject, _ in rated_subjects), risk)
    risk = Risk("low", "Only reads.") if request.tool in READING else Risk("medium", "Does what its title says.")
    if request.concern:
        risk = Risk("high", request.concern)
    if request.vague:
        risk = Risk("high", "Doesn't say what it would do.")
    return Seen((_subject(request, situation, severity=risk.severity),), risk)


def _command(request: PolicyRequest, command: str, situation: Situation) -> Seen:
    """Returns a command line's commands and files; files that are sensitive or outside the workspace add risk."""
    rating = rate_command(command, situation.patterns, request.env)
    cwd = request.path or str(situation.root)
    looks = request.asked in READING
    places = [*command_targets(rating.places, cwd), *(CommandTarget(path, writes=not looks) for path in request.files)]
    if request.kind == "permission":
        places += command_targets([NamedPath(".")], cwd)
    rated_subjects = [_subject_of_target(each, request, situation) for each in places]
    known = Risk(rating.severity, rating.reason or "Runs a command that only looks.")
    risk = together((known, *(finding for _, finding in rated_subjects))) or known
    sensitive = rating.sensitive is not None or any(subject.sensitive for subject, _ in rated_subjects)
    units = tuple(
        _subject(request, situation, command=unit, severity=rating.severity, sensitive=sensitive, asks=rating.asks)
        for unit in rating.units or ("",)
    )
    return Seen(units, risk, rating.readable, tuple(subject for subject, _ in rated_subjects))


def _subject(request: PolicyRequest, situation: Situation, **fields: Any) -> PolicySubject:
    also = (request.asked,) if request.asked is not None and request.asked != request.tool else ()
    return PolicySubject(agent=situation.agent, tool=request.tool, also=also, **fields)


def _subject_of_target(
    place: CommandTarget, request: PolicyRequest, situation: Situation
) -> tuple[PolicySubject, Risk]:
    tool = "edit" if place.writes else "read"
    subject, finding = _file(place.path, tool, situation)
    if not place.known:
        subject, finding = msgspec.structs.replace(subject, inside=None), _outside(place.path)
    elif subject.outside and not place.writes and (place.lists or is_harmless_to_read(place.path)):
        subject, finding = msgspec.structs.replace(subject, free=True), Risk("none", "")
    if not subject.outside and not subject.sensitive:
        finding = Risk("none", "")
    return msgspec.structs.replace(subject, also=(request.tool,)), finding


def _file(path: str, tool: str, situation: Situation, about: str = _FILE) -> tuple[PolicySubject, Risk]:
    inside, patterns = _inside(path, (situation.root, *situation.directories)), situation.patterns
    named = path if inside is None else inside
    pattern = sensitive_pattern(named, patterns)
    if tool in READING:
        sensitive = secret_pattern(named, patterns) is not None
        finding = Risk("high", "Reads a file that may hold secrets.") if sensitive else Risk("low", "Reads a file.")
    else:
        sensitive, finding = pattern is not None, rate_file(named, patterns, about)
        if finding.severity == "critical":  # files can be restored; critical means irreversible
            finding = Risk("high", finding.reason)
    if inside is None:
        finding = worst((_outside(path), finding)) or finding
    subject = PolicySubject(
        agent=situation.agent, tool=tool, path=path, inside=inside, severity=finding.severity, sensitive=sensitive
    )
    return subject, finding


def _outside(path: str) -> Risk:
    return Risk("high", f"Outside the workspace: {path}.")


def _inside(path: str, roots: tuple[PurePath, ...]) -> str | None:
    """Returns *path* relative to the innermost of *roots* that contains it; None if none does."""
    holding = [root for root in roots if PurePath(path).is_relative_to(root)]
    root = max(holding, key=lambda root: len(root.parts), default=None)
    return None if root is None else PurePath(path).relative_to(root).as_posix()
