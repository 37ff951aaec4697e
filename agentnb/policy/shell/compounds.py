"""Compound commands: groups, conditions, loops, cases, functions, tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.shell.lines import LineReader
from agentnb.policy.shell.tree import Command, Compound, Function, Script, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.policy.shell.words import Dialect

FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
NO_WORDS: frozenset[str] = frozenset()


class CompoundReader(LineReader):
    """Reads compound commands; what is in them its heir reads."""

    def __init__(self, text: str, dialect: Dialect, depth: int) -> None:
        super().__init__(text, dialect, depth)
        self._nesting = 0
        self._compounds: dict[str, Callable[[str], Command]] = {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "function": self._function,
            "[[": self._test,
        }

    def _nested(self, chars: str = "", words: frozenset[str] = NO_WORDS) -> Script:
        raise NotImplementedError

    def _command(self) -> Command:
        raise NotImplementedError

    def _words(self) -> list[Word]:
        raise NotImplementedError

    def _group(self, _: str = "{") -> Compound:
        self._take_word()
        body = self._nested(words=frozenset({"}"}))
        self._expect("}")
        return Compound(kind="group", bodies=(body,), redirects=self._redirects())

    def _if(self, _: str) -> Compound:
        bodies: list[Script] = []
        self._take_word()
        while True:
            bodies.append(self._nested(words=frozenset({"then"})))
            self._expect("then")
            bodies.append(self._nested(words=frozenset({"elif", "else", "fi"})))
            if self._reserved() != "elif":
                break
            self._take_word()
        if self._reserved() == "else":
            self._take_word()
            bodies.append(self._nested(words=frozenset({"fi"})))
        self._expect("fi")
        return Compound(kind="if", bodies=tuple(bodies), redirects=self._redirects())

    def _while(self, kind: str) -> Compound:
        self._take_word()
        condition = self._nested(words=frozenset({"do"}))
        return Compound(kind=kind, bodies=(condition, self._do()), redirects=self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self._nested(words=frozenset({"done"}))
        self._expect("done")
        return body

    def _for(self, kind: str) -> Compound:
        self._take_word()
        self._blanks()
        words: list[Word] = []
        name = None
        if self.take("(("):
            words.append(Word(parts=(self.arithmetic("))"),), source="((…))"))
        else:
            variable = self.word()
            name = variable.plain if variable is not None else None
            if name is None:
                raise self.fail("A loop has no variable")
            self._lines()
            if self._reserved() == "in":
                self._take_word()
                words = self._words()
        self._blanks()
        self.take(";")
        self._lines()
        body = self._braced_body() if self._reserved() == "{" else self._do()
        return Compound(kind=kind, words=tuple(words), bodies=(body,), name=name, redirects=self._redirects())

    def _braced_body(self) -> Script:
        return self._group().bodies[0]

    def _case(self, _: str) -> Compound:
        self._take_word()
        self._blanks()
        subject = self.word()
        self._lines()
        self._expect("in")
        words, bodies = [subject] if subject is not None else [], list[Script]()
        while True:
            self._lines()
            if self._reserved() == "esac":
                break
            self.take("(")
            while True:
                self._blanks()
                pattern = self.word()
                if pattern is None:
                    raise self.fail("A pattern is missing")
                words.append(pattern)
                self._blanks()
                if not self.take("|"):
                    break
            if not self.take(")"):
                raise self.fail("A pattern is not closed")
            bodies.append(self._nested(words=frozenset({"esac"})))
            if not (self.take(";;&") or self.take(";;") or self.take(";&")):
                break
        self._lines()
        self._expect("esac")
        return Compound(kind="case", words=tuple(words), bodies=tuple(bodies), redirects=self._redirects())

    def _function(self, _: str) -> Command:
        self._take_word()
        self._blanks()
        name = self.word()
        if name is None:
            raise self.fail("A function has no name")
        if (match := FUNCTION.match(self.text, self.at)) is not None:
            self.at = match.end()
        return self._defined(name)

    def _defined(self, name: Word) -> Function:
        self._lines()
        self._nesting += 1
        body = self._command()
        self._nesting -= 1
        return Function(name=name.fixed or name.source, body=Script(commands=(body,)))

    def _test(self, _: str) -> Compound:
        """``[[ … ]]``: bash runs nothing in it but what its words compute."""
        self._take_word()
        words: list[Word] = []
        while True:
            self._lines()
            word = self.word(stop=" \t\n")
            if word is None:
                raise self.fail("A test is not closed")
            if word.plain == "]]":
                return Compound(kind="test", words=tuple(words), redirects=self._redirects())
            words.append(word)
