"""Undo and redo of the cells that an agent changed, in the page that has their notebook open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import ChangesError
from agentnb.kernel.cell_changes import steps_in_order
from agentnb.kernel.turn_changes import KernelConflict, conflicting

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from agentnb.kernel.cell_changes import CellRecord
    from agentnb.kernel.code_runner import CodeRunner, NotebookView
    from agentnb.kernel.turn_changes import Choice, KernelTurn

TRIES = 3


class CellUndo:
    """Gives the cells of a conversation's turns back their old texts, or again the new ones."""

    def __init__(self, turns: Mapping[str, KernelTurn], lock: threading.RLock) -> None:
        self._turns = turns
        self._lock = lock

    async def change(
        self, runner: CodeRunner, turn: KernelTurn, cells: Sequence[CellRecord], choices: Mapping[str, Choice]
    ) -> tuple[str, ...]:
        """Give the cells the texts that they are to have, notebook by notebook; all cells of one notebook or none."""
        done: tuple[str, ...] = ()
        if not cells:
            return done
        names = _present_names(turn, runner.notebooks())
        for notebook in dict.fromkeys(names[cell.notebook] for cell in cells):
            chosen = [cell for cell in cells if names[cell.notebook] == notebook]
            known_as = [name for name, present in names.items() if present == notebook]
            done += await self._change_notebook(runner, turn, notebook, chosen, known_as=known_as, choices=choices)
        return done

    def _file_hashes(self, cells: Sequence[CellRecord]) -> tuple[str, str] | None:
        """The hashes of the file that the page has all of once it has *cells*; None where it lacks others then."""
        hashes = {cell.file_hashes if cell.offered else None for cell in cells}
        with self._lock:
            all_cells = [cell for turn in self._turns.values() for cell in turn.cells.values()]
        lacks = any(cell.offered and not any(cell is each for each in cells) for cell in all_cells)
        return None if lacks or len(hashes) > 1 else hashes.pop()

    async def _change_notebook(
        self,
        runner: CodeRunner,
        turn: KernelTurn,
        notebook: str,
        cells: Sequence[CellRecord],
        *,
        known_as: Sequence[str],
        choices: Mapping[str, Choice],
    ) -> tuple[str, ...]:
        expected = {cell.cell_id: cell.source for cell in cells}
        forced: set[str] = set()
        file_hashes = self._file_hashes(cells)
        for _ in range(TRIES):
            chosen = [cell for cell in cells if cell.cell_id in expected]
            steps = steps_in_order(
                [(cell, expected[cell.cell_id]) for cell in chosen],
                turn.order(known_as),
                gone={
                    cell.cell_id for cell in turn.cells.values() if cell.source is None and cell.notebook in known_as
                },
                forced=forced,
            )
            differing = await runner.change_cells(notebook, steps, file_hashes) if steps else {}
            if not differing:
                for cell in chosen:
                    cell.reverse(expected[cell.cell_id])
                return tuple(cell.id for cell in chosen)
            unsettled = [cell for cell in chosen if cell.cell_id in differing and cell.id not in choices]
            if unsettled:
                raise conflicting([_cell_conflict(cell, differing[cell.cell_id]) for cell in unsettled])
            for cell in chosen:
                if cell.cell_id in differing and choices[cell.id] == "theirs":
                    expected[cell.cell_id] = differing[cell.cell_id]
                    forced.add(cell.cell_id)
                elif cell.cell_id in differing:
                    del expected[cell.cell_id]
        # The page compares each time, and the user can type between its answer and the next try.
        raise ChangesError("The cells are being changed in the notebook.", hint="Try again in a moment.")


def _present_names(turn: KernelTurn, notebooks: Sequence[NotebookView]) -> dict[str, str]:
    """The present names of a turn's notebooks: one that was renamed meanwhile is the open one with its cells."""
    names = {cell.notebook: cell.notebook for cell in turn.cells.values()}
    cells_of = {each.name: {cell.id for cell in each.cells} for each in notebooks}
    for name in names:
        if name in cells_of or not cells_of:
            continue
        ids = {cell.cell_id for cell in turn.cells.values() if cell.notebook == name}
        ids |= {*turn.orders[name][1].ids} if name in turn.orders else set()
        best = max(cells_of, key=lambda each: len(ids & cells_of[each]))
        if ids & cells_of[best]:
            names[name] = best
    return names


def _cell_conflict(cell: CellRecord, current: str | None) -> KernelConflict:
    return KernelConflict(id=cell.id, name=cell.name, base=cell.source, current=current, target=cell.target)
