"""The names that a cell uses and defines, in the order in which it does so; read from its text, nothing is run."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.knowledge.code.magics import CODE_CELL_MAGICS, python_of
from agentnb.plugins.verify.function_names import FunctionNames, function_names, pattern_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

USE, CALL, BIND, DELETE, UNKNOWN = "use", "call", "bind", "delete", "unknown"
_MAGIC = re.compile(r"^[ \t]*(?P<sign>%%|%|!)(?P<name>[\w!]*)[ \t]*(?P<rest>.*)$", re.MULTILINE)
_DEFINING_MAGICS = frozenset(
    {"run", "pylab", "load", "loadpy", "store", "macro", "rerun", "recall", "R", "sql", "load_ext"}
)
_HARMLESS_EXTENSIONS = frozenset({"autoreload", "agentnb", "storemagic", "line_profiler", "memory_profiler"})
_DEFINING_CALLS = frozenset({"exec", "globals", "locals", "vars", "get_ipython"})
_CAPTURE = re.compile(r"%%capture[ \t]+(?:--\S+[ \t]+)*(?P<name>[^\W\d]\w*)")
_OUT_OF_SHELL = re.compile(r"--(?:out|err|proc)[ \t]+(?P<name>[^\W\d]\w*)")


class NameEvent(NamedTuple):
    """One thing that a cell does with a name.

    Attributes:
        what: ``use``, ``call``, ``bind``, ``delete``; ``unknown`` if it may define any name, which *name* explains.
        is_sure: True if it happens whenever the cell runs.
    """

    what: str
    name: str
    line: int = 1
    is_sure: bool = True


class CellNames(NamedTuple):
    """The names that a cell uses and defines, in the order in which that happens.

    Attributes:
        functions: The names that its functions and classes use once they are called.
        error: Why it cannot be read as Python; None if it can.
    """

    events: tuple[NameEvent, ...] = ()
    functions: dict[str, FunctionNames] = {}  # noqa: RUF012 - a default that nobody changes
    error: str | None = None
    error_line: int = 1

    @property
    def bound(self) -> frozenset[str]:
        """Returns the names that the cell defines or deletes."""
        return frozenset(each.name for each in self.events if each.what in {BIND, DELETE})

    @property
    def used(self) -> frozenset[str]:
        """Returns the names that the cell, or a function in it, uses before the cell has defined them."""
        bound: set[str] = set()
        used: set[str] = set()
        for each in self.events:
            if each.what == BIND:
                bound.add(each.name)
            elif each.what in {USE, CALL} and each.name not in bound:
                used.add(each.name)
        return frozenset(used.union(*(each.used for each in self.functions.values())) - (bound - used))


@functools.lru_cache(maxsize=8192)
def cell_names(source: str) -> CellNames:
    tree, error, line = parsed(source)
    if tree is None:
        return CellNames(error=error, error_line=line)
    reader = _Reader()
    reader.scope.events.extend(_magic_events(source))
    reader.statements(tree.body)
    return CellNames(tuple(reader.scope.events), reader.functions)


@functools.lru_cache(maxsize=512)
def parsed(source: str) -> tuple[ast.Module | None, str | None, int]:
    """Parse a cell's Python; returns its syntax tree, or None, the reason and the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            tree = compile(python_of(source), "cell", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        return None, error.msg, error.lineno or 1
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return None, str(error) or type(error).__name__, 1
    assert isinstance(tree, ast.Module)  # noqa: S101 - what `exec` gives
    return tree, None, 1


def magics_of(source: str) -> list[tuple[str, str, str]]:
    """The magics and commands of a cell: the sign, the name, and the rest of the line."""
    if "%" not in source and "!" not in source:
        return []
    pieces = []
    for match in _MAGIC.finditer(source):
        name, rest = match["name"], match["rest"]
        pieces.append(
            (match["sign"], "", f"{name}{' ' if rest else ''}{rest}")
            if match["sign"] == "!"
            else (match["sign"], name, rest)
        )
        if match["sign"] == "%%" and name not in CODE_CELL_MAGICS:
            break  # its body is in another language
    return pieces


def _magic_events(source: str) -> Iterable[NameEvent]:
    for sign, name, rest in magics_of(source):
        if name == "load_ext" and rest.strip().partition(".")[0] in _HARMLESS_EXTENSIONS:
            continue
        if sign != "!" and name in _DEFINING_MAGICS:
            yield NameEvent(UNKNOWN, f"{sign}{name} may define any name")
        if sign == "%%" and (match := _OUT_OF_SHELL.search(rest)) is not None:
            yield NameEvent(BIND, match["name"])
    if (match := _CAPTURE.match(source.lstrip())) is not None:
        yield NameEvent(BIND, match["name"])


class _CellScope:
    """The names of the cell, as seen from the comprehensions and class bodies around the current position."""

    def __init__(self) -> None:
        self.events: list[NameEvent] = []
        self.is_sure = True
        self.local: list[set[str]] = []

    def add(self, what: str, name: str, node: ast.AST, *, is_sure: bool = True) -> None:
        """Add an event of the cell itself, whatever scope it is in."""
        self.events.append(NameEvent(what, name, getattr(node, "lineno", 1), self.is_sure and is_sure))

    def use(self, name: str, node: ast.AST, what: str = USE) -> None:
        if not any(name in each for each in self.local):
            self.add(what, name, node)

    def use_later(self, names: FunctionNames, node: ast.AST) -> None:
        before, self.is_sure = self.is_sure, False
        for name in sorted(names.used):
            self.use(name, node)
        self.is_sure = before

    def bind(self, name: str, node: ast.AST) -> None:
        if self.local and isinstance(self.local[-1], _ClassNames):
            self.local[-1].add(name)
        else:
            self.add(BIND, name, node)


class _Reader:
    def __init__(self) -> None:
        self.functions: dict[str, FunctionNames] = {}
        self.scope = _CellScope()

    def statements(self, body: Sequence[ast.AST], *, is_sure: bool = True) -> None:
        before = self.scope.is_sure
        self.scope.is_sure = before and is_sure
        for each in body:
            self.node(each)
        self.scope.is_sure = before

    def node(self, node: ast.AST) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
            return
        for each in ast.iter_child_nodes(node):
            self.node(each)

    def _unsure(self, nodes: Iterable[ast.AST | None]) -> None:
        self.statements([each for each in nodes if each is not None], is_sure=False)

    # --- names ---

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.scope.use(node.id, node)
        elif isinstance(node.ctx, ast.Store):
            self.scope.bind(node.id, node)
        else:
            self.scope.use(node.id, node, DELETE)

    def _call(self, node: ast.Call) -> None:
        for each in node.args:
            self.node(each)
        for keyword in node.keywords:
            self.node(keyword.value)
        if not isinstance(node.func, ast.Name):
            self.node(node.func)
            return
        name = node.func.id
        self.scope.use(name, node, CALL)
        if name in _DEFINING_CALLS:
            self.scope.add(UNKNOWN, f"{name}() may define any name", node, is_sure=False)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            if each.name == "*":
                module = getattr(node, "module", None) or "."
                self.scope.events.append(NameEvent(UNKNOWN, f"from {module} import * may define any name", node.lineno))
            else:
                self.scope.bind(each.asname or each.name.partition(".")[0], node)

    # --- statements that bind ---

    def _assign(self, node: ast.Assign) -> None:
        self.node(node.value)
        for each in node.targets:
            self.node(each)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._unsure([node.annotation])
        if node.value is not None:
            self.node(node.value)
            self.node(node.target)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.scope.use(node.target.id, node)
        self.node(node.value)
        self.node(node.target)

    def _walrus(self, node: ast.NamedExpr) -> None:
        self.node(node.value)
        self.scope.add(BIND, node.target.id, node)

    def _loop(self, node: ast.For | ast.AsyncFor) -> None:
        self.node(node.iter)
        self.node(node.target)
        self.statements([*node.body, *node.orelse])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.node(node.generators[0].iter)
        targets = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
        self.scope.local.append(targets)
        for at, part in enumerate(node.generators):
            if at:
                self.node(part.iter)
            for each in part.ifs:
                self.node(each)
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for each in results:
            self.node(each)
        self.scope.local.pop()

    # --- branches ---

    def _branch(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self.node(node.test)
        for part in (node.body, node.orelse):
            self.statements(part if isinstance(part, list) else [part], is_sure=False)

    def _both(self, node: ast.BoolOp) -> None:
        self.node(node.values[0])
        self._unsure(node.values[1:])

    def _attempt(self, node: ast.Try) -> None:
        catches = any(_catches_names(each.type) for each in node.handlers)
        self.statements(node.body, is_sure=not catches)
        for each in node.handlers:
            self._unsure([each.type])
            if each.name:
                self.scope.add(BIND, each.name, each, is_sure=False)
            self.statements(each.body, is_sure=False)
        self.statements(node.orelse, is_sure=not catches)
        self.statements(node.finalbody)

    def _match(self, node: ast.Match) -> None:
        self.node(node.subject)
        for case in node.cases:
            for name in pattern_names(case.pattern):
                self.scope.add(BIND, name, case.pattern, is_sure=False)
            self._unsure([case.guard, *case.body])

    # --- what runs later ---

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for each in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self.node(each)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._unsure([node.returns, *(each.annotation for each in arguments)])
        if not self.scope.local:
            self.functions[node.name] = function_names(node)
        else:  # a method
            self.scope.use_later(function_names(node), node)
        self.scope.bind(node.name, node)

    def _lambda(self, node: ast.Lambda) -> None:
        for each in (*node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self.node(each)
        self.scope.use_later(function_names(node), node)

    def _class(self, node: ast.ClassDef) -> None:
        for each in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.node(each)
        begin = [
            function_names(each)
            for each in node.body
            if isinstance(each, ast.FunctionDef) and each.name in {"__init__", "__new__", "__post_init__"}
        ]
        self.scope.local.append(_ClassNames({node.name}))
        self.statements(node.body)
        self.scope.local.pop()
        if not self.scope.local:
            self.functions[node.name] = FunctionNames(
                frozenset().union(*(each.used for each in begin)), frozenset().union(*(each.bound for each in begin))
            )
        self.scope.bind(node.name, node)

    def _later(self, node: Any) -> None:
        """Bind the name of ``type X = …``; its value is evaluated only on demand."""
        self.scope.bind(node.name.id, node)


class _ClassNames(set[str]):
    """The names of a class's body."""


def _catches_names(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(each, ast.Name) and each.id in {"NameError", "Exception", "BaseException"} for each in kinds)


def _types(*names: str) -> tuple[type[ast.AST], ...]:
    return tuple(getattr(ast, each) for each in names if hasattr(ast, each))


_HANDLERS: dict[type[ast.AST], Callable[[_Reader, Any], None]] = {
    kind: vars(_Reader)[f"_{name}"]
    for name, kinds in {
        "name": (ast.Name,),
        "call": (ast.Call,),
        "imported": (ast.Import, ast.ImportFrom),
        "assign": (ast.Assign,),
        "annotated": (ast.AnnAssign,),
        "augmented": (ast.AugAssign,),
        "walrus": (ast.NamedExpr,),
        "loop": (ast.For, ast.AsyncFor),
        "comprehension": (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
        "branch": (ast.If, ast.IfExp, ast.While),
        "both": (ast.BoolOp,),
        "attempt": _types("Try", "TryStar"),
        "match": (ast.Match,),
        "function": (ast.FunctionDef, ast.AsyncFunctionDef),
        "lambda": (ast.Lambda,),
        "class": (ast.ClassDef,),
        "later": _types("TypeAlias"),
    }.items()
    for kind in kinds
}
"""The method of :class:`_Reader` for each type of node."""
