"""Reads scripts: lists, pipelines, compound commands, redirections, here-documents.

Two dialects, because the same text can be two scripts: in ``bash``, ``[[ a && rm b ]]`` only tests; to a plain POSIX
shell it is two commands. Who rates a command looks at both.
"""

from __future__ import annotations

import re

from agentnb.policy.shell.compounds import FUNCTION, NO_WORDS, CompoundReader
from agentnb.policy.shell.tree import (
    Command,
    Compound,
    Computed,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    Word,
)
from agentnb.policy.shell.words import Dialect, Unreadable

__all__ = ["Dialect", "Unreadable", "parse"]

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")
_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})


def parse(text: str, dialect: Dialect = "bash", depth: int = 0) -> Script:
    """Read a script."""
    parser = _Parser(text, dialect, depth)
    script = parser.commands()
    if parser.at < len(text):
        raise parser.fail(f"{parser.peek()!r} is not expected")
    return script


class _Parser(CompoundReader):
    _starts_coprocess = False

    def script(self, text: str) -> Script:
        return parse(text, self.dialect, self.depth + 1)

    def script_until_paren(self) -> Script:
        """Read the commands up to the closing parenthesis, and that."""
        script = self._nested(")")
        if not self.take(")"):
            raise self.fail("A parenthesis is not closed")
        return script

    def commands(self, words: frozenset[str] = NO_WORDS, chars: str = "") -> Script:
        """Read a list of commands, up to one of the reserved *words*, or of *chars*, or the end."""
        found: list[Command] = []
        background: set[int] = set()
        while True:
            self._lines()
            if not self.peek() or self.peek() in chars or self.peek(2) in {";;", ";&"} or self._reserved() in words:
                return Script(commands=tuple(found), background=frozenset(background))
            first = len(found)
            self._and_or(found)
            if self._starts_coprocess:
                background.add(first)
                self._starts_coprocess = False
            self._blanks()
            if self.peek() == "&" and self.peek(2) != "&&":
                background.add(len(found) - 1)
                self.at += 1
            elif self.peek() == ";" and self.peek(2) not in {";;", ";&"}:
                self.at += 1
            elif self.peek() and self.peek() not in f"\n{chars}" and self.peek(2) not in {";;", ";&"}:
                raise self.fail(f"{self.peek()!r} is not expected")

    def _nested(self, chars: str = "", words: frozenset[str] = NO_WORDS) -> Script:
        self._nesting += 1
        if self._nesting + self.depth > self.DEPTH:
            raise Unreadable("It is nested too deep to be followed.")
        script = self.commands(words, chars)
        self._nesting -= 1
        return script

    def _and_or(self, found: list[Command]) -> None:
        found.append(self._pipeline())
        while True:
            self._blanks()
            if not (self.take("&&") or self.take("||")):
                return
            self._lines()
            found.append(self._pipeline())

    def _pipeline(self) -> Command:
        commands = [self._command()]
        while True:
            self._blanks()
            if self.peek() != "|" or self.peek(2) == "||":
                return commands[0] if len(commands) == 1 else Pipeline(commands=tuple(commands))
            self.at += 1
            if self.dialect == "bash":
                self.take("&")
            self._lines()
            commands.append(self._command())

    def _command(self) -> Command:
        self._blanks()
        while (word := self._reserved()) in {"!", "time", "coproc"}:
            self._starts_coprocess = self._starts_coprocess or word == "coproc"
            self._take_word()
            self._blanks()
            if self.take("-p "):
                self._blanks()
        word = self._reserved()
        if word in _CLOSERS:
            raise self.fail(f"{word!r} is not expected")
        compound = self._compounds.get(word)
        if compound is not None:
            return compound(word)
        return self._subshell() if self.peek() == "(" else self._simple()

    def _subshell(self) -> Command:
        begin = self.at
        if self.dialect == "bash" and self.take("(("):
            try:
                return self._arithmetic()
            except Unreadable:
                self.at = begin
        self.at += 1
        body = self.script_until_paren()
        return Compound(kind="subshell", bodies=(body,), redirects=self._redirects())

    def _arithmetic(self) -> Compound:
        computed = self.arithmetic("))")
        word = Word(parts=(computed,), source="((…))")
        return Compound(kind="arithmetic", words=(word,), redirects=self._redirects())

    def _simple(self) -> Command:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._blanks()
            if self._redirect(redirects):
                continue
            begin = self.at
            word = self.word()
            if word is None:
                break
            assigned = None if words else _ASSIGNMENT.match(word.source)
            if assigned is not None:
                if self.dialect == "bash" and word.source.endswith("=") and self.peek() == "(":
                    word = self._array()
                assignments.append((assigned[1], _behind(word, assigned.end())))
            elif not words and not assignments and (match := FUNCTION.match(self.text, self.at)) is not None:
                self.at = match.end()
                return self._defined(word)
            else:
                words.append(word)
            if self.peek() == "(":
                self.at = begin
                raise self.fail("'(' is not expected")
        if not (assignments or words or redirects):
            raise self.fail(f"{self.peek()!r} is not expected" if self.peek() else "A command is missing")
        return Simple(assignments=tuple(assignments), words=tuple(words), redirects=tuple(redirects))

    def _array(self) -> Word:
        begin = self.at
        self.at += 1
        parts: list[Computed | Text] = []
        while True:
            self._lines()
            if self.take(")"):
                return Word(parts=(Computed(scripts=_scripts(parts)),), source=f"={self.text[begin : self.at]}")
            word = self.word()
            if word is None:
                raise self.fail("An array is not closed")
            parts += [part for part in word.parts if isinstance(part, Computed)]

    def _words(self) -> list[Word]:
        found: list[Word] = []
        while True:
            self._blanks()
            word = self.word()
            if word is None:
                return found
            found.append(word)


def _behind(word: Word, length: int) -> Word:
    """*word* without its first *length* characters, which are plain."""
    if word.source.startswith("="):
        return word
    parts = list(word.parts)
    while length > 0 and parts:
        first = parts[0]
        if not isinstance(first, Text):
            break
        if len(first.value) > length:
            parts[0] = Text(value=first.value[length:], quoted=first.quoted)
            break
        length -= len(first.value)
        parts.pop(0)
    return Word(parts=tuple(parts), source=word.source)


def _scripts(parts: list[Computed | Text]) -> tuple[Script, ...]:
    return tuple(script for part in parts if isinstance(part, Computed) for script in part.scripts)
