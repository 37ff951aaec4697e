"""The names that a piece of code can reach: those that it reads, as the functions do that it calls."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ANY_NAME = frozenset({"exec", "eval", "globals", "locals", "vars"})
"""Functions by which code can reach any variable."""
_ANY_ATTRIBUTE = frozenset(
    {"run_line_magic", "run_cell_magic", "run_cell", "user_ns", "user_global_ns", "__globals__", "f_globals"}
    | {"get_referrers", "get_objects", "currentframe", "_getframe"}
)
"""And attributes."""
_HISTORY = re.compile(r"_+\d*|_i+\d*|Out|In")


class Reach:
    """What a piece of code can reach.

    Attributes:
        names: The names that the code reads, in the order in which it does.
        is_any: True if it can reach any other, too.
    """

    def __init__(self, code: str) -> None:
        self.names: dict[str, None] = {}
        self.is_any: bool = False
        self._bound: set[str] = set()
        try:
            module = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.is_any = True
            return
        for statement in module.body:
            self._read(statement)

    def of(self, variables: Mapping[str, object]) -> Iterable[str]:
        """The names of *variables* that the code can reach, those that it names first."""
        named = [name for name in self.names if name in variables]
        return dict.fromkeys([*named, *variables]) if self.is_any else named

    def _read(self, statement: ast.stmt) -> None:
        bound: set[str] = set()
        for node in ast.walk(statement):
            self.is_any |= _reaches_any(node)
            match node:
                case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                    self._use(name)
                case ast.Name(id=name):
                    bound.add(name)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self._use(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    bound |= {each.asname or each.name.partition(".")[0] for each in names}
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
        # Only what every run of the code binds before it reads it is another object from then on.
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)):
            self._bound |= bound
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bound.add(statement.name)

    def _use(self, name: str) -> None:
        if name not in self._bound:
            self.names[name] = None


def _reaches_any(node: ast.AST) -> bool:
    """True if code with *node* can reach any variable, named or not."""
    match node:
        case ast.Name(id=name):
            return name in _ANY_NAME or _HISTORY.fullmatch(name) is not None
        case ast.Attribute(attr=name):
            return name in _ANY_ATTRIBUTE
        case ast.Constant(value="__main__") | ast.ImportFrom(module="__main__") | ast.alias(name="__main__"):
            return True
    return False


def lost_words(names: Iterable[str]) -> str:
    """A sentence that *names* cannot be restored; empty where there are none.

    Example:
        >>> lost_words(["model"]), lost_words(["a", "b"]), lost_words(["a", "b", "c", "d"])
        ("`model` can't be restored.", "`a` and `b` can't be restored.", "`a`, `b` and 2 more can't be restored.")
    """
    shown = [*_quoted(names)]
    if not shown:
        return ""
    most = 2
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most} more can't be restored."
    return f"{' and '.join(shown)} can't be restored."


def _quoted(names: Iterable[str]) -> Iterator[str]:
    return (f"`{name}`" for name in names)
