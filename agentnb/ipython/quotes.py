"""Selected code that the user has added to a message: kept as it was, under a number, for ``@selection:2``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agentnb.comm.lab import current_notebook
from agentnb.kernel.cell_names import cell_name
from agentnb.kernel.content import fenced

if TYPE_CHECKING:
    from agentnb.comm.lab_messages import QuoteParams

MOST = 50
"""Selections that are remembered; the oldest are forgotten first."""
_ATTRIBUTE = "_agentnb_quotes"


class Quotes:
    """What the user has added to messages, in one shell. Usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._last = 0

    def add(self, params: QuoteParams) -> str:
        """Keep a selection."""
        notebook = current_notebook()
        cell = notebook.cell(params.cell_id) if notebook is not None else None
        named = f"{cell_name(cell.kind, cell.count)} (cell id {cell.id})" if cell is not None else "a cell"
        text = f"Selected in {named}:\n{fenced(params.text)}"
        with self._lock:
            if self._texts.get(self._last) != text:
                self._last += 1
                self._texts[self._last] = text
            while len(self._texts) > MOST:
                self._texts.popitem(last=False)
            return f"selection:{self._last}"

    def of(self, number: int) -> str | None:
        """The text of a selection; None where it is not kept."""
        with self._lock:
            return self._texts.get(number)


def quotes_of(shell: Any) -> Quotes:
    """What was added to messages in *shell*."""
    found: Quotes = shell.__dict__.setdefault(_ATTRIBUTE, Quotes())
    return found
