"""The tree of a shell command, and its words as the shell expands them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """Characters that stand for themselves; unquoted ones are open to brace expansion and globbing."""

    value: str
    quoted: bool = False


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """``$name`` or ``${name}``."""

    name: str
    quoted: bool = False


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """A part that only the running shell knows: substitutions, arithmetic, ``${name:-…}``; with the scripts inside."""

    scripts: tuple[ShellScript, ...] = ()
    feeds: bool = False


Part: TypeAlias = Text | Variable | Computed


class Word(msgspec.Struct, frozen=True, kw_only=True):
    parts: tuple[Part, ...]
    source: str

    @property
    def plain(self) -> str | None:
        """Its text if that is wholly unquoted and fixed, as reserved words and names are; else None."""
        is_quoted = any(isinstance(part, Text) and part.quoted for part in self.parts)
        return None if is_quoted else self.fixed

    @property
    def fixed(self) -> str | None:
        """Its text if the shell computes nothing in it; else None."""
        if all(isinstance(part, Text) for part in self.parts):
            return "".join(part.value for part in self.parts if isinstance(part, Text))
        return None

    @property
    def scripts(self) -> Iterator[ShellScript]:
        """Yields the scripts that are run to compute the word."""
        for part in self.parts:
            if isinstance(part, Computed):
                yield from part.scripts


class Redirect(msgspec.Struct, frozen=True, kw_only=True):
    """A redirection: ``> file``, ``2>&1``, ``<<EOF`` and so on."""

    operator: str
    target: Word
    document: Word | None = None

    @property
    def word(self) -> Word:
        """Returns what the command reads or writes: the target, or the here-document's body."""
        return self.document or self.target


class Simple(msgspec.Struct, frozen=True, kw_only=True):
    """A program with its words, or assignments alone."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """Two commands or more, each fed by the one before."""

    commands: tuple[Command, ...]


class Compound(msgspec.Struct, frozen=True, kw_only=True):
    """A subshell, group, loop or choice: the words that it looks at, and the scripts that it may run."""

    kind: str
    words: tuple[Word, ...] = ()
    bodies: tuple[ShellScript, ...] = ()
    name: str | None = None
    redirects: tuple[Redirect, ...] = ()


class Function(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    body: ShellScript


Command: TypeAlias = Simple | Pipeline | Compound | Function


class ShellScript(msgspec.Struct, frozen=True, kw_only=True):
    """Commands in order, whatever joins them: ``;``, ``&``, ``&&``, ``||`` or a new line."""

    commands: tuple[Command, ...] = ()
    background: frozenset[int] = frozenset()


_GLOBS = frozenset("*?[]")
_MOST = 512
_MOST_BRACES = 64
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


class Field(NamedTuple):
    """One argument."""

    text: str
    dynamic: bool = False
    pattern: bool = False


class _Atom(NamedTuple):
    text: str
    quoted: bool
    dynamic: bool = False


def fields(word: Word, variables: Mapping[str, str]) -> list[Field]:
    """Returns the arguments that *word* expands to."""
    atoms = _atoms(word, variables)
    try:
        expanded = _braces(atoms)
    except OverflowError:
        return [Field(word.source, dynamic=True)]
    return [field for each in expanded for field in _split(each)]


def _atoms(word: Word, variables: Mapping[str, str]) -> list[_Atom]:
    atoms: list[_Atom] = []
    for part in word.parts:
        match part:
            case Text():
                atoms += [_Atom(char, part.quoted) for char in part.value] or [_Atom("", quoted=part.quoted)]
            case Variable() if part.name in variables or part.name == "IFS":
                value = variables.get(part.name, " ")
                if variables.get("IFS") and not part.quoted:  # the shell splits there, as at a space
                    value = re.sub(f"[{re.escape(variables['IFS'])}]", " ", value)
                atoms += [_Atom(char, part.quoted or not char.isspace()) for char in value] or [_Atom("", part.quoted)]
            case Variable():
                atoms.append(_Atom(f"${part.name}", quoted=True, dynamic=True))
            case Computed():
                atoms.append(_Atom("$(…)", quoted=True, dynamic=True))
    return atoms


def _braces(atoms: list[_Atom]) -> list[list[_Atom]]:
    """Performs Bash's brace expansion, which comes before every other expansion."""
    if sum(atom.text == "{" and not atom.quoted for atom in atoms) > _MOST_BRACES:
        raise OverflowError
    for start, atom in enumerate(atoms):
        if atom.quoted or atom.text != "{":
            continue
        group = _choices(atoms, start)
        if group is None:
            continue
        choices, end = group
        results: list[list[_Atom]] = []
        for choice in choices:
            results += _braces([*atoms[:start], *choice, *atoms[end:]])
            if len(results) > _MOST:
                raise OverflowError
        return results
    return [atoms]


def _choices(atoms: list[_Atom], start: int) -> tuple[list[list[_Atom]], int] | None:
    depth, pieces, piece = 0, list[list[_Atom]](), list[_Atom]()
    for at in range(start + 1, len(atoms)):
        atom = atoms[at]
        open_ = not atom.quoted
        if open_ and atom.text == "}" and depth == 0:
            pieces.append(piece)
            if len(pieces) > 1:
                return pieces, at + 1
            counted = _range("".join(each.text for each in piece))
            return None if counted is None else ([[_Atom(each, quoted=False)] for each in counted], at + 1)
        if open_ and atom.text == "," and depth == 0:
            pieces.append(piece)
            piece = []
            continue
        depth += {"{": 1, "}": -1}.get(atom.text, 0) if open_ else 0
        piece.append(atom)
    return None


def _range(text: str) -> list[str] | None:
    match = _RANGE.fullmatch(text)
    if match is None or match[1].lstrip("-").isdigit() != match[2].lstrip("-").isdigit():
        return None
    numeric = match[1].lstrip("-").isdigit()
    if max(len(match[1]), len(match[2])) > 9:  # noqa: PLR2004 - no number that is worth counting to
        raise OverflowError
    first, last = (int(match[1]), int(match[2])) if numeric else (ord(match[1]), ord(match[2]))
    step = abs(int(match[3] or 1)) or 1
    if abs(last - first) // step > _MOST:
        raise OverflowError
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [str(number) if numeric else chr(number) for number in numbers]


def _split(atoms: list[_Atom]) -> list[Field]:
    """Splits fields: unquoted white space can only come from a variable."""
    fields: list[Field] = []
    texts, dynamic, pattern, bracket, begun = list[str](), False, False, False, False
    for atom in atoms:
        if not atom.quoted and atom.text.isspace():
            if begun:
                fields.append(Field("".join(texts), dynamic, pattern))
            texts, dynamic, pattern, bracket, begun = [], False, False, False, False
            continue
        texts.append(atom.text)
        dynamic, begun = dynamic or atom.dynamic, True
        if not atom.quoted and atom.text in _GLOBS:
            pattern, bracket = (
                pattern or atom.text in "*?" or (atom.text == "]" and bracket),
                atom.text == "[" or bracket,
            )
    if begun and (any(texts) or any(atom.quoted for atom in atoms)):
        fields.append(Field("".join(texts), dynamic, pattern))
    return fields
