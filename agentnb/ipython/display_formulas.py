"""Display formulas of several lines in an agent's Markdown, put on one line each."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t])")
_CLOSINGS = {"$$": "$$", "\\[": "\\]"}
_NO_FORMULA = re.compile(r"[$`]|(?<!\\)%")  # once the lines are joined, a comment would hide the rest
_QUOTE = re.compile(r"^[ \t]*>")
_LONGEST = 5_000
_MOST_LINES = 100


class MarkdownLines(NamedTuple):
    """Lines that a parser of Markdown treats as one unit."""

    start: int
    end: int
    is_code: bool


def on_one_line(lines: Sequence[str], pieces: Iterable[MarkdownLines]) -> list[str]:
    """*lines* with each display formula of several lines on one line, where it is not a paragraph of its own."""
    owners = [piece for piece in pieces for _ in range(piece.start, piece.end)]
    closings = {sign: [at for at, line in enumerate(lines) if _closed(line, sign)] for sign in _CLOSINGS.values()}
    done: list[str] = []
    at = 0
    while at < len(lines):
        formula = None if owners[at].is_code else _formula(lines, at, closings)
        end = at + 1 if formula is None else formula.end
        is_paragraph = owners[at][:2] == (at, end) and lines[at].lstrip().startswith(("$$", "\\["))
        if formula is None or is_paragraph or any(owner.is_code for owner in owners[at:end]):
            done.append(lines[at])
            at += 1
        else:
            done.append(formula.text)
            at = end
    return done


class _Formula(NamedTuple):
    """A formula of several lines."""

    end: int
    text: str


class _Opening(NamedTuple):
    r"""A line that begins a formula."""

    before: str
    sign: str
    first: str


def _formula(lines: Sequence[str], start: int, closings: Mapping[str, Sequence[int]]) -> _Formula | None:
    """The multi-line formula that begins at the line *start*; None if there is none."""
    opening = _opening(lines[start])
    if opening is None or _NO_FORMULA.search(opening.first) or "\\]" in opening.first:
        return None
    ends = closings[_CLOSINGS[opening.sign]]
    end = bisect_right(ends, start)
    if end == len(ends) or ends[end] >= start + _MOST_LINES:
        return None
    quotes, length = opening.before.count(">"), 0
    parts = [opening.first.strip()]
    for at in range(start + 1, min(start + _MOST_LINES, len(lines))):
        line = _unquoted(lines[at], quotes)
        length += len(line)
        closed = _closed(line, _CLOSINGS[opening.sign])
        parts.append((line if closed is None else closed[0]).strip())
        if not line.strip() or length > _LONGEST or _NO_FORMULA.search(parts[-1]):
            return None
        if closed is not None:
            formula = " ".join(part for part in parts if part)
            space = " " if formula.endswith("\\") else ""  # a backslash at the end would escape the closing sign
            text = f"{opening.before}{opening.sign}{formula}{space}{_CLOSINGS[opening.sign]}{closed[1]}"
            return _Formula(at + 1, text) if formula else None
    return None


def _opening(line: str) -> _Opening | None:
    rest = line.lstrip(" \t>")
    if marker := _MARKER.match(rest):
        rest = rest[marker.end() :].lstrip(" \t")
    sign = rest[:2]
    return _Opening(line[: len(line) - len(rest)], sign, rest[2:]) if sign in _CLOSINGS else None


def _closed(line: str, sign: str) -> tuple[str, str] | None:
    """The text before the *sign* that ends *line*, and the punctuation after it; None if *line* ends otherwise."""
    rest = line.rstrip(" \t")
    after = rest[-1:] if rest.endswith((".", ",", ";")) else ""
    rest = rest.removesuffix(after)
    if not rest.endswith(sign) or rest.endswith(f"\\{sign}"):
        return None
    return rest.removesuffix(sign), after


def _unquoted(line: str, quotes: int) -> str:
    """*line* without the marks of the block quotes that it is in."""
    for _ in range(quotes):
        line = _QUOTE.sub("", line, count=1)
    return line
