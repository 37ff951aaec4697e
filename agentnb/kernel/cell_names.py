"""How a notebook's cell is named for the user and for agents: as JupyterLab shows it, never by its position."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from agentnb.kernel.code_runner import NotebookCell, NotebookView

MOST_TAGS = 50
"""Tags of one cell."""
LONGEST_TAG = 100
MOST_CHARACTERS = 60
"""Characters of a cell's first line that a name shows."""
_NUMBER = re.compile(r"(?:In ?)?\[?(?P<number>\d{1,9})\]?", re.ASCII)


def cell_name(kind: str, count: int | None) -> str:
    if count:
        return f"In [{count}]"
    return "Code cell, not run" if kind == "code" else f"{kind.capitalize()} cell"


def cell_title(cell: NotebookCell) -> str:
    """The name of a cell and its first line, for the middle of a card's title."""
    kind, count, line = cell.kind, cell.count, first_line(cell.source)
    named = f"In [{count}]:" if count else "the cell" if kind == "code" else f"the {kind.capitalize()} cell"
    return f"{named} {line}" if line else named.removesuffix(":") + ("" if count else " that is empty")


def capitalized(text: str) -> str:
    """*text* with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def first_line(source: str) -> str:
    r"""The first line of *source* with words in it, cut and set as code; empty where there is none."""
    line = next((line.strip() for line in source.splitlines() if line.strip()), "")
    if len(line) > MOST_CHARACTERS:
        line = f"{line[: MOST_CHARACTERS - 1].rstrip()}…"
    return line if not line or "`" in line else f"`{line}`"


def number_in(named: str) -> int | None:
    """The number that *named* means: ``3``, ``[3]`` and ``In [3]`` are one; None where it is none."""
    match = _NUMBER.fullmatch(named.strip())
    return int(match["number"]) if match else None


def named_cell(named: str, notebook: NotebookView) -> NotebookCell:
    """The cell of *notebook* that an agent names."""
    number = number_in(named)
    cells = [each for each in notebook.cells if each.id and each.id == named]
    cells = cells or [each for each in notebook.cells if number is not None and each.count == number]
    if not cells:
        raise UsageError(
            f"The notebook has no cell {named!r}.", hint="`cells` lists them with their ids and their In [n]."
        )
    doubled = [each for each in notebook.cells if each.id and each.id == cells[0].id]
    if len(doubled) > 1:
        hint = "Ask the user to save the notebook, close it and open it again: then each cell has an id of its own."
        raise UsageError(f"{len(doubled)} cells of the notebook have the id {doubled[0].id!r}.", hint=hint)
    if len(cells) > 1:
        ids = " and ".join(each.id for each in cells)
        raise UsageError(f"{len(cells)} cells show In [{number}].", hint=f"Specify one by its id: {ids}.")
    return cells[0]
