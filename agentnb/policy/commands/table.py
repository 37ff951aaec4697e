"""The table of programs: what their verbs and options can do, read from ``programs.toml``.

A rule of the table may be generous, because it can only raise a severity: the rating by the code in
:mod:`agentnb.policy.commands.files` still counts.
"""

from __future__ import annotations

import functools
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from agentnb.policy.severity import Risk, Severity, worst

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rating that holds where all its conditions do; of the values in a list one is enough."""

    severity: Severity
    reason: str
    verbs: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    words: str | None = None
    line: str | None = None
    operands: int | None = None
    unless: frozenset[str] = frozenset()


class TableRule(Case, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case of several programs; the worst that holds counts."""

    programs: frozenset[str]


class _Program(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    cases: tuple[Case, ...] = ()


class Wrapper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The layout of the arguments of programs that run another command."""

    names: tuple[str, ...] = ()
    taking: frozenset[str] = frozenset()
    skip: int = 0
    scripts: frozenset[str] = frozenset()
    joined: bool = False
    assigns: bool = False


class _Unknown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The meaning of words of a program that the table does not have."""

    on: Literal["verbs", "words", "operands", "first operand", "name"]
    pattern: str
    reason: str


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule: tuple[TableRule, ...]
    program: tuple[_Program, ...]
    wrapper: tuple[Wrapper, ...]
    kinds: dict[str, frozenset[str]]
    taking: dict[str, frozenset[str]]
    modules: dict[str, str]
    unknown: tuple[_Unknown, ...]


@functools.cache
def _read() -> _Table:
    # Not by `importlib.resources`: it and `importlib.metadata`, which the host needs, import each other, so two threads
    # that import one each can wait for each other (_DeadlockError).
    text = Path(__file__).with_name("programs.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Table)


@functools.cache
def _rules() -> dict[str, list[TableRule]]:
    rules: dict[str, list[TableRule]] = {}
    for rule in _read().rule:
        for program in {each.lower() for each in rule.programs}:
            rules.setdefault(program, []).append(rule)
    return rules


@functools.cache
def _programs() -> dict[str, tuple[Case, ...]]:
    return {name: each.cases for each in _read().program for name in each.names}


@functools.cache
def wrappers() -> dict[str, Wrapper]:
    """The programs that run another command, by name."""
    return {name: each for each in _read().wrapper for name in each.names}


def programs_of(kind: str) -> frozenset[str]:
    """The programs of a *kind*: ``"writers"``, ``"listing"`` and so on."""
    return _read().kinds[kind]


def is_in_table(program: str) -> bool:
    """True if the table has cases for *program* by itself."""
    return program in _programs()


def rate_alone(program: str, options: Options) -> Risk | None:
    """Returns the risk of the first case of *program* that applies; None if none does."""
    operands = _operands(program, options)
    cases = _programs().get(program, ())
    return next((Risk(each.severity, each.reason) for each in cases if _holds(each, program, options, operands)), None)


def rate_by_table(program: str, options: Options) -> Risk | None:
    """Returns the worst risk in the table's rules for *program* with *options*; None if no rule applies."""
    rules = _rules().get(program) or _rules().get(program.rstrip("0123456789.")) or ()
    operands = _operands(program, options)
    return worst(Risk(rule.severity, rule.reason) for rule in rules if _holds(rule, program, options, operands))


def rate_unknown(program: str, options: Options) -> Risk | None:
    """Rates an unknown *program* if its words suggest, for example, that it deletes, publishes or keeps running."""
    texts = {
        "verbs": (*options.operands[:2], *options.long),
        "words": options.words,
        "operands": options.operands[:2],
        "first operand": options.operands[:1],
        "name": (program,),
    }
    for row in _read().unknown:
        if any(map(_expression(row.pattern).fullmatch, texts[row.on])):
            return Risk("high", row.reason.replace("{program}", program))
    return None


def known_programs() -> frozenset[str]:
    return frozenset(_rules())


def module_kind(name: str) -> str | None:
    """Returns the kind of ``python -m NAME``: ``"program"``, ``"script"`` or a severity; None if it is unknown."""
    modules = _read().modules
    return modules.get(name) or modules.get(name.partition(".")[0])


def _operands(program: str, options: Options) -> tuple[str, ...]:
    taking = _read().taking.get(program, ())
    operands: list[str] = []
    skip = False
    for word in options.words:
        if skip:
            skip = False
        elif word in taking:
            skip = True
        elif not word.startswith("-") or word == "-":
            operands.append(word.lower())
    return tuple(operands)


def _holds(rule: Case, program: str, options: Options, operands: tuple[str, ...]) -> bool:
    words = {*(each for each in options.words if each.startswith(("-", "+"))), *operands[: 2 if rule.verbs else 1]}
    words |= {name for name, _, version in (each.rpartition("@") for each in words) if name and version}
    if not rule.unless.isdisjoint(words):
        return False
    if rule.operands is not None and len(operands) > rule.operands:
        return False
    if rule.verbs and not any(_in_order(each.split(), operands, first=True) for each in rule.verbs):
        return False
    if rule.anywhere and not any(_in_order(each.split(), operands, first=False) for each in rule.anywhere):
        return False
    spelled = (each in options.words for each in rule.options if each.startswith(("-", "+")))  # also with one dash
    if rule.options and not options.has(*rule.options) and not any(spelled):
        return False
    if rule.words is not None and not any(map(_expression(rule.words).fullmatch, options.words)):
        return False
    return rule.line is None or _expression(rule.line).search(" ".join((program, *options.words))) is not None


def _in_order(wanted: list[str], operands: tuple[str, ...], *, first: bool) -> bool:
    if first and not (operands and fnmatchcase(operands[0], wanted[0])):
        return False
    rest = iter(operands)
    return all(any(fnmatchcase(word, each) for word in rest) for each in wanted)


@functools.cache
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


_SHORT = re.compile(r"-[A-Za-z0-9]+")


class Options(NamedTuple):
    words: tuple[str, ...]
    short: frozenset[str]
    long: frozenset[str]
    operands: tuple[str, ...]

    @classmethod
    def of(cls, words: tuple[str, ...]) -> Options:
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
        """True if one of *names* is given: a letter, or a ``--long`` option, abbreviated or not."""
        for name in names:
            if not name.startswith("-"):
                if name in self.short:
                    return True
            elif any(name.startswith(option) and (len(option) > 3 or option == name) for option in self.long):  # noqa: PLR2004 - `--r`
                return True
        return False

    def any(self, *words: str) -> bool:
        """True if one of *words* is among the arguments, in whatever case."""
        return any(word.lower() in words for word in self.words)
