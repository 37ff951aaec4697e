"""The change of a cell that a call of a kernel tool proposes, for a page that shows it in the cell itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.cell_names import named_cell
from agentnb.kernel.cell_plans import PLANS, plan_cells
from agentnb.state import ToolCallCell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.kernel.code_runner import NotebookView


def proposed_cell(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> ToolCallCell | None:
    """What the call of a kernel tool would do to a cell; None where it changes none, or the cell is not known."""
    if not notebook.live:
        return None
    try:
        if name in PLANS:
            return plan_cells(name, arguments, notebook).shown
        match name:
            case "insert_cell":
                below = named_cell(arguments["below"], notebook) if "below" in arguments else None
                return ToolCallCell(
                    notebook=notebook.name,
                    action="insert",
                    cell_id=below.cell_id if below is not None else None,
                    kind=arguments.get("cell_type", "code"),
                    new_text=arguments["source"],
                )
            case "replace_cell":
                cell = named_cell(arguments["cell"], notebook)
                return ToolCallCell(
                    notebook=notebook.name,
                    action="replace",
                    cell_id=cell.cell_id,
                    kind=cell.kind,
                    old_text=None if cell.cut else cell.source,
                    new_text=arguments["source"],
                )
    except UsageError:
        pass
    return None
