"""The subjects at a request: the commands and the files that leave is wanted for, and how bad each can be."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.policy.command_targets import CommandTarget, command_targets, is_harmless_to_read
from agentnb.policy.commands.code import rate_code
from agentnb.policy.commands.paths import NamedPath
from agentnb.policy.commands.rating import rate_command
from agentnb.policy.rules import PolicySubject
from agentnb.policy.sensitive import rate_file, secret_pattern, sensitive_pattern
from agentnb.policy.severity import Risk, together, worst

if TYPE_CHECKING:
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.situation import Situation

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
    """Returns what *request* is about."""
    if request.tool == "kernel":
        risk = rate_code(request.command or "", "Runs this code in your kernel.")
        return Seen((_subject(request, situation, command=request.command, severity=risk.severity),), risk)
    if request.command is not None:
        return _command(request, request.command, situation)
    about = _CELLS if request.kind == "cell" else _FILE  # an agent that calls a file a cell changes a file
    found = [_file(path, request.tool, situation, about) for path in request.files]
    if found:
        risk = together(finding for _, finding in found) or Risk("none", "")
        return Seen(tuple(subject for subject, _ in found), risk)
    risk = Risk("low", "Only reads.") if request.tool in READING else Risk("medium", "Does what its title says.")
    if request.concern:
        risk = Risk("high", request.concern)
    if request.vague:
        risk = Risk("high", "Doesn't say what it would do.")
    return Seen((_subject(request, situation, severity=risk.severity),), risk)


def _command(request: PolicyRequest, command: str, situation: Situation) -> Seen:
    """The commands of a line, and the files that it names: files outside the workspace and sensitive ones add risk."""
    rating = rate_command(command, situation.patterns, request.env)
    cwd = request.path or str(situation.root)
    looks = request.asked in READING
    places = [*command_targets(rating.places, cwd), *(CommandTarget(path, writes=not looks) for path in request.files)]
    if request.kind == "permission":
        places += command_targets([NamedPath(".")], cwd)
    found = [_subject_of_target(each, request, situation) for each in places]
    known = Risk(rating.severity, rating.reason or "Runs a command that only looks.")
    risk = together((known, *(finding for _, finding in found))) or known
    sensitive = rating.sensitive is not None or any(subject.sensitive for subject, _ in found)
    units = tuple(
        _subject(request, situation, command=unit, severity=rating.severity, sensitive=sensitive, asks=rating.asks)
        for unit in rating.units or ("",)
    )
    return Seen(units, risk, rating.readable, tuple(subject for subject, _ in found))


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
        if finding.severity == "critical":  # files can be brought back; critical is for what cannot
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
    """*path* as seen from the innermost of *roots* that holds it."""
    holding = [root for root in roots if PurePath(path).is_relative_to(root)]
    root = max(holding, key=lambda root: len(root.parts), default=None)
    return None if root is None else PurePath(path).relative_to(root).as_posix()
