"""The notebook's real cells as text for the agent: what ``@cell``, ``@cell:3`` and ``@cells`` attach of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.kernel.cell_names import cell_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.comm.notebook import Notebook, NotebookCell

LONGEST = 20_000
"""Characters of cells that one mention attaches; those far from the active cell are left out first."""


def cell_text(cell: NotebookCell) -> str:
    """One cell, as it reads now, without its outputs."""
    return _text(cell, {})


def all_text(notebook: Notebook, outputs: Mapping[int, str]) -> str:
    """Every cell, in the notebook's order."""
    return _bounded(notebook, outputs) or "(the notebook is empty)"


def _bounded(notebook: Notebook, outputs: Mapping[int, str]) -> str:
    active = notebook.active_cell
    centre = next((place for place, cell in enumerate(notebook.cells) if cell is active), len(notebook.cells))
    kept: dict[int, str] = {}
    left, skipped = LONGEST, 0
    for place, cell in sorted(enumerate(notebook.cells), key=lambda placed: abs(placed[0] - centre)):
        text = _text(cell, outputs)
        if left <= 0:
            skipped += 1
            continue
        kept[place] = text if len(text) <= left else f"{text[:left]}\n… (cut)"
        left -= len(text)
    pieces = [kept[place] for place in sorted(kept)]
    return "\n\n".join([*pieces, f"… ({skipped} cells left out)"] if skipped else pieces)


def _text(cell: NotebookCell, outputs: Mapping[int, str]) -> str:
    lines = [f"{cell_name(cell.kind, cell.count)}:", cell.source + ("\n… (cut)" if cell.cut else "")]
    if cell.count and (output := outputs.get(cell.count)):
        lines += [f"Out[{cell.count}]:", output]
    return "\n".join(lines)
