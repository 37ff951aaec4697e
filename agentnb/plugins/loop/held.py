"""What a loop's tries may not change: the code that the metric calls, the data that it reads, and its files."""

from __future__ import annotations

import dis
import inspect
from types import CodeType
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_PLAIN = (int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
_LONGEST_NAME = 255


class Held:
    """The things that tries must not change: code as it was when the loop began, names of variables, and paths."""

    def __init__(self) -> None:
        self.code: dict[str, Any] = {}
        self.data: list[str] = []
        self.files: list[str] = []

    @property
    def names(self) -> list[str]:
        """The names of code and data; modules and what comes with Python or a package are left out."""
        own = (name for name, value in self.code.items() if getattr(value, "__module__", "") == "__main__")
        return [*own, *self.data, *self.files]

    def add(self, name: str, value: Any) -> None:
        if is_code(value):
            self.code[name] = value
        elif name not in self.data:
            self.data.append(name)

    def add_file(self, path: str) -> None:
        if path not in self.files:
            self.files.append(path)


def is_code(value: Any) -> bool:
    return inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)


def named(wanted: Sequence[str], names: Mapping[str, Any], folder: Path) -> Held:
    """Returns the things that the user named as held; raises a UsageError if one is neither a variable nor a file."""
    held = Held()
    for each in wanted:
        if each in names:
            held.add(each, names[each])
        elif each and (folder / each).exists():
            held.add_file(each)
        else:
            raise UsageError(
                f"held: {each!r} is neither a variable nor a file of {folder.name}.",
                hint="Run the cell that defines it first, or correct the name.",
            )
    return held


def find_held(code: CodeType, names: Mapping[str, Any], folder: Path) -> Held:
    """Returns what the metric's *code* reads: all functions, their plain values, tables and arrays, and files it names.

    Numbers, lists and other values that the metric's expression itself names, and objects such as models, are left out:
    tries are meant to change them.
    """
    held, queue = Held(), [(code, False)]
    seen = set()
    while queue:
        current, is_inside = queue.pop()
        for name in globals_read(current):
            value = names.get(name)
            if name in seen or name not in names:
                continue
            if is_code(value) or is_table(value) or (is_inside and isinstance(value, _PLAIN)):
                seen.add(name)
                held.add(name, value)
            queue += [(each, True) for each in _codes(value)]
            if is_inside and isinstance(value, str) and _is_file(value, folder):
                held.add_file(value)
        for text in _texts(current):
            if _is_file(text, folder):
                held.add_file(text)
    return held


def globals_read(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            yield step.argval
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from globals_read(each)


def _texts(code: CodeType) -> Iterator[str]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _texts(each)
        elif isinstance(each, str):
            yield each


def _codes(value: Any) -> list[CodeType]:
    """Returns the code of what the notebook defines, not of what a package does."""
    if getattr(value, "__module__", "") != "__main__":
        return []
    if inspect.isfunction(value):
        return [value.__code__]
    if inspect.isclass(value):
        return [each.__code__ for each in vars(value).values() if inspect.isfunction(each)]
    return []


def is_table(value: Any) -> bool:
    has_rows = bool(getattr(value, "shape", ()))
    return has_rows and (hasattr(value, "dtype") or hasattr(value, "columns")) and not inspect.isclass(value)


def _is_file(text: str, folder: Path) -> bool:
    try:
        return 0 < len(text) <= _LONGEST_NAME and text.isprintable() and (folder / text).is_file()
    except (OSError, ValueError):
        return False
