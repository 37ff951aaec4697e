"""The global names that a function uses and sets when it is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BRANCHES = (ast.If, ast.While, ast.For, ast.Try, ast.With, ast.Match)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class FunctionNames(NamedTuple):
    """The names from outside a function that it uses or sets.

    Attributes:
        bound: The names that it sets, by ``global``.
        sure: The names that it uses in each call: outside of branches, handlers and inner functions.
    """

    used: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    sure: frozenset[str] = frozenset()


def function_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> FunctionNames:
    scope = _Scope()
    arguments = node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    scope.stored.update(each.arg for each in every if each is not None)
    is_sure = True
    for each in [node.body] if isinstance(node, ast.Lambda) else node.body:
        scope.read(each, is_sure=is_sure)
        may_leave = isinstance(each, _BRANCHES) and any(isinstance(part, _LEAVING) for part in ast.walk(each))
        is_sure = is_sure and not may_leave
    return scope.names()


def pattern_names(pattern: ast.AST) -> Iterator[str]:
    """The names that a pattern of ``match`` binds."""
    for each in ast.walk(pattern):
        name = getattr(each, "rest", None) if isinstance(each, ast.MatchMapping) else getattr(each, "name", None)
        if isinstance(each, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)) and name:
            yield name


class _Scope:
    """The names loaded and stored in one function, class body or comprehension."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.sure: set[str] = set()
        self.stored: set[str] = set()
        self.globals: set[str] = set()
        self.set_inside: set[str] = set()  # names set by `global` in inner functions

    def names(self) -> FunctionNames:
        own = self.stored - self.globals
        bound = (self.stored & self.globals) | self.set_inside
        return FunctionNames(frozenset(self.loaded - own), frozenset(bound), frozenset(self.sure - own - bound))

    def read(self, node: ast.AST, *, is_sure: bool) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loaded.add(node.id)
                if is_sure:
                    self.sure.add(node.id)
            else:
                self.stored.add(node.id)
        elif isinstance(node, _FUNCTIONS):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, is_sure=is_sure)
        elif isinstance(node, ast.Global):
            self.globals.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.stored.update(each.asname or each.name.partition(".")[0] for each in node.names)
        else:
            self._other(node, is_sure=is_sure)

    def _other(self, node: ast.AST, *, is_sure: bool) -> None:
        if isinstance(node, ast.ExceptHandler) and node.name:
            self.stored.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            self.stored.update(pattern_names(node))
        if isinstance(node, ast.AnnAssign):
            for part in (node.value, node.target):
                if part is not None:
                    self.read(part, is_sure=is_sure)
            return
        below = is_sure and not isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Try, ast.BoolOp, ast.Match))
        if is_sure and isinstance(node, (ast.If, ast.IfExp, ast.While)):
            self.read(node.test, is_sure=True)
        for each in ast.iter_child_nodes(node):
            self.read(each, is_sure=below)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        inner = function_names(node)
        self.loaded |= inner.used
        self.set_inside |= inner.bound
        if not isinstance(node, ast.Lambda):
            self.stored.add(node.name)
            for each in node.decorator_list:
                self.read(each, is_sure=False)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.read(default, is_sure=False)

    def _class(self, node: ast.ClassDef) -> None:
        self.stored.add(node.name)
        inner = _Scope()
        for each in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.read(each, is_sure=False)
        for statement in node.body:
            inner.read(statement, is_sure=False)
        self.loaded |= inner.names().used

    def _comprehension(self, node: ast.AST, *, is_sure: bool) -> None:
        inner = _Scope()
        for each in ast.iter_child_nodes(node):
            inner.read(each, is_sure=is_sure)
        names = inner.names()
        walrus = {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
        self.loaded |= names.used
        self.sure |= names.sure
        self.stored |= walrus
