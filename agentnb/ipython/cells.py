"""The notebook's real cells as text for the agent, as attached by ``@cell``, ``@cell:3`` and ``@cells``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agentnb.kernel.cell_changes import cell_name
from agentnb.kernel.code_runner import NotebookCell
from agentnb.kernel.output_text import fenced
from agentnb.server.comm.lab import current_notebook
from agentnb.server.comm.notebook import PageNotebook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.server.lab_messages import QuoteParams

LONGEST = 20_000
"""Characters of cells that one mention attaches; those far from the active cell are left out first."""
MOST_QUOTES = 50
"""Selections that are remembered; the oldest are forgotten first."""
_ATTRIBUTE = "_agentnb_quotes"


def cells_run(shell: Any) -> list[str]:
    """The cells that *shell* has run, by execution count; index 0 is unused."""
    return list(shell.history_manager.input_hist_raw[: shell.execution_count])


def notebook_of_history(cells: Sequence[str]) -> PageNotebook:
    """The cells that were run, by execution count, as a notebook, for a kernel whose notebook no page shows."""
    executed = (
        NotebookCell(id="", kind="code", count=number, source=source[:LONGEST], cut=len(source) > LONGEST)
        for number, source in enumerate(cells[1:], 1)
    )
    return PageNotebook(path="", cells=tuple(executed))


def shown_notebook(shell: Any) -> PageNotebook:
    """The notebook as its page showed it last, else the cells that *shell* has run."""
    return current_notebook() or notebook_of_history(cells_run(shell))


def all_text(notebook: PageNotebook, outputs: Mapping[int, str]) -> str:
    active = notebook.active_cell
    centre = next((place for place, cell in enumerate(notebook.cells) if cell is active), len(notebook.cells))
    kept: dict[int, str] = {}
    left, skipped = LONGEST, 0
    for place, cell in sorted(enumerate(notebook.cells), key=lambda placed: abs(placed[0] - centre)):
        text = cell_text(cell, outputs)
        if left <= 0:
            skipped += 1
            continue
        kept[place] = text if len(text) <= left else f"{text[:left]}\n… (cut)"
        left -= len(text)
    pieces = [kept[place] for place in sorted(kept)]
    text = "\n\n".join([*pieces, f"… ({skipped} cells left out)"] if skipped else pieces)
    return text or ("(the notebook is empty)" if notebook.path else "(no cell has been run)")


def cell_text(cell: NotebookCell, outputs: Mapping[int, str]) -> str:
    lines = [f"{cell_name(cell.kind, cell.count)}:", cell.source + ("\n… (cut)" if cell.cut else "")]
    if cell.count and (output := outputs.get(cell.count)):
        lines += [f"Out[{cell.count}]:", output]
    return "\n".join(lines)


class Quotes:
    """The code that the user has added to messages, in one shell. Usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._last = 0

    def add(self, params: QuoteParams) -> str:
        notebook = current_notebook()
        cell = notebook.cell(params.cell_id) if notebook is not None else None
        named = f"{cell_name(cell.kind, cell.count)} (cell id {cell.id})" if cell is not None else "a cell"
        text = f"Selected in {named}:\n{fenced(params.text)}"
        with self._lock:
            if self._texts.get(self._last) != text:
                self._last += 1
                self._texts[self._last] = text
            while len(self._texts) > MOST_QUOTES:
                self._texts.popitem(last=False)
            return f"selection:{self._last}"

    def of(self, number: int) -> str | None:
        """The text of a selection; None if it is not kept."""
        with self._lock:
            return self._texts.get(number)


def quotes_of(shell: Any) -> Quotes:
    quotes: Quotes = shell.__dict__.setdefault(_ATTRIBUTE, Quotes())
    return quotes
