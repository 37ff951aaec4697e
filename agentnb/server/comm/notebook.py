"""The notebook as a page last reported it: its real cells, the active one and the selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agentnb.kernel.code_runner import NotebookCell

if TYPE_CHECKING:
    from agentnb.server.lab_messages import CellParams, NotebookParams

MOST_PATHS = 20
"""Earlier paths of a notebook that are remembered."""


class PageNotebook(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    active: str | None = None
    active_at: int | None = None
    selection: str = ""
    selected: tuple[str, ...] = ()
    unsaved: bool = False
    read_only: bool = False
    first: int = 0
    cells: tuple[NotebookCell, ...] = ()
    earlier_paths: tuple[str, ...] = ()

    def is_at(self, path: str) -> bool:
        """True if *path* is this notebook's, or was before the notebook was renamed."""
        return path == self.path or path in self.earlier_paths

    @property
    def active_cell(self) -> NotebookCell | None:
        at = self.active_at
        cells = self.cells if at is None else self.cells[at : at + 1]
        return next((cell for cell in cells if cell.id == self.active), None)

    @property
    def selected_cells(self) -> tuple[NotebookCell, ...]:
        """The selected cells, in order; only the active one if the page reports no others."""
        if not self.selected:
            return () if self.active_cell is None else (self.active_cell,)
        return tuple(cell for cell in self.cells if cell.id in self.selected)

    def cell(self, start: str) -> NotebookCell | None:
        """The only cell whose id begins with *start*; None if there is none or more than one."""
        matching = [cell for cell in self.cells if cell.id.startswith(start)]
        return matching[0] if len(matching) == 1 else None

    def executed(self, count: int) -> NotebookCell | None:
        return next((cell for cell in self.cells if cell.count == count), None)


class Unfollowable(Exception):
    """A message leaves out a source that was never heard: one before it was lost."""


def follow(before: PageNotebook | None, params: NotebookParams) -> PageNotebook:
    """Returns the notebook after a page's message."""
    if params.cells is None:
        if before is None:
            raise Unfollowable
        cells = before.cells
    else:
        known = {cell.id: cell.source for cell in before.cells} if before is not None else {}
        cells = tuple(_cell(cell, known) for cell in params.cells)
    return PageNotebook(
        path=params.path,
        active=params.active,
        active_at=params.active_at,
        selection=params.selection or "",
        selected=params.selected,
        unsaved=params.unsaved,
        read_only=params.read_only,
        first=params.first,
        cells=cells,
        earlier_paths=_earlier_paths(before, params.path),
    )


def _earlier_paths(before: PageNotebook | None, path: str) -> tuple[str, ...]:
    if before is None or before.path == path:
        return before.earlier_paths if before is not None else ()
    return (*(each for each in before.earlier_paths if each != path), before.path)[-MOST_PATHS:]


def _cell(params: CellParams, known: dict[str, str]) -> NotebookCell:
    source = params.source if params.source is not None else known.get(params.id)
    if source is None:
        raise Unfollowable
    return NotebookCell(
        id=params.id,
        kind=params.kind,
        count=params.count,
        source=source,
        cut=params.cut,
        tags=params.tags,
        editable=params.editable,
        deletable=params.deletable,
    )
