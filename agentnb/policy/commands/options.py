"""A program's arguments, told apart: options, operands."""

from __future__ import annotations

import re
from typing import NamedTuple

_SHORT = re.compile(r"-[A-Za-z0-9]+")


class Options(NamedTuple):
    """The arguments of a program."""

    words: tuple[str, ...]
    short: frozenset[str]
    long: frozenset[str]
    operands: tuple[str, ...]

    @classmethod
    def of(cls, words: tuple[str, ...]) -> Options:
        """Tell *words* apart."""
        short, long, operands = set[str](), set[str](), list[str]()
        for at, word in enumerate(words):
            if word == "--":
                operands += words[at + 1 :]
                break
            if word.startswith("--") or (word.startswith("-") and len(word) > 1):
                long.add(word.partition("=")[0].lower())
                if _SHORT.match(word):
                    short |= set(word[1:])
            else:
                operands.append(word)
        return cls(words, frozenset(short), frozenset(long), tuple(operands))

    def has(self, *names: str) -> bool:
        """Whether one of *names* is given: a letter, or a ``--long`` option, abbreviated or not."""
        for name in names:
            if not name.startswith("-"):
                if name in self.short:
                    return True
            elif any(name.startswith(given) and (len(given) > 3 or given == name) for given in self.long):  # noqa: PLR2004 - `--r`
                return True
        return False

    def verb(self, *taking: str) -> str:
        """The first operand, in lower case, options and the values of those in *taking* passed over; else nothing."""
        skip = False
        for word in self.words:
            if skip:
                skip = False
            elif word in taking:
                skip = True
            elif not word.startswith("-"):
                return word.lower()
        return ""

    def any(self, *words: str) -> bool:
        """Whether one of *words* is among the arguments, in whatever case."""
        return any(word.lower() in words for word in self.words)
