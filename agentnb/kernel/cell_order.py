"""The order of a notebook's cells, and the steps that bring a turn's cells back to their places in it.

A place is told by the cell above. Where a turn moved, inserted and deleted several cells, the cells above them moved,
too; so the turn keeps the notebook's whole order before its first and after its last change, and undo (or redo) puts
its cells into their places in that order, one after the other from the top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agentnb.kernel.cell_changes import CellRecord
    from agentnb.kernel.code_runner import CellStep, NotebookView


class CellOrder(msgspec.Struct, frozen=True):
    """The order of a notebook's cells, as far as its page tells of them."""

    ids: tuple[str, ...]
    start: int = 0

    def after(self, steps: Iterable[CellStep]) -> CellOrder:
        """The order after *steps*."""
        ids = [*self.ids]
        for step in steps:
            if step.action in {"delete", "move"} and step.cell_id in ids:
                ids.remove(step.cell_id)
            if step.action in {"insert", "move"}:
                place = ids.index(step.below) + 1 if step.below in ids else max(0, step.index - self.start)
                ids.insert(place, step.cell_id)
        return CellOrder(tuple(ids), self.start)


def order_of(notebook: NotebookView) -> CellOrder:
    """The order of a notebook's cells."""
    return CellOrder(tuple(cell.cell_id for cell in notebook.cells), notebook.start)


def steps_in_order(
    cells: Sequence[tuple[CellRecord, str | None]],
    orders: tuple[CellOrder, CellOrder] | None,
    *,
    gone: Collection[str] = (),
    forced: Collection[str] = (),
) -> list[CellStep]:
    """The steps that undo (or redo) changes of one notebook's cells."""
    made = [(cell, expected, cell.step(expected, forced=cell.cell_id in forced)) for cell, expected in cells]
    steps = [step for _, _, step in made if step is not None and step.action != "insert"]
    steps.sort(key=lambda step: step.action != "delete")
    placed = [step for _, _, step in made if step is not None and step.action == "insert"]
    placed += [cell.move_step() for cell, expected, _ in made if cell.moved and None not in {expected, cell.target}]
    if orders is None or not placed:
        return steps + placed
    order = orders[1] if cells[0][0].undone else orders[0]
    place = {cell_id: at for at, cell_id in enumerate(order.ids)}
    absent = ({*gone} | {step.cell_id for step in steps if step.action == "delete"}) - {step.cell_id for step in placed}
    placed.sort(key=lambda step: place.get(step.cell_id, len(place)))
    return steps + [_in_place(step, order, place, absent) for step in placed]


def _in_place(step: CellStep, order: CellOrder, place: dict[str, int], absent: Collection[str]) -> CellStep:
    at = place.get(step.cell_id)
    if at is None:
        return step
    below = next((each for each in reversed(order.ids[:at]) if each not in absent), None)
    return msgspec.structs.replace(step, below=below, index=order.start + (at if below is not None else 0))
