"""The rewrite that makes ``%agent`` cells await: source in, source out, nothing else touched.

IPython turns ``%agent Why?`` into ``get_ipython().run_line_magic('agent', 'Why?')``. A magic that blocks there blocks
the kernel's main thread, and with it every click in the page. So the call becomes ``(await …)`` of a second magic
wherever Python allows an ``await`` in the cell. It happens on text and not on the tree, because IPython decides
whether a cell is asynchronous before its AST transformers run. And it is pure: IPython may transform a cell twice.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = "agent"
AWAITED_MAGIC = "_agent_awaited"
_RUNNERS = ("run_line_magic", "run_cell_magic")
_LINE_END = re.compile(rb"(?<=\n)|(?<=\r)(?!\n)")


def awaited(source: str) -> str:
    """*source* (already plain Python) with every ``%agent`` call awaited where that is legal."""
    if not any(runner in source for runner in _RUNNERS):
        return source
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return source
    finder = _AwaitableCalls()
    finder.visit(tree)
    return _edited(source, finder.found) if finder.found else source


class _AwaitableCalls(ast.NodeVisitor):
    """Finds the ``%agent`` calls that stand where ``await`` may."""

    def __init__(self) -> None:
        self.found: list[ast.Call] = []
        self._legal = True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node, legal=False)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node, legal=True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        self._all(node.body, legal=False)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._all([node.body], legal=False)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._all(ast.iter_child_nodes(node), legal=False)

    def visit_Call(self, node: ast.Call) -> None:
        if self._legal and _runs_agent(node):
            self.found.append(node)
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef, *, legal: bool) -> None:
        self._all([*node.decorator_list, node.args])
        self._all(node.body, legal=legal)

    def _all(self, nodes: Iterable[ast.AST], *, legal: bool | None = None) -> None:
        before = self._legal
        self._legal = before if legal is None else legal
        for node in nodes:
            self.visit(node)
        self._legal = before


def _runs_agent(call: ast.Call) -> bool:
    match call:
        case ast.Call(args=[_, _, ast.Constant(value="")]):  # an empty cell: IPython's error then names what was typed
            return False
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython"), args=[]), attr=runner),
            args=[ast.Constant(value=name), *_],
        ):
            return runner in _RUNNERS and name == MAGIC
    return False


def _edited(source: str, calls: list[ast.Call]) -> str:
    """Put ``(await `` and ``)`` round *calls* and rename the magic, from the end to the start, by byte offset."""
    lines = _LINE_END.split(source.encode())
    edits: list[tuple[int, int, int, bytes]] = []
    for call in calls:
        name = call.args[0]
        edits.append((call.lineno, call.col_offset, 0, b"(await "))
        edits.append((name.lineno, name.col_offset, _width(name), repr(AWAITED_MAGIC).encode()))
        edits.append((call.end_lineno or call.lineno, call.end_col_offset or 0, 0, b")"))
    for line, column, width, text in sorted(edits, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + text + old[column + width :]
    return b"".join(lines).decode()


def _width(node: ast.expr) -> int:
    return (node.end_col_offset or 0) - node.col_offset
