r"""Display formulas of several lines in an agent's Markdown, put on one line each.

Markdown takes a line of a formula that begins with ``- ``, ``+ ``, ``# `` or ``1. `` for a list or a heading, and one
of ``=`` or ``-`` alone for the underline of a heading: the formula falls apart, and its source is shown. TeX reads the
end of a line as a space, so the same formula on one line is whole for every renderer. The chat reads such formulas
itself (``js/src/view/markdown/mathematics.ts``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OPENING = re.compile(r"(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?[ \t]*)(?P<sign>\$\$|\\\[)(?P<first>.*)")
_CLOSING = {
    "$$": re.compile(r"(?P<last>.*?)(?<!\\)(?P<sign>\$\$)(?P<after>[.,;]?)[ \t]*"),
    "\\[": re.compile(r"(?P<last>.*?)(?<!\\)(?P<sign>\\\])(?P<after>[.,;]?)[ \t]*"),
}
_NO_FORMULA = re.compile(r"[$`]|(?<!\\)%")  # a comment would take the rest with it, where the lines are one
_QUOTE = re.compile(r"^[ \t]*>")
_LONGEST = 5_000
_MOST_LINES = 100


class Piece(NamedTuple):
    """Lines that a parser of Markdown takes together.

    Attributes:
        start: The first line, from 0.
        end: The line behind the last one.
        is_code: Whether they are a block of code.
    """

    start: int
    end: int
    is_code: bool


def on_one_line(lines: Sequence[str], pieces: Iterable[Piece]) -> list[str]:
    r"""*lines* with each display formula of several lines on one line, where it is not a paragraph of its own.

    A formula begins a line, an entry of a list or a quote with ``$$`` or ``\[`` and ends a line with ``$$`` or ``\]``.
    One with an empty line, a comment, a backtick or another dollar sign stays as it is; so does one of more than 100
    lines or 5,000 characters.

    Args:
        lines: The text's lines.
        pieces: How a parser divides them: each line is in one of them, in order.

    Example:
        >>> on_one_line(["$$", "a", "- b", "$$"], [Piece(0, 2, False), Piece(2, 4, False)])
        ['$$a - b$$']
    """
    owners = [piece for piece in pieces for _ in range(piece.start, piece.end)]
    done: list[str] = []
    at = 0
    while at < len(lines):
        found = None if owners[at].is_code else _formula(lines, at)
        end = at + 1 if found is None else found.end
        is_paragraph = owners[at][:2] == (at, end) and lines[at].lstrip().startswith(("$$", "\\["))
        if found is None or is_paragraph or any(owner.is_code for owner in owners[at:end]):
            done.append(lines[at])
            at += 1
        else:
            done.append(found.text)
            at = end
    return done


class _Formula(NamedTuple):
    """A formula of several lines.

    Attributes:
        end: The line behind its last one.
        text: It on one line, with what stands before and after it.
    """

    end: int
    text: str


def _formula(lines: Sequence[str], start: int) -> _Formula | None:
    """The formula of several lines that the line *start* begins, if it does."""
    opening = _OPENING.fullmatch(lines[start])
    if opening is None or _NO_FORMULA.search(opening["first"]) or "\\]" in opening["first"]:
        return None
    closing, quotes, length = _CLOSING[opening["sign"]], opening["before"].count(">"), 0
    parts = [opening["first"].strip()]
    for at in range(start + 1, min(start + _MOST_LINES, len(lines))):
        line = _unquoted(lines[at], quotes)
        length += len(line)
        closed = closing.fullmatch(line)
        parts.append((closed["last"] if closed else line).strip())
        if not line.strip() or length > _LONGEST or _NO_FORMULA.search(parts[-1]):
            return None
        if closed:
            formula = " ".join(part for part in parts if part)
            space = " " if formula.endswith("\\") else ""  # the end of a row would escape the sign
            text = f"{opening['before']}{opening['sign']}{formula}{space}{closed['sign']}{closed['after']}"
            return _Formula(at + 1, text) if formula else None
    return None


def _unquoted(line: str, quotes: int) -> str:
    """*line* without the marks of the quotes that it is in."""
    for _ in range(quotes):
        line = _QUOTE.sub("", line, count=1)
    return line
