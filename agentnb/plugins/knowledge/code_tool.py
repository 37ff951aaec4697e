"""The tool that answers questions about code, in words for the agent."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.cell_changes import cell_name, named_cell
from agentnb.kernel.code_runner import NotebookView
from agentnb.plugins.knowledge.code.language_server import OFF, chosen_program
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import QUESTIONS, CodePlace
from agentnb.plugins.knowledge.code.service import CodeService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.knowledge.code.records import (
        CodeAction,
        CodeLocation,
        Description,
        Diagnostic,
        Renaming,
        TextChange,
    )

MOST_NOTEBOOKS = 4
"""Notebooks whose analysis is kept."""


class CodeTool:
    """Answers one conversation's questions about code. Any thread may ask."""

    def __init__(
        self, runner: CodeRunner | None, workspace: Path, language_server: Callable[[], str] = lambda: OFF
    ) -> None:
        self._runner = runner
        self._workspace = workspace
        self._language_server = language_server
        self._services: dict[str, tuple[CodeService, list[NotebookView]]] = {}

    def notebook(self, named: str | None = None) -> NotebookView:
        """Returns the notebook that is meant; if none is known, the cells that this kernel has run."""
        if self._runner is None:
            return NotebookView(name="", path=None, live=False, cells=())
        try:
            return self._runner.notebook(outputs=False, named=named)
        except UsageError:
            if named is not None:
                raise
            return NotebookView(name="", path=None, live=False, cells=tuple(self._runner.executed_cells()))

    def service(self, notebook: NotebookView) -> CodeService:
        """Returns the service for questions about the workspace and *notebook* as it is now."""
        service, current = self._services.pop(notebook.name, (None, []))
        current[:] = [notebook]
        if service is None:
            service = CodeService(
                self._workspace,
                cells=lambda: _code_cells(current[0]),
                variables=dict if self._runner is None else self._runner.namespace.variables,
                language_server=lambda: chosen_program(self._language_server()),
            )
        self._services[notebook.name] = service, current
        while len(self._services) > MOST_NOTEBOOKS:
            del self._services[next(iter(self._services))]
        return service

    def answer(self, arguments: Mapping[str, Any], notebook: NotebookView) -> str:
        service, question = self.service(notebook), arguments["question"]
        place = place_of(arguments, notebook)
        names = cell_names(notebook)
        if question == "rename":
            answer = renamed(service.rename(place, _new_name(arguments)), names, self._workspace)
        else:
            answer = self._text(question, service.ask(question, place), names)
        return "\n\n".join(each for each in (answer or QUESTIONS[question].nothing, service.failure) if each)

    def changes(self, arguments: Mapping[str, Any], notebook: NotebookView) -> tuple[str, tuple[TextChange, ...]]:
        """Returns the title and the changes of a renaming, a code action or a formatting."""
        service, place, change = self.service(notebook), place_of(arguments, notebook), arguments["change"]
        if change == "rename":
            renaming = service.rename(place, _new_name(arguments))
            return f"Rename {renaming.old_name} to {renaming.new_name}", renaming.changes
        offered: list[CodeAction] = service.ask("format" if change == "format" else "actions", place)
        if change == "format":
            return "Format", offered[0].changes if offered else ()
        wanted = arguments.get("action")
        named = {each.changes: each for each in offered if each.title == wanted}
        if len(named) != 1:
            titles = "; ".join(dict.fromkeys(each.title for each in offered)) or "none"
            what = f"{len(named)} code actions are called" if named else "There is no code action"
            raise UsageError(f"{what} {wanted!r} here.", hint=f"Specify the line. Available lines: {titles}.")
        (action,) = named.values()
        return action.title, action.changes

    def _text(self, question: str, answers: list[Any], names: Mapping[str, str]) -> str:
        match question:
            case "describe":
                return "\n\n".join(map(described, answers))
            case "complete":
                return "\n".join(f"{each.name} ({each.kind})" for each in answers)
            case "symbols" | "workspace_symbols":
                return "\n".join(f"{location(each, names, self._workspace)}: {symbol_text(each)}" for each in answers)
            case "actions" | "format":
                return edits_text(answers, names, self._workspace)
            case "problems":
                return "\n".join(_problem(each, names, self._workspace) for each in answers)
            case _:
                return "\n".join(
                    f"{location(each, names, self._workspace)}: {each.text.strip() or each.full_name or each.name}"
                    for each in answers
                )


def place_of(arguments: Mapping[str, Any], notebook: NotebookView) -> CodePlace:
    if "cell" in arguments and "file" in arguments:
        raise UsageError("Specify a cell or a file, not both.")
    cell = named_cell(arguments["cell"], notebook) if "cell" in arguments else None
    return CodePlace(
        symbol=arguments.get("symbol"),
        cell_id=None if cell is None else cell.id,
        path=arguments.get("file"),
        line=arguments.get("line"),
        column=arguments.get("column"),
    )


def described(description: Description) -> str:
    head = f"{description.kind} {description.full_name or description.name}"
    if description.is_live:
        head += " (by the type of the live variable)"
    return "\n".join([head, *description.signatures, *([description.docs] if description.docs else [])])


def location(place: CodeLocation | Diagnostic, names: Mapping[str, str], workspace: Path) -> str:
    """Returns a place as text: a cell by name and id, a file of the workspace by its path in it."""
    if place.cell_id is not None:
        return f"{names.get(place.cell_id, place.cell_id)}, line {place.line}, column {place.column}"
    if place.path is None:
        return "compiled, without source"
    return f"{_in_workspace(place.path, workspace)}, line {place.line}, column {place.column}"


def _in_workspace(path: str, workspace: Path) -> str:
    """Returns a file's path relative to the workspace if it is there."""
    file = Path(path)
    return str(file.relative_to(workspace) if workspace in file.parents else file)


def renamed(renaming: Renaming, names: Mapping[str, str], workspace: Path) -> str:
    """Returns a renaming as text: its changes as diffs, and its notes."""
    diffs = [_diff(change, names, workspace) for change in renaming.changes]
    count = sum(change.count for change in renaming.changes)
    head = f"{renaming.old_name} → {renaming.new_name}: {count} places. Nothing is changed yet; this would change:"
    return "\n\n".join([head, *diffs, *renaming.notes])


def edits_text(actions: Iterable[CodeAction], names: Mapping[str, str], workspace: Path) -> str:
    """Returns code actions as text: each with the changes that it would make, and its notes."""
    pieces = []
    for each in actions:
        kind = f" ({each.kind})" if each.kind and each.kind != "format" else ""
        diffs = [_diff(change, names, workspace) for change in each.changes]
        pieces.append("\n".join([f"{each.title}{kind} would change:", *diffs, *each.notes]))
    return "\n\n".join(pieces)


def place_name(change: TextChange, names: Mapping[str, str], workspace: Path) -> str:
    """The cell by name and id, or the file by its path in the workspace."""
    return names.get(change.cell_id or "", "") or _in_workspace(change.path or "", workspace)


def cell_names(notebook: NotebookView) -> dict[str, str]:
    """Returns each cell's name for the agent, by the cell's id."""
    return {cell.id: f"{cell_name('code', cell.count)} (id {cell.id})" for cell in notebook.cells}


def _diff(change: TextChange, names: Mapping[str, str], workspace: Path) -> str:
    where = place_name(change, names, workspace)
    before, after = change.before.splitlines(), change.after.splitlines()
    return "\n".join(difflib.unified_diff(before, after, where, where, lineterm="", n=1))


def _new_name(arguments: Mapping[str, Any]) -> str:
    if "new_name" not in arguments:
        raise UsageError("Renaming needs 'new_name'.")
    return str(arguments["new_name"])


def symbol_text(symbol: CodeLocation) -> str:
    """Returns a symbol's kind and its full name, which includes the names of its containers."""
    return f"{symbol.kind} {symbol.full_name}".strip()


def _problem(problem: Diagnostic, names: Mapping[str, str], workspace: Path) -> str:
    code = f" [{problem.code}]" if problem.code else ""
    return f"{location(problem, names, workspace)}: {problem.severity}: {problem.message}{code} ({problem.source})"


def _code_cells(notebook: NotebookView) -> list[CodeCell]:
    return [
        CodeCell(cell_id=cell.id, source=cell.source, count=cell.count, is_cut=cell.cut)
        for cell in notebook.cells
        if cell.kind == "code" and cell.id
    ]
