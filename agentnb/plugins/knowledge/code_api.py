"""``agentnb.code()``: questions about the code of the notebook and its workspace."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentnb.api.columns import Rows, html, lines, on_one_line
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.kernel.cell_changes import cell_name
from agentnb.plugins.knowledge.code.records import EDITS
from agentnb.plugins.knowledge.code_tool import (
    CodeTool,
    described,
    edits_text,
    location,
    place_of,
    renamed,
    symbol_text,
)

if TYPE_CHECKING:
    from agentnb.host.environment import Environment
    from agentnb.plugins.knowledge.code.records import Renaming

Question: TypeAlias = Literal[
    "definition",
    "references",
    "describe",
    "complete",
    "problems",
    "rename",
    "symbols",
    "workspace_symbols",
    "implementation",
    "type_definition",
    "actions",
    "format",
]

_tools: dict[tuple[int, Path], CodeTool] = {}


class CodeAnswer(Rows[Any]):
    """The answer to a question about code; a table when displayed.

    Args:
        matches: Its rows: :class:`agentnb.plugins.knowledge.code.CodeLocation`, ``Description``, ``Completion``,
            ``Diagnostic`` or ``CodeAction``.
        question: The question.
        names: The names of the cells, by id.
        workspace: The folder that displayed paths are relative to.
        note: Why jedi gave the answer instead of the language server; else empty.

    Attributes:
        note: The same.
    """

    def __init__(
        self, matches: list[Any], question: str, names: dict[str, str], workspace: Path, note: str = ""
    ) -> None:
        super().__init__(matches)
        self.note = note
        self._question = question
        self._names = names
        self._workspace = workspace

    def _table(self) -> list[tuple[str, str]]:
        if self._question == "complete":
            return [(each.name, each.kind) for each in self]
        return [(location(each, self._names, self._workspace), on_one_line(self._text(each))) for each in self]

    def _text(self, answer: Any) -> str:
        if self._question in {"symbols", "workspace_symbols"}:
            return symbol_text(answer)
        if self._question == "problems":
            return f"{answer.message} ({answer.source}{' ' if answer.code else ''}{answer.code})"
        return str(answer.text.strip() or answer.full_name)

    def __repr__(self) -> str:
        if not self:
            text = "Nothing was found."
        elif self._question == "describe":
            text = "\n\n".join(map(described, self))
        elif self._question in EDITS:
            text = edits_text(self, self._names, self._workspace)
        else:
            text = "\n".join(lines(self._table()))
        return f"{text}\n{self.note}" if self.note else text

    def _repr_html_(self) -> str:
        if not self or self._question in {"describe", *EDITS}:
            return f"<pre>{escape(repr(self))}</pre>"
        head = ("name", "kind") if self._question == "complete" else ("place", "text")
        return html(head, self._table()) + (f"<p>{escape(self.note)}</p>" if self.note else "")


class RenamingAnswer:
    """A renaming as a set of changes; nothing has been changed.

    Attributes:
        renaming: The changes: each cell and file with its text before and after.
    """

    def __init__(self, renaming: Renaming, names: dict[str, str], workspace: Path, note: str = "") -> None:
        self.renaming = renaming
        self._text = "\n\n".join(each for each in (renamed(renaming, names, workspace), note) if each)

    def __repr__(self) -> str:
        return self._text


def code(
    question: Question,
    symbol: str | None = None,
    *,
    cell: str | int | None = None,
    file: str | Path | None = None,
    line: int | None = None,
    column: int | None = None,
    new_name: str | None = None,
) -> CodeAnswer | RenamingAnswer:
    """Answer a question about the code of the notebook and of the files in the current folder.

    It reads the code cells as one Python module, in the order in which they ran. If the code does not show what a name
    is, it uses the type of the live variable; it never calls your objects or reads their attributes.

    Args:
        question: ``"definition"`` or ``"references"`` of a name, ``"describe"`` (signature and documentation),
            ``"complete"``, ``"problems"`` (syntax errors, and the findings of the language server in the settings) or
            ``"rename"``, which changes nothing. Only a language server answers ``"symbols"`` (of the notebook, or of a
            file), ``"workspace_symbols"``, ``"implementation"``, ``"type_definition"``, ``"actions"`` (the changes
            that it offers at a place) and ``"format"``; these change nothing either.
        symbol: The name, or a dotted name such as ``"df.merge"``. Without a cell or file it is looked up as if it were
            typed below the last cell.
        cell: The cell that contains it: its id, or the n of its ``In [n]``.
        file: A Python file that contains it, instead of a cell.
        line: The line, from 1.
        column: The column, from 0, in characters; instead of a symbol.
        new_name: The new name, for ``"rename"``.

    Raises:
        UsageError: If there is no such place, no language server has the answer, or it takes more than 30 seconds.

    Example:
        >>> import json
        >>> agentnb.code("definition", "json.dumps")  # doctest: +SKIP
        /usr/lib/python3.11/json/__init__.py, line 183, column 4  def dumps(obj, *, …
    """
    if question not in Question.__args__:  # type: ignore[attr-defined]
        raise UsageError(
            f"{question!r} is not a kind of question about code.", hint='Ask for "definition", "references", …'
        )
    environment = current_environment()
    tool = _tool(environment)
    workspace = Path.cwd()
    notebook = tool.notebook()
    arguments = {"symbol": symbol, "cell": None if cell is None else str(cell), "line": line, "column": column}
    arguments["file"] = None if file is None else str(file)
    place = place_of({key: value for key, value in arguments.items() if value is not None}, notebook)
    service = tool.service(notebook)
    names = {each.id: cell_name("code", each.count) for each in notebook.cells}
    if question == "rename":
        if new_name is None:
            raise UsageError("Renaming needs new_name.")
        renaming = service.rename(place, new_name)
        return RenamingAnswer(renaming, names, workspace, service.failure)
    return CodeAnswer(service.ask(question, place), question, names, workspace, service.failure)


def _tool(environment: Environment) -> CodeTool:
    runner = environment.code_runner()
    key = id(runner), Path.cwd()
    if key not in _tools:
        _tools.clear()
        _tools[key] = CodeTool(runner, key[1], lambda: str(environment.sources()["language_server"].value))
    return _tools[key]
