"""The tool that answers questions about code, in words for the agent."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.cell_names import cell_name, named_cell
from agentnb.kernel.code_runner import NotebookView
from agentnb.plugins.knowledge.code.language_server import OFF, chosen_program
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.knowledge.code.records import CodeLocation, Description, Diagnostic, Renaming

QUESTIONS = ("definition", "references", "describe", "complete", "problems", "rename")
MOST_NOTEBOOKS = 4
"""Notebooks whose analysis is kept."""
_NOTHING: dict[str, str] = {
    "definition": "Nothing that the notebook, the workspace or an installed package defines stands there.",
    "references": "Nothing that the notebook, the workspace or an installed package defines stands there.",
    "describe": "Nothing is known of it: neither the code nor a live variable says what it is.",
    "complete": "Nothing is known that can stand there.",
    "problems": "No problem was found.",
}


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
        """The notebook that is meant; where none is known, the cells that this kernel has run."""
        if self._runner is None:
            return NotebookView(name="", path=None, live=False, cells=())
        try:
            return self._runner.notebook(outputs=False, named=named)
        except UsageError:
            if named is not None:
                raise
            return NotebookView(name="", path=None, live=False, cells=tuple(self._runner.executed_cells()))

    def service(self, notebook: NotebookView) -> CodeService:
        """The service for questions about *notebook*, as it is now, and the workspace."""
        service, current = self._services.pop(notebook.name, (None, []))
        current[:] = [notebook]
        if service is None:
            variables: Callable[[], Mapping[str, Any]] = dict
            if self._runner is not None:
                variables = self._runner.namespace.variables
            service = CodeService(
                self._workspace,
                cells=lambda: _code_cells(current[0]),
                variables=variables,
                language_server=lambda: chosen_program(self._language_server()),
            )
        self._services[notebook.name] = service, current
        while len(self._services) > MOST_NOTEBOOKS:
            del self._services[next(iter(self._services))]
        return service

    def answer(self, arguments: Mapping[str, Any], notebook: NotebookView) -> str:
        """The answer to a question."""
        service, question = self.service(notebook), arguments["question"]
        place = place_of(arguments, notebook)
        names = {cell.id: f"{cell_name('code', cell.count)} (id {cell.id})" for cell in notebook.cells}
        if question != "rename":
            answer = self._text(question, service.ask(question, place), names)
        elif "new_name" in arguments:
            answer = renamed(service.rename(place, arguments["new_name"]), names, self._workspace)
        else:
            raise UsageError("A renaming wants 'new_name'.")
        return "\n\n".join(each for each in (answer or _NOTHING[question], service.failure) if each)

    def _text(self, question: str, answers: list[Any], names: Mapping[str, str]) -> str:
        match question:
            case "describe":
                return "\n\n".join(map(described, answers))
            case "complete":
                return "\n".join(f"{each.name} ({each.kind})" for each in answers)
            case "problems":
                return "\n".join(_problem(each, names, self._workspace) for each in answers)
            case _:
                return _locations(answers, names, self._workspace)


def place_of(arguments: Mapping[str, Any], notebook: NotebookView) -> CodePlace:
    """The place that arguments name."""
    if "cell" in arguments and "file" in arguments:
        raise UsageError("Name a cell or a file, not both.")
    cell = named_cell(arguments["cell"], notebook) if "cell" in arguments else None
    return CodePlace(
        symbol=arguments.get("symbol"),
        cell_id=None if cell is None else cell.id,
        path=arguments.get("file"),
        line=arguments.get("line"),
        column=arguments.get("column"),
    )


def described(description: Description) -> str:
    """A name's signatures and documentation, as text."""
    head = f"{description.kind} {description.full_name or description.name}"
    if description.is_live:
        head += " (by the type of the live variable)"
    return "\n".join([head, *description.signatures, *([description.docs] if description.docs else [])])


def location(place: CodeLocation | Diagnostic, names: Mapping[str, str], workspace: Path) -> str:
    """A place, as text: the cell by name and id, a file of the workspace by its path in it."""
    if place.cell_id is not None:
        return f"{names.get(place.cell_id, place.cell_id)}, line {place.line}, column {place.column}"
    if place.path is None:
        return "compiled, without source"
    path = Path(place.path)
    relative = path.relative_to(workspace) if workspace in path.parents else path
    return f"{relative}, line {place.line}, column {place.column}"


def renamed(renaming: Renaming, names: Mapping[str, str], workspace: Path) -> str:
    """A renaming as text: what changes, as diffs, and what to know."""
    diffs = []
    for change in renaming.changes:
        path = Path(change.path or "")
        relative = path.relative_to(workspace) if workspace in path.parents else path
        where = names.get(change.cell_id or "", "") or str(relative)
        before, after = change.before.splitlines(), change.after.splitlines()
        diffs.append("\n".join(difflib.unified_diff(before, after, where, where, lineterm="", n=1)))
    count = sum(change.count for change in renaming.changes)
    head = f"{renaming.old_name} → {renaming.new_name}: {count} places. Nothing is changed yet; this would change:"
    return "\n\n".join([head, *diffs, *renaming.notes])


def _locations(locations: Iterable[CodeLocation], names: Mapping[str, str], workspace: Path) -> str:
    return "\n".join(
        f"{location(each, names, workspace)}: {each.text.strip() or each.full_name or each.name}" for each in locations
    )


def _problem(problem: Diagnostic, names: Mapping[str, str], workspace: Path) -> str:
    code = f" [{problem.code}]" if problem.code else ""
    return f"{location(problem, names, workspace)}: {problem.severity}: {problem.message}{code} ({problem.source})"


def _code_cells(notebook: NotebookView) -> list[CodeCell]:
    return [
        CodeCell(cell_id=cell.id, source=cell.source, count=cell.count, is_cut=cell.cut)
        for cell in notebook.cells
        if cell.kind == "code" and cell.id
    ]
