"""Finds the notebook's cell that code of the user stands in."""

from __future__ import annotations

import re
import sys
from typing import Any

from agentnb.comm.lab import current_notebook
from agentnb.kernel.error_summary import Place

_IN = re.compile(r"In ?\[(?P<count>\d+)\]")


def cell_place(file: str, shell: Any = None) -> Place | None:
    """The cell that IPython has compiled under a file name; None where it is none.

    Args:
        file: The file name, as a code object has it.
        shell: The IPython shell; the one that runs here by default.
    """
    if shell is None:
        get = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = get() if get is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    match = _IN.search(named[1]) if named else None
    if match is None:
        return None
    count = int(match["count"])
    notebook = current_notebook()
    cell = next((each for each in notebook.cells if each.count == count), None) if notebook is not None else None
    return Place(count, cell.id if cell else None)
