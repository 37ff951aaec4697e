"""The rating of a command line: how bad it can be, why, and what it consists of."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import msgspec

from agentnb.hidden_characters import HIDDEN, JOINERS
from agentnb.policy.commands.files import ADMIN
from agentnb.policy.commands.paths import NamedPath
from agentnb.policy.commands.walk import Walk
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.severity import Risk, Severity, rank, together
from agentnb.policy.shell.words import MOST_WORDS, TooManyWords, Unreadable

if TYPE_CHECKING:
    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell.parser import Dialect

_INVISIBLE = re.compile(f"[{HIDDEN}{JOINERS}]")
UNREADABLE = "The command could not be read, so what it does is not known."
LONGEST_COMMAND = 16_000
"""The longest command that is read, in characters. A longer one asks, and counts as a whole for the rules."""
TOO_LONG = f"The command is too long to be read: more than {LONGEST_COMMAND:,} characters."
TOO_MANY_WORDS = f"The command is too long to be read: more than {MOST_WORDS:,} words."


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    severity: Severity
    reason: str | None
    units: tuple[str, ...]
    sensitive: str | None = None
    readable: bool = True
    places: tuple[NamedPath, ...] = ()
    asks: bool = False


def rate_command(command: str, patterns: Patterns = SENSITIVE, env: tuple[tuple[str, str], ...] = ()) -> Rating:
    """Rate *command*, read as bash and as a plain POSIX shell would; the worse reading counts."""
    if len(command) + sum(len(value) for _, value in env) > LONGEST_COMMAND:
        return Rating(severity="high", reason=TOO_LONG, units=(command,), readable=False, asks=True)
    return _rated(command, tuple(patterns.items()), env)


@functools.lru_cache(256)
def _rated(command: str, patterns: tuple[tuple[str, bool], ...], env: tuple[tuple[str, str], ...]) -> Rating:
    """Rates the command as each shell dialect reads it and keeps the worst: it is unknown which shell will run it."""
    try:
        bash = _walked(command, "bash", dict(patterns), env)
        if bash is None:
            return Rating(severity="high", reason=UNREADABLE, units=(command,), readable=False, asks=True)
        plain = _walked(command, "posix", dict(patterns), env)
    except TooManyWords:
        return Rating(severity="high", reason=TOO_MANY_WORDS, units=(command,), readable=False, asks=True)
    walks = [bash] if plain is None else [bash, plain]
    findings = [finding for walk in walks for finding in walk.findings]
    if _INVISIBLE.search(command):
        findings.append(Risk("high", "Contains invisible characters, or characters that reverse the text."))
    unused = [finding for walk in walks for finding in walk.unused]
    risk = together([*findings, *unused]) or Risk("none", "")
    units = dict.fromkeys(unit for walk in walks for unit in walk.units)
    sensitive = next((walk.files.sensitive for walk in walks if walk.files.sensitive), None)
    return Rating(
        severity=risk.severity,
        reason=risk.reason or None,
        units=tuple(units),
        sensitive=sensitive,
        places=tuple(dict.fromkeys(place for walk in walks for place in walk.files.all(walk.programs))),
        asks=_asks(findings),
    )


def _asks(findings: list[Risk]) -> bool:
    admin = [finding for finding in findings if finding.reason == ADMIN]
    others = [finding for finding in findings if finding.reason != ADMIN]
    return any(rank(each.severity) >= rank("low" if admin else "high") for each in others)


def _walked(command: str, dialect: Dialect, patterns: Patterns, env: tuple[tuple[str, str], ...]) -> Walk | None:
    """Walks through *command*, again if some variables have several values; None if it cannot be read."""
    walk = Walk(dialect, patterns, env)
    try:
        walk.text(command)
        if walk.values.unsure:
            walk = Walk(dialect, patterns, env, walk.values.unsure)
            walk.text(command)
    except TooManyWords:
        raise
    except (Unreadable, RecursionError):
        return None
    return walk
