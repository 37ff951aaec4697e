"""The Python in a cell with magics: every character keeps its line and column, so positions hold in both texts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

CODE_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun", "scalene"})
"""Cell magics whose body is Python that runs in the user's namespace."""
CODE_LINE_MAGICS = frozenset({"time", "timeit", "prun", "memit", "lprun", "debug"})
"""Line magics whose argument is a Python statement."""

LARGEST_FILE = 5_000_000
"""Characters of a file that is analysed."""

NAME = re.compile(r"[^\W\d]\w*")
LINE_END = re.compile(r"\r\n|\r|\n")
_ODD = re.compile("[\0\f\v\u2028\u2029\ud800-\udfff]")
_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w*)")
_CODE_MAGIC = re.compile(rf"\s*(?P<head>%(?:{'|'.join(sorted(CODE_LINE_MAGICS))})\s+(?:-\w+(?:\s+\d+)?\s+)*)(?=\S)")
_ASSIGNED = re.compile(r"(?P<target>\s*[\w.]+(?:\s*,\s*[\w.]+)*\s*=\s*)(?P<magic>[%!].*)")
_TOKEN = re.compile(r"\"\"\"|'''|[\"'#\\()\[\]{}]")
_OPENING, _CLOSING = "([{", ")]}"


def lines_of(source: str) -> list[str]:
    """Returns the lines of a cell without line ends; there is always at least one."""
    return LINE_END.split(source)


def python_of(source: str) -> str:
    """Returns the cell's Python: with the same number of lines, and every character of it in its place."""
    source = _ODD.sub(" ", source)
    lines = lines_of(source)
    if not any(sign in source for sign in "%!?"):
        return "\n".join(lines)
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if (magic := _CELL_MAGIC.match(lines[first])) is not None:
        if magic["name"] not in CODE_CELL_MAGICS:
            return "\n".join(" " * len(line) for line in lines)
        lines[first] = " " * len(lines[first])
    return "\n".join(_python_lines(lines))


def closed(text: str) -> str:
    """Blank out what would swallow the next cell: open strings and brackets, a backslash at the end."""
    scanner, lines = _Scanner(), lines_of(text)
    for number, line in enumerate(lines):
        scanner.read(line, number)
    for number, column in scanner.unclosed_strings:
        lines[number] = lines[number][:column] + " " * (len(lines[number]) - column)
    if scanner.open_string is not None:
        lines[scanner.open_string + 1 :] = [" " * len(line) for line in lines[scanner.open_string + 1 :]]
    elif scanner.is_continued:
        lines[-1] = f"{lines[-1][:-1]} "
    for number, column in scanner.open_brackets:
        lines[number] = f"{lines[number][:column]} {lines[number][column + 1 :]}"
    return "\n".join(lines)


def is_readable(text: str) -> bool:
    """True if Python can parse *text* as a cell, in which ``await`` may stand anywhere."""
    try:
        compile(text, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _python_lines(lines: list[str]) -> list[str]:
    python: list[str] = []
    scanner = _Scanner()
    continues = False  # True if a magic continues in the next line
    for line in lines:
        kept = line
        if continues:
            kept = " " * len(line)
        elif scanner.begins_statement:
            kept = _without_magic(line)
        if kept is not line and (continues or kept != line):
            continues = line.endswith("\\")
        python.append(kept)
        scanner.read(kept)
    return python


def _without_magic(line: str) -> str:
    text = line.strip()
    if not text or text[0] == "#":
        return line
    indent = len(line) - len(line.lstrip())
    if (code := _CODE_MAGIC.match(line)) is not None:
        return f"{line[:indent]}0;{' ' * (len(code['head']) - 2)}{line[code.end() :]}"
    if text[0] in "%!?":
        return f"{line[:indent]}0{' ' * (len(line) - indent - 1)}"
    if text[-1] == "?":
        return line.replace("?", " ")
    if (assigned := _ASSIGNED.fullmatch(line)) is not None:
        value = "[]" if assigned["magic"][0] == "!" else "__"
        return assigned["target"] + value + " " * (len(assigned["magic"]) - 2)
    return line


class _Scanner:
    """Tells whether the next line begins a statement: no open string or bracket, and no backslash before it."""

    def __init__(self) -> None:
        self._quote = ""
        self.open_brackets: list[tuple[int, int]] = []
        self._began = 0, 0
        self._ended: list[tuple[int, int]] = []
        self.is_continued = False

    @property
    def begins_statement(self) -> bool:
        return not (self._quote or self.open_brackets or self.is_continued)

    @property
    def open_string(self) -> int | None:
        """Returns the line (from 0) where a still open string begins; None if no string is open."""
        return self._began[0] if self._quote else None

    @property
    def unclosed_strings(self) -> list[tuple[int, int]]:
        """Returns the lines (from 0) and columns where unclosed strings begin."""
        return [*self._ended, *([self._began] if self._quote else [])]

    def read(self, line: str, number: int = 0) -> None:
        at, self.is_continued = 0, False
        while (token := _TOKEN.search(line, at)) is not None:
            sign, at = token[0], token.end()
            if sign == "\\":
                self.is_continued = at == len(line)
                at += bool(self._quote)  # outside a string, a backslash does not escape the next character
            elif self._quote:
                at = self._in_string(sign, token.start(), at)
            elif sign == "#":
                return
            elif sign in _OPENING:
                self.open_brackets.append((number, token.start()))
            elif sign in _CLOSING:
                del self.open_brackets[-1:]
            else:
                self._quote, self._began = sign, (number, token.start())
        if len(self._quote) == 1 and not self.is_continued:
            self._quote = ""  # an unclosed string ends with its line
            self._ended.append(self._began)

    def _in_string(self, sign: str, start: int, end: int) -> int:
        """Continue after *sign* in an open string; in a string of one quote, a triple quote is read quote by quote."""
        if sign == self._quote:
            self._quote = ""
        elif len(self._quote) == 1 and sign[0] == self._quote:
            self._quote = ""
            return start + 1
        return end


def read_source(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="It is too large to be analysed.")
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise UsageError(f"{path} cannot be read: {why}.") from None
