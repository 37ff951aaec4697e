"""What an agent is told of cells that are locked, and of notebooks whose file can't be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import UsageError
from agentnb.kernel.cell_names import cell_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.kernel.code_runner import CellView, NotebookView


def check_locks(tool: str, cells: Sequence[CellView]) -> None:
    """Check that *tool* may change *cells*: those of ``merge_cells`` but the first are deleted, others edited.

    Moving a cell is always possible, as it is for the user.
    """
    if tool == "move_cell":
        return
    deleted = cells if tool == "delete_cell" else cells[1:]
    for cell in cells:
        is_deleted = any(cell is each for each in deleted)
        if cell.deletable if is_deleted else cell.editable:
            continue
        lock, can = ("deletable", "deleted") if is_deleted else ("editable", "edited")
        named = cell_title(cell.kind, cell.count, cell.source)
        raise UsageError(
            f"{named[0].upper()}{named[1:]} can't be {can}: its metadata has `{lock}: false`.",
            hint="Leave it as it is and insert a new cell instead, or ask the user to unlock it (JupyterLab: Property "
            "Inspector → Common Tools).",
        )


def note_on_file(notebook: NotebookView) -> str:
    """What to add to the answer of a tool that changed *notebook*; empty where its file can be written."""
    if not notebook.read_only:
        return ""
    return (
        f"\nThe file of {notebook.name} is read-only: the change is in the open page only, and can't be saved there. "
        "Tell the user to save the notebook under another name (File → Save Notebook As…)."
    )
