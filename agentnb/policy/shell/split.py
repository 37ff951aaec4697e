"""Splits a command line into words, as :func:`shlex.split` does, in time in proportion to its length.

The standard library's appends each character to a growing word: a word of a million characters takes it eight seconds,
and what an agent asks for can be that long.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<plain>[^ \t\r\n'"\\]+)|\\(?P<escaped>.)|'(?P<single>[^']*)'"""
    r'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"',
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\(["\\])')


def split_words(line: str) -> list[str]:
    r"""The words of *line*, without their quotes."""
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            raise ValueError("No escaped character" if line[at] == "\\" else "No closing quotation")
        at = piece.end()
        if piece.lastgroup != "space":
            word = [] if word is None else word
            text = piece[piece.lastgroup or 0]
            word.append(_IN_DOUBLE.sub(r"\1", text) if piece.lastgroup == "double" else text)
        elif word is not None:
            words.append("".join(word))
            word = None
    return words if word is None else [*words, "".join(word)]
