"""Display formulas of several lines in an agent's Markdown, put on one line each."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t])")
_CLOSINGS = {"$$": "$$", "\\[": "\\]"}
NO_FORMULA = re.compile(r"[$`]|(?<!\\)%")  # once the lines are joined, a comment would hide the rest
_QUOTE = re.compile(r"^[ \t]*>")
LONGEST_FORMULA = 5_000
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
        text, end = ("", at + 1) if formula is None else formula
        is_paragraph = owners[at][:2] == (at, end) and lines[at].lstrip().startswith(("$$", "\\["))
        if formula is None or is_paragraph or any(owner.is_code for owner in owners[at:end]):
            done.append(lines[at])
            at += 1
        else:
            done.append(text)
            at = end
    return done


def _formula(lines: Sequence[str], start: int, closings: Mapping[str, Sequence[int]]) -> tuple[str, int] | None:
    """The multi-line formula that begins at the line *start*, and the line after it; None if there is none."""
    before, sign, first = _opening(lines[start])
    if sign not in _CLOSINGS or NO_FORMULA.search(first) or "\\]" in first:
        return None
    closing = _CLOSINGS[sign]
    ends = closings[closing]
    end = bisect_right(ends, start)
    if end == len(ends) or ends[end] >= start + _MOST_LINES:
        return None
    quotes, length = before.count(">"), 0
    parts = [first.strip()]
    for at in range(start + 1, min(start + _MOST_LINES, len(lines))):
        line = _unquoted(lines[at], quotes)
        length += len(line)
        closed = _closed(line, closing)
        parts.append((line if closed is None else closed[0]).strip())
        if not line.strip() or length > LONGEST_FORMULA or NO_FORMULA.search(parts[-1]):
            return None
        if closed is not None:
            formula = " ".join(part for part in parts if part)
            space = " " if formula.endswith("\\") else ""  # a backslash at the end would escape the closing sign
            text = f"{before}{sign}{formula}{space}{closing}{closed[1]}"
            return (text, at + 1) if formula else None
    return None


def _opening(line: str) -> tuple[str, str, str]:
    """The marks of lists and quotes that begin *line*, the two characters after them, and the rest."""
    rest = line.lstrip(" \t>")
    if marker := _MARKER.match(rest):
        rest = rest[marker.end() :].lstrip(" \t")
    return line[: len(line) - len(rest)], rest[:2], rest[2:]


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
