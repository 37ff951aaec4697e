"""Splits a command line into words, as :func:`shlex.split` does, in time in proportion to its length."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_WRAPPED = 3


def script_of(words: Sequence[str], found: str | None = None) -> str | None:
    """The script where *words* are a shell of the system's that runs it (``bash -lc SCRIPT``), else None."""
    if len(words) != _WRAPPED or words[1] not in {"-c", "-lc"}:
        return None
    folder, name = os.path.split(words[0])
    if name not in _SHELLS or (folder and folder not in _FOLDERS):
        return None
    if found is not None and os.path.split(found) not in {(each, name) for each in _FOLDERS}:
        return None
    return words[2]
