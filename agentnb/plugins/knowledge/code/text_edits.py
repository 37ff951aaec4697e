"""Changes that a language server wants (LSP ``WorkspaceEdit``), as new texts of cells and files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.magics import LINE_END, NAME, is_readable, lines_of, python_of, read_source
from agentnb.plugins.knowledge.code.records import Renaming, TextChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentnb.plugins.knowledge.code.notebook_module import CodeCell, NotebookModule
    from agentnb.plugins.knowledge.code.records import CodeLocation


def renaming(
    root: Path,
    module: NotebookModule,
    new_name: str,
    uses: Sequence[CodeLocation],
    definitions: Iterable[CodeLocation],
) -> Renaming:
    if not uses:
        raise UsageError("That name is not defined in the notebook or the workspace.")
    old_name = uses[0].name
    for each in [each for each in definitions if each.name == old_name] or uses:
        if each.cell_id is None and (each.path is None or root not in Path(each.path).parents):
            where = each.path or "a compiled module"
            raise UsageError(f"{old_name!r} is defined outside the workspace, in {where}.")
    places: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}
    for each in uses:
        if each.name == old_name:
            places.setdefault((each.cell_id, each.path), []).append((each.line, each.column))
    changes = tuple(_change(module, place, at, old_name, new_name) for place, at in places.items())
    return Renaming(
        old_name=old_name, new_name=new_name, changes=changes, notes=tuple(_notes(module, old_name, new_name))
    )


def _change(
    module: NotebookModule,
    place: tuple[str | None, str | None],
    positions: list[tuple[int, int]],
    old_name: str,
    new_name: str,
) -> TextChange:
    cell_id, path = place
    cell = module.cell(cell_id) if cell_id is not None else None
    if cell is not None and cell.is_cut:
        raise UsageError("A cell that contains the name is too long to be changed.", hint="Shorten or split the cell.")
    before = cell.source if cell is not None else read_source(Path(path or ""))
    after = _replaced(before, positions, old_name, new_name)
    return TextChange(before=before, after=after, count=len(positions), cell_id=cell_id, path=path)


def _notes(module: NotebookModule, old_name: str, new_name: str) -> Iterable[str]:
    if taken := [cell for cell in module.cells if _has_word(cell.source, new_name)]:
        yield f"The name {new_name!r} is used in {_cells(len(taken))} already."
    named = [cell for cell in module.cells if _has_word(cell.source, old_name)]
    if masked := [cell for cell in named if cell.source.count(old_name) > python_of(cell.source).count(old_name)]:
        yield f"Magics in {_cells(len(masked))} contain the name, too; they are not changed."
    if broken := [cell for cell in named if not is_readable(python_of(cell.source))]:
        yield f"{_cells(len(broken))} with the name cannot be parsed by Python; check it yourself."
    if module.left_out:
        yield f"{_cells(module.left_out)} are not checked: the notebook is too long."


def _replaced(text: str, positions: Iterable[tuple[int, int]], old: str, new: str) -> str:
    """Returns *text* with *old* replaced by *new* at each line (from 1) and column."""
    starts = _line_starts(text)
    for line, column in sorted(set(positions), reverse=True):
        at = starts[line - 1] + column
        if text[at : at + len(old)] != old:
            raise UsageError(f"Line {line} has changed since it was analysed.", hint="Ask again.")
        text = text[:at] + new + text[at + len(old) :]
    return text


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def _has_word(text: str, word: str) -> bool:
    return word in text and any(match[0] == word for match in NAME.finditer(text))


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


LARGEST_TEXT = 5_000_000
"""Characters that a changed cell or file may have."""
MOST_EDITS = 5_000


class UnusableEdit(Exception):
    """A change cannot be made; the message says why, a sentence."""


class TextEdit(NamedTuple):
    """A new text for a range; lines and columns from 0, in characters."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def read_edits(edits: Any, lines: Sequence[str], characters: Callable[[str, int], int]) -> list[TextEdit]:
    """Read the server's edits of a document with these *lines*; *characters* converts its columns."""
    if not isinstance(edits, list) or len(edits) > MOST_EDITS:
        raise UnusableEdit("Its changes are not a list, or are too many.")

    def position(at: Any) -> tuple[int, int]:
        line, column = int(at["line"]), int(at["character"])
        if line < 0 or column < 0:
            raise ValueError(at)
        if line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        return line, min(characters(lines[line], column), len(lines[line]))

    try:
        made = [
            TextEdit(position(each["range"]["start"]), position(each["range"]["end"]), str(each["newText"]))
            for each in edits
        ]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise UnusableEdit("Its changes cannot be read.") from None
    return _apart(made)


def edited(text: str, edits: Sequence[TextEdit]) -> str:
    """Apply *edits*, which do not overlap, to *text*."""
    starts = _line_starts(text)
    for start, end, new in reversed(edits):
        first, last = starts[start[0]] + start[1], starts[end[0]] + end[1]
        text = text[:first] + new + text[last:]
    if len(text) > LARGEST_TEXT:
        raise UnusableEdit(f"The changed text has more than {LARGEST_TEXT:,} characters.")
    return text


def cell_changes(module: NotebookModule, edits: Iterable[TextEdit]) -> list[TextChange]:
    """Turn *edits* of the notebook's module into changes of its cells."""
    by_cell: dict[CodeCell, list[TextEdit]] = {}
    for each in edits:
        cell, own = _in_cell(module, each)
        by_cell.setdefault(cell, []).append(own)
    changes = []
    for cell, own_edits in by_cell.items():
        after = same_end(cell.source, edited(cell.source, own_edits))
        if after != cell.source:
            changes.append(TextChange(before=cell.source, after=after, count=len(own_edits), cell_id=cell.cell_id))
    return changes


def same_end(before: str, after: str) -> str:
    """Returns a cell's new text, without a line end if the old text had none."""
    return after if before.endswith("\n") else after.rstrip("\n")


def _in_cell(module: NotebookModule, edit: TextEdit) -> tuple[CodeCell, TextEdit]:
    """Returns the cell that an edit of the module falls in, and the edit relative to that cell."""
    start = module.cell_at(edit.start[0] + 1)
    if start is None:
        raise UnusableEdit("It changes text after the last cell.")
    (cell, line), text = start, edit.text
    lines, first = lines_of(cell.source), line - 1
    last = first + edit.end[0] - edit.start[0], edit.end[1]
    if last[0] == len(lines) and last[1] == 0:  # the edit ends at the beginning of the next cell
        last, text = (len(lines) - 1, len(lines[-1])), text.removesuffix("\n")
    if last[0] >= len(lines):
        raise UnusableEdit("A single edit spans several cells.")
    python = lines_of(python_of(cell.source))
    if cell.is_cut or any(lines[at] != python[at] for at in range(first, last[0] + 1)):
        raise UnusableEdit("The lines contain a magic, or the cell is too long.")
    return cell, TextEdit((first, edit.start[1]), last, text)


def _apart(edits: list[TextEdit]) -> list[TextEdit]:
    """Sort *edits*, keeping the order of those at one place as LSP requires; raises UnusableEdit if they overlap."""
    ordered = sorted(edits, key=lambda each: (each.start, each.end))
    overlap = any(before.end > after.start for before, after in itertools.pairwise(ordered))
    if overlap or any(each.start > each.end for each in ordered):
        raise UnusableEdit("Its changes overlap.")
    return ordered
