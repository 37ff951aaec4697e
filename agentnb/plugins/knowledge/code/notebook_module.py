"""A notebook's code cells as one Python module, in the order in which they ran; positions map in both directions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.magics import closed, lines_of, python_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.plugins.knowledge.code.records import CodeLocation

MOST_LINES = 60_000
"""Lines of cells that are analysed together; later cells are left out, and the answer says so."""
MOST_CHARACTERS = 3_000_000


class CodeCell(msgspec.Struct, frozen=True, kw_only=True):
    cell_id: str
    source: str
    count: int | None = None
    is_cut: bool = False


class NotebookModule:
    def __init__(self, cells: Iterable[CodeCell]) -> None:
        lines: list[str] = []
        self.cells: list[CodeCell] = []
        self._starts: list[int] = []  # for each cell, the number of lines before it
        self.left_out: int = 0
        characters = 0
        # Cells that have not run come last, in the notebook's order.
        for cell in sorted(cells, key=lambda cell: (cell.count is None, cell.count or 0)):
            own = lines_of(closed(python_of(cell.source)))
            characters += len(cell.source)
            if len(lines) + len(own) > MOST_LINES or characters > MOST_CHARACTERS:
                self.left_out += 1
                continue
            self._starts.append(len(lines))
            self.cells.append(cell)
            lines += own
        self.lines = lines
        self.text: str = "".join(f"{line}\n" for line in lines)
        self._places = {cell.cell_id: at for at, cell in enumerate(self.cells)}

    def cell(self, cell_id: str) -> CodeCell | None:
        at = self._places.get(cell_id)
        return None if at is None else self.cells[at]

    def module_line(self, cell_id: str, line: int) -> int:
        """Returns the line in the module of a line of one of its cells, both from 1; columns are the same."""
        return self._starts[self._places[cell_id]] + line

    def cell_at(self, line: int) -> tuple[CodeCell, int] | None:
        """Returns the cell that a line of the module is in, and the line in it, both from 1; None past the end."""
        at = bisect_right(self._starts, line - 1) - 1
        if at < 0 or line > len(self.lines):
            return None
        return self.cells[at], line - self._starts[at]


def in_order(locations: Iterable[CodeLocation], module: NotebookModule) -> list[CodeLocation]:
    """Returns the places in cells, in the order in which the cells ran, and then those in files."""
    order = {cell.cell_id: at for at, cell in enumerate(module.cells)}

    def key(each: CodeLocation) -> tuple[bool, int, str, int, int]:
        return each.cell_id is None, order.get(each.cell_id or "", 0), each.path or "", each.line, each.column

    return sorted(locations, key=key)


def no_cell(cell_id: str) -> UsageError:
    return UsageError(f"The notebook has no code cell {cell_id!r}, or it has too many lines to be analysed.")
