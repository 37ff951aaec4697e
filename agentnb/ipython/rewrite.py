"""Rewrites ``%agent`` in cells: first into a plain call, then so that cells await it.

The second step changes nothing else in the source. A magic that blocks there blocks the kernel's main thread, and so
every click in the page. It changes the text and not the tree, because IPython decides whether a cell is asynchronous
before its AST transformers run.
"""

from __future__ import annotations

import ast
import re
import tokenize
from typing import TYPE_CHECKING

from IPython.core.inputtransformer2 import TokenTransformBase, assemble_continued_line, find_end_of_continued_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAGIC = "agent"
AWAITED_MAGIC = "_agent_awaited"
_RUNNERS = ("run_line_magic", "run_cell_magic")
_LINE_END = re.compile(rb"(?<=\n)|(?<=\r)(?!\n)")
_HELP = re.compile(rf"%{{1,2}}{MAGIC}\?{{1,2}}\s*$")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


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
    return _edited(source, finder.calls) if finder.calls else source


class _AwaitableCalls(ast.NodeVisitor):
    """Finds the ``%agent`` calls in places where ``await`` is allowed."""

    def __init__(self) -> None:
        self.calls: list[ast.Call] = []
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
            self.calls.append(node)
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
        width = (name.end_col_offset or 0) - name.col_offset
        edits.append((call.lineno, call.col_offset, 0, b"(await "))
        edits.append((name.lineno, name.col_offset, width, repr(AWAITED_MAGIC).encode()))
        edits.append((call.end_lineno or call.lineno, call.end_col_offset or 0, 0, b")"))
    for line, column, width, text in sorted(edits, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + text + old[column + width :]
    return b"".join(lines).decode()


class AgentMagicTransform(TokenTransformBase):
    """One ``%agent`` command, alone on its line or assigned."""

    priority = 1

    def __init__(self, start: tuple[int, int], command: tuple[int, int]) -> None:
        super().__init__(start)
        self.command_line: int = command[0] - 1
        self.command_column: int = command[1]

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[tokenize.TokenInfo]]) -> AgentMagicTransform | None:
        """The first command in the cell (IPython's hook)."""
        for line in tokens_by_line:
            first = _first(line)
            for index in (first, _after_assignment(line)):
                if index is not None and _is_command(line, index):
                    return cls(line[first].start, line[index].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """The lines with this command as a plain call (IPython's hook)."""
        row, column = self.command_line, self.command_column
        end = find_end_of_continued_line(lines, row)
        command = assemble_continued_line(lines, (row, column), end)
        prompt = command[len(MAGIC) + 1 :].strip()
        call = f"get_ipython().run_line_magic({MAGIC!r}, {prompt!r})\n"
        return [*lines[:row], lines[row][:column] + call, *lines[end + 1 :]]


def _first(line: Sequence[tokenize.TokenInfo]) -> int:
    indents = (tokenize.INDENT, tokenize.DEDENT)
    return next((index for index, token in enumerate(line) if token.type not in indents), 0)


def _after_assignment(line: Sequence[tokenize.TokenInfo]) -> int | None:
    """The index of the command that an ``=`` outside of brackets binds."""
    depth = 0
    for index, token in enumerate(line):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if token.string == "=" and depth == 0 and _is_command(line, index + 1):
            return index + 1
    return None


def _is_command(line: Sequence[tokenize.TokenInfo], index: int) -> bool:
    if index + 1 >= len(line):
        return False
    percent, name = line[index], line[index + 1]
    if percent.string != "%" or name.string != MAGIC or percent.end != name.start:
        return False
    rest = percent.line[percent.start[1] :].partition("\n")[0]
    follows = rest[len(MAGIC) + 1 : len(MAGIC) + 2]
    return (not follows or follows.isspace()) and not _HELP.match(rest)
