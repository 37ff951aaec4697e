"""The rules of ``.gitignore`` files (gitignore): to scan without git, and to decide what earlier rules ignored.

Patterns come from the project, so the time of a match is limited, in proportion to the lengths of pattern and name: a
wildcard that failed is only retried from the last ``*``.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from typing import NamedTuple

MOST_BYTES = 1024**2  # the largest ignore file that is read, in bytes

MOST_LINES = 2_000  # lines of an ignore file that are read here; git reads all of them


class IgnoreRule(NamedTuple):
    parts: tuple[str, ...]
    anchored: bool
    only_folders: bool
    ignores: bool


def read_rules(text: str) -> tuple[IgnoreRule, ...]:
    return tuple(rule for line in text.split("\n")[:MOST_LINES] if (rule := _rule(line)) is not None)


def decide(rules: tuple[IgnoreRule, ...], path: str, *, is_folder: bool) -> bool | None:
    """Returns whether an ignore file ignores *path*, which is relative to its folder; None if no rule matches."""
    parts = path.split("/")
    for rule in reversed(rules):
        if rule.only_folders and not is_folder:
            continue
        if matches_path(rule.parts, parts) if rule.anchored else matches_name(rule.parts[0], parts[-1]):
            return rule.ignores
    return None


def is_ignored(rules: tuple[IgnoreRule, ...], path: str) -> bool:
    """True if an ignore file alone ignores the file *path*, or a folder that it is in."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        if decide(rules, "/".join(parts[:count]), is_folder=True):
            return True
    return bool(decide(rules, path, is_folder=False))


def literal(path: str) -> str:
    """Returns a pattern that matches only *path*."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def matches_path(pattern: tuple[str, ...], parts: list[str]) -> bool:
    """True if a pattern's parts match a path's, where ``**`` stands for any number of folders."""
    at = begin = 0
    star = again = -1
    while begin < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            if at == len(pattern) - 1:
                return True  # a final ** matches everything inside
            star, again = at, begin
            at += 1
        elif at < len(pattern) and matches_name(pattern[at], parts[begin]):
            at, begin = at + 1, begin + 1
        elif star >= 0:
            again += 1
            at, begin = star + 1, again
        else:
            return False
    return at == len(pattern)


def matches_name(pattern: str, name: str) -> bool:
    r"""True if a wildcard pattern matches a name: ``*``, ``?``, ``[a-z]``, ``\``."""
    return _expression(pattern).match(name) is not None


@lru_cache(maxsize=10_000)
def _expression(pattern: str) -> re.Pattern[str]:
    """Compile *pattern* so that it never retries a ``*`` that a later one follows (:mod:`fnmatch`)."""
    plain = re.sub(r"\\(.)", lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], pattern)
    try:
        return re.compile(fnmatch.translate(plain.replace("[^", "[!")))
    except re.error:  # raised by Python before 3.10.5 for a range like z-a
        return re.compile(r"(?!)")


def _rule(line: str) -> IgnoreRule | None:
    line = line.removesuffix("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    only_folders = line.endswith("/")
    line = line.rstrip("/") if only_folders else line
    anchored = "/" in line
    parts = tuple(line.removeprefix("/").split("/"))
    return IgnoreRule(parts, anchored, only_folders, ignores) if line else None
