"""Changes that a language server wants (LSP ``WorkspaceEdit``), as new texts of cells and files."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.knowledge.code.magics import lines_of, python_of
from agentnb.plugins.knowledge.code.records import TextChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentnb.plugins.knowledge.code.notebook_module import CodeCell, NotebookModule

LARGEST_TEXT = 5_000_000
"""Characters that a changed cell or file may have."""
MOST_EDITS = 5_000
_LINE_END = re.compile(r"\r\n|\r|\n")


class UnusableEdit(Exception):
    """A change cannot be made; the message says why, a sentence."""


class TextEdit(NamedTuple):
    """A new text for a range; lines and columns from 0, in characters."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def read_edits(edits: Any, lines: Sequence[str], characters: Callable[[str, int], int]) -> list[TextEdit]:
    """The edits of a document with these *lines*; *characters* counts the server's columns."""
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
    """*text* with *edits*, which do not overlap."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    for start, end, new in reversed(edits):
        first, last = starts[start[0]] + start[1], starts[end[0]] + end[1]
        text = text[:first] + new + text[last:]
    if len(text) > LARGEST_TEXT:
        raise UnusableEdit(f"The changed text has more than {LARGEST_TEXT:,} characters.")
    return text


def cell_changes(module: NotebookModule, edits: Iterable[TextEdit]) -> list[TextChange]:
    """The *edits* of the notebook's module as changes of its cells."""
    by_cell: dict[str, list[TextEdit]] = {}
    for each in edits:
        cell, own = _in_cell(module, each)
        by_cell.setdefault(cell.cell_id, []).append(own)
    changes = []
    for cell_id, own_edits in by_cell.items():
        source = _cell(module, cell_id).source
        after = same_end(source, edited(source, own_edits))
        if after != source:
            changes.append(TextChange(before=source, after=after, count=len(own_edits), cell_id=cell_id))
    return changes


def same_end(before: str, after: str) -> str:
    """A cell's new text without the line end that its old one had not."""
    return after if before.endswith("\n") else after.rstrip("\n")


def _in_cell(module: NotebookModule, edit: TextEdit) -> tuple[CodeCell, TextEdit]:
    """The cell of an edit of the module, and the edit in it."""
    start = module.cell_position(edit.start[0] + 1, edit.start[1])
    if start is None:
        raise UnusableEdit("It changes text after the last cell.")
    cell, text = _cell(module, start.cell_id), edit.text
    lines = lines_of(cell.source)
    last = start.line - 1 + edit.end[0] - edit.start[0], edit.end[1]
    if last[0] == len(lines) and last[1] == 0:  # up to the beginning of the next cell
        last, text = (len(lines) - 1, len(lines[-1])), text.removesuffix("\n")
    if last[0] >= len(lines):
        raise UnusableEdit("A single edit spans several cells.")
    python = lines_of(python_of(cell.source))
    if cell.is_cut or any(lines[at] != python[at] for at in range(start.line - 1, last[0] + 1)):
        raise UnusableEdit("The lines contain a magic, or the cell is too long.")
    return cell, TextEdit((start.line - 1, start.column), last, text)


def _cell(module: NotebookModule, cell_id: str) -> CodeCell:
    cell = module.cell(cell_id)
    if cell is None:
        raise UnusableEdit("It changes a cell that no longer exists.")
    return cell


def _apart(edits: list[TextEdit]) -> list[TextEdit]:
    """*edits* in order; the order of those at one place is kept, as the protocol has it."""
    ordered = sorted(edits, key=lambda each: (each.start, each.end))
    overlap = any(before.end > after.start for before, after in itertools.pairwise(ordered))
    if overlap or any(each.start > each.end for each in ordered):
        raise UnusableEdit("Its changes overlap.")
    return ordered
