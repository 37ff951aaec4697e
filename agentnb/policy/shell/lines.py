"""Between words: blanks, comments, ends of lines, reserved words, redirections and here-documents."""

from __future__ import annotations

import re

from agentnb.policy.shell.tree import Redirect, Text, Word
from agentnb.policy.shell.words import BLANK, META, Dialect, WordReader

_OPERATOR = {
    "bash": re.compile(r"((?<!\d)\d+|\{[A-Za-z_]\w*\}|)(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||>|<)"),
    "posix": re.compile(r"((?<!\d)\d+|)(<<-|<<|<>|<&|>>|>&|>\||>|<)"),
}
_BASH_ONLY = frozenset({"[[", "function", "select", "coproc", "time"})


class LineReader(WordReader):
    """Reads what stands between the words of commands."""

    def __init__(self, text: str, dialect: Dialect, depth: int) -> None:
        super().__init__(text, dialect, depth)
        self._documents: list[Redirect] = []

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
        inner = type(self)(text, self.dialect, self.depth + 1)
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
