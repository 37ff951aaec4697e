"""Describes a command of the command line (name, words, flags); parser, help and manual are made from it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


class Option(NamedTuple):
    """A flag or an argument of a command; *value* ending with an ellipsis stands for one or more."""

    flag: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    kind: Callable[[str], Any] = str

    @property
    def usage(self) -> str:
        if not self.flag.startswith("-"):
            return f"{self.flag} {self.value}".rstrip()
        value = "|".join(self.choices) or self.value
        return f"[{self.flag} {value}]" if value else f"[{self.flag}]"

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        choices = self.choices or None
        if not self.flag.startswith("-"):
            name = self.flag.rpartition(" ")[2].lower()
            if self.value:
                from argparse import REMAINDER  # costs start-up time, and eliza does not need it

                parser.add_argument(name, metavar=self.flag, nargs=REMAINDER, help=self.help)
            else:
                parser.add_argument(name, metavar=self.flag, help=self.help, choices=choices, type=self.kind)
        elif self.value or self.choices:
            metavar, many = None if self.choices else self.value.removesuffix(" …"), "+" if "…" in self.value else None
            parser.add_argument(self.flag, metavar=metavar, nargs=many, help=self.help, choices=choices, type=self.kind)
        else:
            parser.add_argument(self.flag, action="store_true", help=self.help)


class Command(NamedTuple):
    name: str
    summary: str
    details: str
    run: Callable[[argparse.Namespace], int]
    options: tuple[Option, ...] = ()
    words: tuple[str, str] | None = None


def write(text: str) -> int:
    """Write *text* to stdout, halves of characters too; the exit code."""
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def write_json(value: Any) -> int:
    """Write *value* to stdout as JSON, halves of characters too; the exit code."""
    import msgspec

    from agentnb.safe_json import without_half_characters

    whole = without_half_characters(msgspec.to_builtins(value, enc_hook=str))
    return write(msgspec.json.format(msgspec.json.encode(whole)).decode())


def complain(message: str) -> int:
    """Say on stderr why a command failed; its exit code."""
    print(f"agentnb: {message}", file=sys.stderr)
    return FAILED


def words_of(line: str) -> list[str]:
    """Returns the words of *line* as a shell splits them: a path with blanks is in quotes."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{line} cannot be split into words: {error}.", hint="Put a path in double quotes.") from None
