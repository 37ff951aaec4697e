"""The notebook as a page last told of it: its real cells, the active one and what is selected.

The kernel itself knows only what was run. Pure: what comes in is a message, what comes out is the new notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from agentnb.comm.lab_messages import CellParams, NotebookParams


class NotebookCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell.

    Attributes:
        id: Its id in the notebook.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: Its execution count; None before it has run.
        source: Its text.
        cut: Whether *source* is not all of it.
        tags: Its tags.
    """

    id: str
    kind: str
    count: int | None
    source: str
    cut: bool = False
    tags: tuple[str, ...] = ()


class Notebook(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook.

    Attributes:
        path: Its path on the Jupyter server.
        active: The active cell's id.
        selection: The text selected in it; empty for none.
        selected: The ids of the selected cells, where they are several.
        unsaved: Whether it has changes that are not in its file.
        first: How many cells come before those.
        cells: The cells, in their order.
    """

    path: str
    active: str | None = None
    selection: str = ""
    selected: tuple[str, ...] = ()
    unsaved: bool = False
    first: int = 0
    cells: tuple[NotebookCell, ...] = ()

    @property
    def active_cell(self) -> NotebookCell | None:
        """The cell that the user is in."""
        return next((cell for cell in self.cells if cell.id == self.active), None)

    @property
    def selected_cells(self) -> tuple[NotebookCell, ...]:
        """The selected cells, in their order: the active one, where the page tells of no others."""
        chosen = self.selected or (self.active,)
        return tuple(cell for cell in self.cells if cell.id in chosen)

    def cell(self, start: str) -> NotebookCell | None:
        """The one cell whose id begins with *start*; None where there is none or more than one."""
        found = [cell for cell in self.cells if cell.id.startswith(start)]
        return found[0] if len(found) == 1 else None

    def executed(self, count: int) -> NotebookCell | None:
        """The cell with an execution count."""
        return next((cell for cell in self.cells if cell.count == count), None)


class Unfollowable(Exception):
    """A message leaves out a source that was never heard: one before it was lost."""


def follow(before: Notebook | None, params: NotebookParams) -> Notebook:
    """The notebook after a page's message.

    Args:
        before: What the same page said before.
        params: What it says now; what is absent has not changed.

    Raises:
        Unfollowable: If something is absent that is not known.
    """
    if params.cells is None:
        if before is None:
            raise Unfollowable
        cells = before.cells
    else:
        known = {cell.id: cell.source for cell in before.cells} if before is not None else {}
        cells = tuple(_cell(cell, known) for cell in params.cells)
    return Notebook(
        path=params.path,
        active=params.active,
        selection=params.selection or "",
        selected=params.selected,
        unsaved=params.unsaved,
        first=params.first,
        cells=cells,
    )


def _cell(params: CellParams, known: dict[str, str]) -> NotebookCell:
    source = params.source if params.source is not None else known.get(params.id)
    if source is None:
        raise Unfollowable
    return NotebookCell(
        id=params.id, kind=params.kind, count=params.count, source=source, cut=params.cut, tags=params.tags
    )
