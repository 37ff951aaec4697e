"""Reads words: quotes, escapes, expansions. The part of the shell's grammar where most disguises live."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from agentnb.errors import AgentnbError
from agentnb.policy.shell.tree import Computed, Part, Script, Text, Variable, Word

Dialect: TypeAlias = Literal["bash", "posix"]

MOST_WORDS = 1_000
"""The words of a script that is read; a longer one asks, because looking at each word takes about 0.1 ms."""
BLANK = " \t"
META = " \t\n;&|<>()"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = "@*#?$!-0123456789"
_BRACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])\}")
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODE = re.compile(r"x\{?([0-9A-Fa-f]{1,8})\}?|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)", re.DOTALL)


class Unreadable(AgentnbError):
    """A script that no shell would take, or that is nested too deep to follow."""


class TooManyWords(Unreadable):
    """A script of so many words that looking at each would stop everything else for long."""


class WordReader:
    """A text, and how far it has been read."""

    LIMIT = 100_000
    DEPTH = 24

    def __init__(self, text: str, dialect: Dialect, depth: int) -> None:
        if depth > self.DEPTH:
            raise Unreadable("It is nested too deep to be followed.")
        if len(text) > self.LIMIT:
            raise Unreadable(f"It has {len(text)} characters, more than are looked through.")
        if "\0" in text:
            raise Unreadable("It holds a NUL character.")
        self.text = text
        self.dialect = dialect
        self.depth = depth
        self.at = 0
        self._word_count = 0

    def script(self, text: str) -> Script:
        """Read another script inside this one."""
        raise NotImplementedError

    def script_until_paren(self) -> Script:
        """Read the commands up to the closing parenthesis, and that."""
        raise NotImplementedError

    def fail(self, why: str) -> Unreadable:
        """The error for the place that was reached."""
        return Unreadable(f"{why} at character {self.at + 1}.")

    def peek(self, length: int = 1) -> str:
        """The next characters; empty at the end."""
        return self.text[self.at : self.at + length]

    def take(self, expected: str) -> bool:
        """Pass over *expected* if it comes next."""
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def word(self, *, stop: str = META) -> Word | None:
        """The next word, or None where an operator or the end comes."""
        begin, parts, open_text = self.at, list[Part](), ""
        while (char := self.peek()) and (char not in stop or self._process_follows()):
            if char in "'\"`$" or self._process_follows() or (char == "\\" and self.at + 1 < len(self.text)):
                if open_text:
                    parts.append(Text(value=open_text))
                    open_text = ""
                parts += self._special(char)
            else:
                open_text += char
                self.at += 1
        if open_text:
            parts.append(Text(value=open_text))
        if self.at == begin:
            return None
        self._word_count += 1
        if self._word_count > MOST_WORDS:
            raise TooManyWords(f"It has more than {MOST_WORDS:,} words.")
        return Word(parts=tuple(parts), source=self.text[begin : self.at])

    def quoted_parts(self, end: str) -> list[Part]:
        """What stands between double quotes (*end* ``"``) or in a here-document (*end* empty)."""
        parts, text = list[Part](), ""
        while True:
            char = self.peek()
            if char == "" or (end and char == end):
                if end and not char:
                    raise self.fail("A double quote is not closed")
                self.at += len(end)
                return [*parts, Text(value=text, quoted=True)]
            if char == "\\" and (escaped := self.text[self.at + 1 : self.at + 2]) and escaped in f"$`\\\n{end}":
                text += "" if escaped == "\n" else escaped
                self.at += 2
            elif char in "$`":
                parts.append(Text(value=text, quoted=True))
                text = ""
                parts += self._dollar(quoted=True) if char == "$" else [self._backtick(quoted=True)]
            else:
                text += char
                self.at += 1

    def _process_follows(self) -> bool:
        return self.dialect == "bash" and self.peek(2) in {"<(", ">("}

    def _special(self, char: str) -> list[Part]:
        match char:
            case "'":
                return [Text(value=self._single(), quoted=True)]
            case '"':
                self.at += 1
                return self.quoted_parts('"')
            case "`":
                return [self._backtick(quoted=False)]
            case "$":
                return self._dollar(quoted=False)
            case "\\":
                self.at += 2
                escaped = self.text[self.at - 1]
                return [] if escaped == "\n" else [Text(value=escaped, quoted=True)]
            case _:
                self.at += 2
                return [Computed(scripts=(self.script_until_paren(),), feeds=True)]

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.fail("A single quote is not closed")
        value, self.at = self.text[self.at + 1 : end], end + 1
        return value

    def _backtick(self, *, quoted: bool) -> Computed:
        begin = self.at = self.at + 1
        while (char := self.peek()) != "`":
            if not char:
                raise self.fail("A backtick is not closed")
            self.at += 2 if char == "\\" else 1
        inner = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", self.text[begin : self.at])
        self.at += 1
        return Computed(scripts=(self.script(inner),))

    def _dollar(self, *, quoted: bool) -> list[Part]:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            return [self._parenthesis()]
        if following == "{":
            return [self._braced(quoted=quoted)]
        if self.dialect == "bash" and not quoted and following == "'":
            return [Text(value=self._ansi(), quoted=True)]
        if self.dialect == "bash" and not quoted and following == '"':
            self.at += 2
            return self.quoted_parts('"')
        name = _NAME.match(self.text, self.at + 1)
        if name is not None:
            self.at = name.end()
            return [Variable(name=name[0], quoted=quoted)]
        if following and following in _SPECIAL:
            self.at += 2
            return [Variable(name=following, quoted=quoted)]
        self.at += 1
        return [Text(value="$", quoted=True)]

    def _parenthesis(self) -> Computed:
        """``$((…))`` where it can be read so, else ``$(…)``."""
        self.at += 2
        begin = self.at
        if self.take("("):
            try:
                return self.arithmetic("))")
            except Unreadable:
                self.at = begin
        return Computed(scripts=(self.script_until_paren(),))

    def arithmetic(self, end: str) -> Computed:
        """Arithmetic up to *end*; only what it runs matters."""
        depth, scripts = 0, list[Script]()
        while not (depth == 0 and self.peek(len(end)) == end):
            char = self.peek()
            if not char or (char == ")" and depth == 0):
                raise self.fail("An arithmetic expression is not closed")
            if char in "$`":
                found = self._dollar(quoted=True) if char == "$" else [self._backtick(quoted=True)]
                scripts += [script for part in found if isinstance(part, Computed) for script in part.scripts]
                continue
            depth += {"(": 1, ")": -1}.get(char, 0)
            self.at += 1
        self.at += len(end)
        return Computed(scripts=tuple(scripts))

    def _braced(self, *, quoted: bool) -> Part:
        plain = _BRACED.match(self.text, self.at + 2)
        if plain is not None:
            self.at = plain.end()
            return Variable(name=plain[1], quoted=quoted)
        self.at += 2
        scripts = list[Script]()
        while (char := self.peek()) != "}":
            if not char:
                raise self.fail("A parameter expansion is not closed")
            if char in "$`<>\\" or char == '"' or (char == "'" and not quoted):
                if char in "<>" and not self._process_follows():
                    self.at += 1
                    continue
                scripts += [
                    script for part in self._special(char) if isinstance(part, Computed) for script in part.scripts
                ]
            else:
                self.at += 1
        self.at += 1
        return Computed(scripts=tuple(scripts))

    def _ansi(self) -> str:
        self.at += 2
        value = ""
        while (char := self.peek()) != "'":
            if not char:
                raise self.fail("A $'…' string is not closed")
            if char != "\\":
                value += char
                self.at += 1
                continue
            code = _CODE.match(self.text, self.at + 1)
            following = self.text[self.at + 1 : self.at + 2]
            if code is not None:
                value += _decoded(code)
                self.at = code.end()
            else:
                value += _ESCAPES.get(following, following if following in "\\'\"?" else f"\\{following}")
                self.at += 2
        self.at += 1
        return value


def _decoded(code: re.Match[str]) -> str:
    if code[5] is not None:
        return chr(ord(code[5]) & 0x1F)
    number = int(code[4], 8) & 0xFF if code[4] else int(code[1] or code[2] or code[3], 16)
    return chr(number) if 0 < number < 0x110000 else ""  # noqa: PLR2004 - the last code point
