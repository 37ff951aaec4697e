"""Measures whether a search or a function takes time in proportion to the length of its text.

Texts are runs of characters and of beginnings of a match, because a search that starts over at each of them makes an
expression quadratic. The measurement ends at a size where twice the text takes more than three times as long, so a
quadratic expression costs little. It also ends at a size so quick that the largest would be fast even if the time grew
with the square, so a linear one costs little, too.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import inspect
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import agentnb

MEGABYTE = 1_000_000
SIZES = (4_000, 16_000, 64_000, 250_000, MEGABYTE)
UNITS = ("x", "*", "[", " ", '"', "'", "x ", "*[\"'` \\")
MORE_UNITS = (
    "`",
    "(",
    "\\",
    "\n",
    "1",
    "-",
    "a-",
    "a=",
    "a:",
    "\x1b[",
    "\x1b]",
    "<!",
    "x\n",
    "# ",
    "${",
    "$(",
    "{a,",
    "@a",
)
_SIGNIFICANT = 0.0003
_BEARABLE = 0.5
_ENOUGH = 0.0003
_COMPARABLE = 16_000
_TIMES = 3
_LONG = 0.02  # in seconds; shorter times may be noise
_SUSPECT = 2.3  # double text takes 2 or 4 times as long; a busy machine blurs both
_ROUNDS = 10
_PARSER = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_ONCE = {"match", "fullmatch", "search"}


def growth(
    run: Callable[[str], object], unit: str, head: str = "", largest: int = MEGABYTE, *, is_loop: bool = False
) -> str | None:
    """Returns a message if twice the text takes *run* more than three times as long."""
    for size in (each for each in SIZES if each <= largest):
        took = _took(run, head, unit, size)
        if took * (largest / size) ** 2 < _BEARABLE:
            return None
        if took > _SIGNIFICANT and took > _SUSPECT * _took(run, head, unit, size // 2):
            whole, half, quarter = _quickest(run, head, unit, size)
            if whole > _SUSPECT * half:  # more characters distinguish quadratic time from a busy machine
                sure = whole > _LONG or size == largest
                if sure and whole > _TIMES * half > _TIMES * _TIMES * quarter:  # a new memory page is one step
                    return f"{head!r} and {unit!r}: {size} characters take {whole:.3f} s, half of them {half:.3f} s"
                continue
        if took > _ENOUGH and size >= _COMPARABLE and not is_loop:
            return None
    return None


def is_linear(run: Callable[[int], object], size: int) -> bool:
    """True if *run* takes less than eight times as long for four times *size*; quadratic time is sixteen times.

    Other load only makes a measurement longer, so it compares the shortest of several alternating ones.
    """
    small: list[float] = []
    large: list[float] = []
    for _ in range(_ROUNDS):
        small.append(_seconds(lambda: run(size)))
        large.append(_seconds(lambda: run(4 * size)))
        if len(large) >= _TIMES and min(large) < 8 * min(small):
            return True
    return False


def _quickest(run: Callable[[str], object], head: str, unit: str, size: int) -> list[float]:
    """Times the text, half and a quarter of it, in turn, so that a busy machine affects all."""
    rounds = [[_took(run, head, unit, size // part) for part in (1, 2, 4)] for _ in range(3)]
    return [min(each) for each in zip(*rounds, strict=True)]


def _took(run: Callable[[str], object], head: str, unit: str, size: int) -> float:
    text = (head + unit * (size // len(unit) + 1))[:size]
    return _seconds(lambda: run(text))


def _seconds(run: Callable[[], object]) -> float:
    """Returns the seconds of this thread only; earlier tests' servers use others."""
    with _without_collection():
        began = time.thread_time()
        run()
        return time.thread_time() - began


@contextmanager
def _without_collection() -> Iterator[None]:
    """Disables garbage collection, which would count the leftovers of earlier tests."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def modules() -> Iterator[ModuleType]:
    """Yields every module of the package."""
    for info in pkgutil.walk_packages(agentnb.__path__, "agentnb."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


@functools.cache
def expressions() -> dict[str, tuple[re.Pattern[Any], set[str]]]:
    """Returns the package's compiled expressions by their place, with the methods used."""
    patterns: dict[str, tuple[re.Pattern[Any], set[str]]] = {}
    places: dict[int, str] = {}
    for module in modules():
        named = {f"{module.__name__}.{name}": each for name, each in vars(module).items()}
        for name, value in named.items():
            for where, pattern in _patterns(name, value, 0):
                if places.setdefault(id(pattern), where) == where:
                    patterns[where] = (pattern, set())
        for where, pattern, method in _calls(module):
            patterns.setdefault(places.setdefault(id(pattern), where), (pattern, set()))[1].add(method)
    return patterns


def searching(pattern: re.Pattern[Any], methods: set[str]) -> Callable[[str], object]:
    """Returns a function that searches a text with *pattern* as the package does."""
    once = methods and methods <= _ONCE
    search = getattr(pattern, "search" if "search" in methods else min(methods)) if once else None
    binary = isinstance(pattern.pattern, bytes)

    def run(text: str) -> None:
        subject = text.encode() if binary else text
        if search is not None:
            search(subject)
        else:
            for _ in pattern.finditer(subject):
                pass

    return run


def beginnings(pattern: re.Pattern[Any]) -> list[str]:
    """Returns beginnings of a text that *pattern* matches."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    text = _sample(_PARSER.parse(source, pattern.flags & ~re.UNICODE & ~re.LOCALE))
    return [text[:end] for end in range(1, len(text) + 1)][:40]


def _sample(parsed: Any) -> str:
    """Returns a text that the parsed expression matches: first alternatives, fewest repetitions."""
    text = ""
    for operator, argument in parsed:
        match str(operator):
            case "LITERAL":
                text += chr(argument)
            case "IN":
                text += next(
                    (
                        chr(each[1] if isinstance(each[1], int) else each[1][0])
                        for each in argument
                        if str(each[0]) in {"LITERAL", "RANGE"}
                    ),
                    "x",
                )
            case "NOT_LITERAL" | "ANY" | "CATEGORY":
                text += "x"
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += _sample(argument[2]) * min(max(argument[0], 1), 24)
            case "SUBPATTERN":
                text += _sample(argument[3])
            case "BRANCH":
                text += _sample(argument[1][0])
            case _:  # adds no characters: boundaries, lookarounds, backreferences
                continue
    return text


def _patterns(name: str, value: Any, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif depth < len("four"):
        inside: Any = ()
        if isinstance(value, (tuple, list, set, frozenset)):
            inside = enumerate(value)
        elif isinstance(value, dict):
            inside = value.items()
        elif inspect.isclass(value) and value.__module__.startswith("agentnb."):
            inside = ((key, each) for key, each in vars(value).items() if not key.startswith("__"))
        for key, each in inside:
            yield from _patterns(f"{name}[{key!r}]", each, depth + 1)


def _calls(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yields the uses of expressions in *module*, named or written in the call."""
    source = inspect.getsource(module)
    if not re.search(r"\bre\.", source) and not any(isinstance(value, re.Pattern) for value in vars(module).values()):
        return
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, method = node.func.value, node.func.attr
        if not isinstance(owner, ast.Name):
            continue
        held = vars(module).get(owner.id)
        if isinstance(held, re.Pattern):
            yield owner.id, held, method
        elif owner.id == "re" and method not in {"compile", "escape"} and node.args:
            flags = next((each for each in map(ast.unparse, _rest(node)) if each.startswith("re.")), "0")
            try:
                text = eval(ast.unparse(node.args[0]), dict(vars(module)))  # noqa: S307 - our own source
            except NameError:  # built from arguments: the function that builds it is measured
                continue
            yield f"{module.__name__}:{node.lineno}", re.compile(text, eval(flags, {"re": re})), method  # noqa: S307


def _rest(node: ast.Call) -> list[ast.expr]:
    return [*node.args[1:], *(each.value for each in node.keywords)]
