"""Reads scripts: lists, pipelines, compound commands, redirections, here-documents.

Two dialects, because the same text can be two scripts: in ``bash``, ``[[ a && rm b ]]`` only tests; to a plain POSIX
shell it is two commands. Who rates a command looks at both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.shell.tree import (
    Command,
    Compound,
    Computed,
    Function,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    Word,
)
from agentnb.policy.shell.words import BLANK, META, Dialect, Unreadable, WordReader

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Dialect", "Unreadable", "parse"]

_OPERATOR = {
    "bash": re.compile(r"(\d*|\{[A-Za-z_]\w*\})(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||>|<)"),
    "posix": re.compile(r"(\d*)(<<-|<<|<>|<&|>>|>&|>\||>|<)"),
}
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})
_NO_WORDS: frozenset[str] = frozenset()
_BASH_ONLY = frozenset({"[[", "function", "select", "coproc", "time"})


def parse(text: str, dialect: Dialect = "bash", depth: int = 0) -> Script:
    """Read a script.

    Args:
        text: The script.
        dialect: ``"bash"`` or ``"posix"``.
        depth: How deep it stands within others.

    Raises:
        Unreadable: If it is no script, or nested too deep.

    Example:
        >>> [word.source for word in parse("ls -l | wc").commands[0].commands[0].words]
        ['ls', '-l']
    """
    parser = _Parser(text, dialect, depth)
    script = parser.commands()
    if parser.at < len(text):
        raise parser.fail(f"{parser.peek()!r} is not expected")
    return script


class _Parser(WordReader):
    def __init__(self, text: str, dialect: Dialect, depth: int) -> None:
        super().__init__(text, dialect, depth)
        self._documents: list[Redirect] = []
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

    def script(self, text: str) -> Script:
        return parse(text, self.dialect, self.depth + 1)

    def script_until_paren(self) -> Script:
        """Read the commands up to the closing parenthesis, and that."""
        script = self._nested(")")
        if not self.take(")"):
            raise self.fail("A parenthesis is not closed")
        return script

    def commands(self, words: frozenset[str] = _NO_WORDS, chars: str = "") -> Script:
        """Read a list of commands, up to one of the reserved *words*, or of *chars*, or the end."""
        found: list[Command] = []
        background: set[int] = set()
        while True:
            self._lines()
            if not self.peek() or self.peek() in chars or self.peek(2) in {";;", ";&"} or self._reserved() in words:
                return Script(commands=tuple(found), background=frozenset(background))
            self._and_or(found)
            self._blanks()
            if self.peek() == "&" and self.peek(2) != "&&":
                background.add(len(found) - 1)
                self.at += 1
            elif self.peek() == ";" and self.peek(2) not in {";;", ";&"}:
                self.at += 1
            elif self.peek() and self.peek() not in f"\n{chars}" and self.peek(2) not in {";;", ";&"}:
                raise self.fail(f"{self.peek()!r} is not expected")

    def _nested(self, chars: str = "", words: frozenset[str] = _NO_WORDS) -> Script:
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
        while self._reserved() in {"!", "time", "coproc"}:
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
        if (match := _FUNCTION.match(self.text, self.at)) is not None:
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
            elif not words and not assignments and (match := _FUNCTION.match(self.text, self.at)) is not None:
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

    # --- redirections ---

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        self._blanks()
        while self._redirect(found):
            self._blanks()
        return tuple(found)

    def _redirect(self, found: list[Redirect]) -> bool:
        if self._process_follows():
            return False
        match = _OPERATOR[self.dialect].match(self.text, self.at)
        if match is None:
            return False
        operator = match[2]
        self.at = match.end()
        self._blanks()
        target = self.word()
        if target is None:
            raise self.fail(f"Nothing stands behind {operator!r}")
        redirect = Redirect(operator=operator, target=target)
        found.append(redirect)
        if operator in {"<<", "<<-"}:
            self._documents.append(redirect)
        return True

    def _end_of_line(self) -> None:
        """Pass over a line's end, and the here-documents that begin behind it."""
        self.at += 1
        documents, self._documents = self._documents, []
        for redirect in documents:
            redirect.document.append(self._document(redirect.target, tabs=redirect.operator == "<<-"))

    def _document(self, delimiter: Word, *, tabs: bool) -> Word:
        end = delimiter.fixed or delimiter.source
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line, self.at = self.text[self.at : stop], min(stop + 1, len(self.text))
            line = line.lstrip("\t") if tabs else line
            if line == end:
                break
            lines.append(f"{line}\n")
        text = "".join(lines)
        if delimiter.plain is None:
            return Word(parts=(Text(value=text, quoted=True),), source=text)
        inner = _Parser(text, self.dialect, self.depth + 1)
        return Word(parts=tuple(inner.quoted_parts("")), source=text)

    # --- between words ---

    def _blanks(self) -> None:
        while True:
            if self.peek() and self.peek() in BLANK:
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif self.peek() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _lines(self) -> None:
        self._blanks()
        while self.peek() == "\n":
            self._end_of_line()
            self._blanks()

    def _reserved(self) -> str:
        """The reserved word or name that comes next, where it stands alone; else nothing."""
        end = self.at
        while end < len(self.text) and (self.text[end].isalpha() or self.text[end] in "!{}["):
            end += 1
        word = self.text[self.at : end]
        alone = end == len(self.text) or self.text[end] in META
        return "" if not alone or (self.dialect == "posix" and word in _BASH_ONLY) else word

    def _take_word(self) -> None:
        self.at += len(self._reserved())

    def _expect(self, word: str) -> None:
        self._lines()
        if self._reserved() != word:
            raise self.fail(f"{word!r} is missing")
        self._take_word()


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
