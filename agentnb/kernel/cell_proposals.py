"""The change of a cell that a call of a kernel tool proposes, for a page that shows it in the cell itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.cell_names import number_in
from agentnb.state import ToolCallCell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.kernel.code_runner import CellView, NotebookView


def named_cell(named: str, notebook: NotebookView) -> CellView:
    """The cell of *notebook* that an agent names.

    Args:
        named: Its id, or the n of its ``In [n]``.
        notebook: The notebook.

    Raises:
        UsageError: If there is none, or more than one.
    """
    number = number_in(named)
    found = [each for each in notebook.cells if each.cell_id and each.cell_id == named]
    found = found or [each for each in notebook.cells if number is not None and each.count == number]
    if not found:
        raise UsageError(
            f"The notebook has no cell {named!r}.", hint="`cells` lists them with their ids and their In [n]."
        )
    if len(found) > 1 and found[0].cell_id == found[1].cell_id:
        hint = "Cells with a number are named by that; others once the user has saved and reopened the notebook."
        raise UsageError(f"{len(found)} cells of the notebook have the id {found[0].cell_id!r}.", hint=hint)
    if len(found) > 1:
        ids = " and ".join(each.cell_id for each in found)
        raise UsageError(f"{len(found)} cells show In [{number}].", hint=f"Name one by its id: {ids}.")
    return found[0]


def proposed_cell(name: str, arguments: Mapping[str, Any], notebook: NotebookView) -> ToolCallCell | None:
    """What the call of a kernel tool would do to a cell; None where it changes none, or the cell is not known.

    Args:
        name: The tool.
        arguments: Its arguments, checked.
        notebook: The notebook as its page has it.

    Example:
        >>> from agentnb.kernel.code_runner import CellView, NotebookView
        >>> cell = CellView(cell_id="c", kind="code", source="1")
        >>> shown = NotebookView(name="a.ipynb", path=None, live=True, cells=(cell,))
        >>> proposed = proposed_cell("replace_cell", {"cell": "c", "source": "2"}, shown)
        >>> proposed.action, proposed.cell_id, proposed.old_text, proposed.new_text
        ('replace', 'c', '1', '2')
    """
    if not notebook.live:
        return None
    try:
        match name:
            case "insert_cell":
                below = named_cell(arguments["below"], notebook) if "below" in arguments else None
                return ToolCallCell(
                    notebook=notebook.name,
                    action="insert",
                    cell_id=below.cell_id if below is not None else None,
                    kind=arguments.get("kind", "code"),
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
