"""The syntax tree of a script (POSIX shell grammar, and the parts of bash's that change what is run)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything here."""


class Text(Node, frozen=True, kw_only=True):
    """Characters that stand for themselves; unquoted ones are open to brace expansion and globbing."""

    value: str
    quoted: bool = False


class Variable(Node, frozen=True, kw_only=True):
    """``$name`` or ``${name}``."""

    name: str
    quoted: bool = False


class Computed(Node, frozen=True, kw_only=True):
    """A part that only the running shell knows: substitutions, arithmetic, ``${name:-…}``; with the scripts inside."""

    scripts: tuple[ShellScript, ...] = ()
    feeds: bool = False


Part: TypeAlias = Text | Variable | Computed


class Word(Node, frozen=True, kw_only=True):
    """One word, as its parts."""

    parts: tuple[Part, ...]
    source: str

    @property
    def plain(self) -> str | None:
        """Its text where it is wholly unquoted and fixed, as reserved words and names are; else None."""
        if all(isinstance(part, Text) and not part.quoted for part in self.parts):
            return "".join(part.value for part in self.parts if isinstance(part, Text))
        return None

    @property
    def fixed(self) -> str | None:
        """Its text where the shell computes nothing in it; else None."""
        if all(isinstance(part, Text) for part in self.parts):
            return "".join(part.value for part in self.parts if isinstance(part, Text))
        return None

    @property
    def scripts(self) -> Iterator[ShellScript]:
        """Returns what is run to compute it."""
        for part in self.parts:
            if isinstance(part, Computed):
                yield from part.scripts


class Redirect(Node, frozen=True, kw_only=True):
    """A redirection: ``> file``, ``2>&1``, ``<<EOF`` and so on."""

    operator: str
    target: Word
    document: list[Word] = msgspec.field(default_factory=list)

    @property
    def word(self) -> Word:
        """Returns what the command gets: the target, or the here-document's body."""
        return self.document[0] if self.document else self.target


class Simple(Node, frozen=True, kw_only=True):
    """A program with its words, or assignments alone."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(Node, frozen=True, kw_only=True):
    """Two commands or more, each fed by the one before."""

    commands: tuple[Command, ...]


class Compound(Node, frozen=True, kw_only=True):
    """A subshell, a group, a loop, a choice: words it looks at, scripts it may run."""

    kind: str
    words: tuple[Word, ...] = ()
    bodies: tuple[ShellScript, ...] = ()
    name: str | None = None
    redirects: tuple[Redirect, ...] = ()


class Function(Node, frozen=True, kw_only=True):
    """The definition of a function."""

    name: str
    body: ShellScript


Command: TypeAlias = Simple | Pipeline | Compound | Function


class ShellScript(Node, frozen=True, kw_only=True):
    """Commands in order, whatever joins them: ``;``, ``&``, ``&&``, ``||`` or a new line."""

    commands: tuple[Command, ...] = ()
    background: frozenset[int] = frozenset()
