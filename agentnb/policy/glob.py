"""Patterns: for paths (``**``, ``*``, ``?``, ``[ab]``, ``{a,b}``, a leading ``!``) and for command lines (``*``)."""

from __future__ import annotations

import functools
import re

_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
LONGEST_PATTERN = 1_000
"""The longest pattern for names of files, programs or variables that is tried, in characters: names are shorter, and
the time to read unclosed brackets grows with the square of their number."""
_BELOW = "(?:.*/)?"
_MOST = 256


def path_matches(pattern: str, path: str) -> bool:
    """True if *pattern* covers *path*; case is ignored, as some file systems ignore it."""
    if pattern.startswith("!"):
        return not path_matches(pattern[1:], path)
    return any(_path_regex(each).fullmatch(path) is not None for each in _alternatives(pattern))


def any_path_matches(patterns: tuple[str, ...], path: str) -> bool:
    """True if :func:`path_matches` holds for one of *patterns*; searches for all of them at once."""
    together, turned = _together(patterns)
    return together.fullmatch(path) is not None or any(path_matches(each, path) for each in turned)


def command_matches(pattern: str, command: str) -> bool:
    return any(_covers(literals, command) for literals in _literals(pattern))


def escaped(command: str) -> str:
    """Returns the pattern that covers *command* and nothing else."""
    return re.sub(r"([*\\])", r"\\\1", command)


@functools.lru_cache(1024)
def _alternatives(pattern: str) -> tuple[str, ...]:
    patterns = [pattern]
    while len(patterns) < _MOST and (brace := next((m for each in patterns if (m := _BRACES.search(each))), None)):
        whole = brace.string
        patterns.remove(whole)
        patterns += [f"{whole[: brace.start()]}{choice}{whole[brace.end() :]}" for choice in brace[1].split(",")]
    return tuple(patterns)


@functools.lru_cache(64)
def _together(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Returns one expression for *patterns*, and separately those that begin with ``!``."""
    regexes = [
        _path_regex(each).pattern for pattern in patterns if pattern[:1] != "!" for each in _alternatives(pattern)
    ]
    below = [each.removeprefix(_BELOW) for each in regexes if each.startswith(_BELOW)]
    others = [each for each in regexes if not each.startswith(_BELOW)]
    whole = "|".join([f"{_BELOW}(?:{'|'.join(below)})", *others] if below else others or ["(?!)"])
    return re.compile(whole, re.IGNORECASE | re.DOTALL), tuple(each for each in patterns if each[:1] == "!")


@functools.lru_cache(1024)
def _path_regex(pattern: str) -> re.Pattern[str]:
    out, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            out, at = out + _BELOW, at + 3
        elif pattern.startswith("**", at):
            out, at = out + ".*", at + 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out, at = out + f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]", end + 1
        else:
            out, at = out + {"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])), at + 1
    try:
        return re.compile(out, re.IGNORECASE | re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern), re.IGNORECASE)


@functools.lru_cache(1024)
def _literals(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Returns the texts between the stars of *pattern*, as it is and without a final `` *``."""
    optional = pattern.endswith(" *") and not pattern.endswith("\\ *")
    literals = [""]
    for piece in re.findall(r"\\.|\*|[^*\\]+|\\", pattern, re.DOTALL):
        if piece == "*":
            literals.append("")
        else:
            literals[-1] += piece[1:] if piece[0] == "\\" and len(piece) > 1 else piece
    return (tuple(literals), (*literals[:-2], literals[-2][:-1])) if optional else (tuple(literals),)


def _covers(literals: tuple[str, ...], command: str) -> bool:
    """True if *command* is *literals* with anything between them."""
    first, *middle = literals
    if not middle:
        return command == first
    last = middle.pop()
    at, end = len(first), len(command) - len(last)
    if at > end or not command.startswith(first) or not command.endswith(last):
        return False
    for literal in middle:
        position = command.find(literal, at, end)
        if position < 0:
            return False
        at = position + len(literal)
    return True
