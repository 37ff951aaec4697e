"""Questions that only a language server answers: symbols, implementations, types, code actions, formatting."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.acp.fields import mapping, objects
from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.language_server_answers import MOST_FOUND, ServerQuestion, file_path
from agentnb.plugins.knowledge.code.magics import is_readable, lines_of, python_of, read_source
from agentnb.plugins.knowledge.code.notebook_module import in_order, no_cell
from agentnb.plugins.knowledge.code.records import QUESTIONS, SYMBOL_KINDS, CodeAction, CodeLocation, TextChange
from agentnb.plugins.knowledge.code.text_edits import UnusableEdit, cell_changes, edited, read_edits, same_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.plugins.knowledge.code.notebook_module import CodeCell
    from agentnb.plugins.knowledge.code.records import CodePlace
    from agentnb.plugins.knowledge.code.service import CodeService

MOST_ACTIONS = 50
MOST_DEPTH = 20
Span = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last place of a range: lines from 1, columns from 0, in characters."""


def server_request(service: CodeService, question: str, place: CodePlace) -> Callable[[ServerQuestion], list[Any]]:
    """Returns a function that asks the server *question* about *place*."""
    module = service.module()
    if question == "workspace_symbols":
        if not place.symbol:
            raise UsageError("No name to look for was given.", hint="Give it as the symbol.")
        return partial(workspace_symbols, query=place.symbol)
    if question == "format":
        return partial(formatting, place=service.file(place.path) if place.path else service.chosen_cells(place))
    if question in {"symbols", "actions"}:
        path = service.module_path if place.path is None else service.file(place.path)
        text = module.text if place.path is None else read_source(path)
        if question == "symbols":
            return partial(symbols, path=path, text=text)
        return partial(actions, path=path, text=text, span=_span(service, place, text))
    text, path, line, column = service.resolved(place, module)
    name = QUESTIONS[question].method.rpartition("/")[2]
    return lambda asking: in_order(asking.locations(name, path, text, (line, column)), module)


def _span(service: CodeService, place: CodePlace, text: str) -> Span:
    """The range that *place* means: the line of a symbol or column, else the line, the cell, or the whole text."""
    module, lines, first, line = service.module(), lines_of(text), 1, place.line
    if place.symbol is not None:
        _, _, line, _ = service.resolved(place, module)
    elif place.cell_id is not None:
        cell = module.cell(place.cell_id)
        if cell is None:
            raise no_cell(place.cell_id)
        first = module.module_line(cell.cell_id, 1)
        lines = lines[first - 1 :][: len(lines_of(cell.source))]
        line = None if line is None else first + line - 1
    if line is None:
        return (first, 0), (first + len(lines) - 1, len(lines[-1]))
    own = lines[line - first] if first <= line < first + len(lines) else None
    if own is None:
        raise UsageError(f"There are {len(lines)} lines, not {place.line}.")
    return (line, 0), (line, len(own))


def symbols(asking: ServerQuestion, path: Path, text: str) -> list[CodeLocation]:
    """Returns the symbols that a document defines, in their order there."""
    asking.show(path, text)
    answer = asking.request(QUESTIONS["symbols"].method, {"textDocument": {"uri": path.as_uri()}})
    return [*_symbols(asking, answer, path)][:MOST_FOUND]


def workspace_symbols(asking: ServerQuestion, query: str) -> list[CodeLocation]:
    """Returns the symbols of the notebook and the workspace that have names like *query*."""
    asking.show_notebook()
    asking.show_files_with(query)
    answer = asking.request(QUESTIONS["workspace_symbols"].method, {"query": query})
    return list(dict.fromkeys([*_symbols(asking, answer, asking.root)][:MOST_FOUND]))


def _symbols(
    asking: ServerQuestion, answer: Any, path: Path, above: str = "", depth: int = 0
) -> Iterator[CodeLocation]:
    for each in objects(answer) if depth < MOST_DEPTH else ():
        if not isinstance(name := each.get("name"), str):
            continue
        place = asking.location(each.get("location") or {"uri": path.as_uri(), "range": each.get("selectionRange")})
        holder = each.get("containerName") or above
        full_name = f"{holder}.{name}" if isinstance(holder, str) and holder else name
        number = each.get("kind")
        kind = SYMBOL_KINDS[number] if isinstance(number, int) and 0 < number < len(SYMBOL_KINDS) else ""
        if place is not None:
            yield replace(place, name=name, kind=kind, full_name=full_name)
        yield from _symbols(asking, each.get("children"), path, full_name, depth + 1)


def actions(asking: ServerQuestion, path: Path, text: str, span: Span) -> list[CodeAction]:
    """Returns the code actions that the server offers for a range; those that do more than edit text are left out."""
    asking.show_notebook()
    raw = asking.problems(path, text)
    (first, last), uri = span, path.as_uri()
    inside = [each for each in objects(raw) if _touches(each.get("range"), first[0], last[0])]
    answer = asking.request(
        QUESTIONS["actions"].method,
        {
            "textDocument": {"uri": uri},
            "range": {"start": asking.position(path, *first), "end": asking.position(path, *last)},
            "context": {"diagnostics": inside, "triggerKind": 1},
        },
    )
    made = (_action(asking, each) for each in objects(answer)[:MOST_ACTIONS])
    return [each for each in made if each is not None and each.changes]


def _action(asking: ServerQuestion, offered: dict[str, Any]) -> CodeAction | None:
    title = offered.get("title")
    if not isinstance(title, str) or offered.get("disabled") or isinstance(offered.get("command"), str):
        return None  # a bare command would run code in the server
    if offered.get("edit") is None and asking.resolves_actions:
        resolved = asking.request("codeAction/resolve", offered)
        offered = resolved if isinstance(resolved, dict) else offered
    try:
        changes = tuple(_changes(asking, offered.get("edit")))
    except (UnusableEdit, UsageError):
        return None
    kind = offered.get("kind")
    return CodeAction(title=" ".join(title.split())[:300], kind=kind if isinstance(kind, str) else "", changes=changes)


def _changes(asking: ServerQuestion, edit: Any) -> Iterator[TextChange]:
    """Yields the text changes of a ``WorkspaceEdit``."""
    documents = mapping(edit).get("documentChanges")
    if not isinstance(documents, list):
        pairs = mapping(mapping(edit).get("changes")).items()
        documents = [{"textDocument": {"uri": uri}, "edits": edits} for uri, edits in pairs]
    for each in documents:
        try:
            path, edits = file_path(each["textDocument"]["uri"]), each["edits"]
        except (TypeError, KeyError, ValueError, AttributeError):
            raise UnusableEdit("It creates, moves or deletes a file.") from None
        if path == asking.module_path:
            yield from cell_changes(asking.module, read_edits(edits, asking.lines(path), asking.characters))
            continue
        if asking.root not in path.resolve().parents:
            raise UnusableEdit(f"It changes {path}, outside the workspace.")
        before = read_source(path)
        made = read_edits(edits, lines_of(before), asking.characters)
        if (after := edited(before, made)) != before:
            yield TextChange(before=before, after=after, count=len(made), path=str(path))


def formatting(asking: ServerQuestion, place: Path | Sequence[CodeCell]) -> list[CodeAction]:
    """Have the server format a file or cells; each cell by itself, since a file has other rules between them."""
    notes: list[str] = []
    if isinstance(place, Path):
        before = read_source(place)
        changes = [TextChange(before=before, after=_formatted(asking, place, before), count=1, path=str(place))]
    else:
        plain = [each for each in place if not each.is_cut and python_of(each.source) == each.source]
        usable = [each for each in plain if is_readable(each.source)]
        if left := len(place) - len(usable):
            notes.append(f"Left as they are: {left} cells with magics, or that Python cannot read.")
        path = asking.module_path.with_name(f"{asking.module_path.stem}cell.py")
        changes = [
            TextChange(
                before=each.source,
                after=_cell_formatted(asking, path, each.source),
                count=1,
                cell_id=each.cell_id,
            )
            for each in usable
        ]
        asking.hide(path)
    changed = tuple(each for each in changes if each.after != each.before)
    return [CodeAction(title="Format", kind="format", changes=changed, notes=tuple(notes))] if changed else []


def _cell_formatted(asking: ServerQuestion, path: Path, source: str) -> str:
    """Returns a cell's formatted text; a semicolon at its end stays, because it hides the value."""
    after = same_end(source, _formatted(asking, path, source))
    hides = source.rstrip().endswith(";") and not after.rstrip().endswith(";")
    return f"{after.rstrip()};" if hides else after


def _formatted(asking: ServerQuestion, path: Path, text: str) -> str:
    asking.show(path, text)
    options = {"tabSize": 4, "insertSpaces": True}
    answer = asking.request(QUESTIONS["format"].method, {"textDocument": {"uri": path.as_uri()}, "options": options})
    try:
        return edited(text, read_edits(answer or [], lines_of(text), asking.characters))
    except UnusableEdit as error:
        raise UsageError(f"The language server's formatting cannot be used. {error}") from None


def _touches(span: Any, first: int, last: int) -> bool:
    try:
        return bool(span["start"]["line"] < last and span["end"]["line"] >= first - 1)
    except (TypeError, KeyError):
        return False
