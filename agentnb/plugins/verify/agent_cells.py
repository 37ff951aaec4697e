"""Cells that ask agents: which are left out of a run, and what else depends on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentnb.plugins.verify.cell_names import cell_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.verify.notebook_text import Cell

_AGENT = re.compile(r"\s*%%?agents?\b")
_OUTPUT = re.compile(r"(?:^|\s)(?:-o|--output)[ =]+(?P<name>[^\W\d]\w*)")
_KERNEL = re.compile(r"^[ \t]*%%?agents?\b.*\s(?:-k|--kernel)\b|kernel_tools\s*=\s*True", re.MULTILINE)


class LeftOut(NamedTuple):
    """The cells that ask agents, which a run leaves out, and the cells that use names which those define.

    If it *changes_kernel*, an agent may have changed variables: cells below may give other results.
    """

    agents: tuple[Cell, ...] = ()
    needing: tuple[Cell, ...] = ()
    changes_kernel: bool = False

    def is_below(self, cell: Cell) -> bool:
        """True if the cell's result may depend on an agent that may change variables."""
        return self.changes_kernel and bool(self.agents) and cell.index > self.agents[0].index


def is_agent_cell(source: str) -> bool:
    return _AGENT.match(source) is not None


def agent_output(source: str) -> str:
    """Returns the name that a cell gives its agent turn, or '' if it gives none."""
    match = _OUTPUT.search(source.lstrip().partition("\n")[0]) if is_agent_cell(source) else None
    return match["name"] if match is not None else ""


def without_agents(cells: Sequence[Cell]) -> LeftOut:
    agents = tuple(each for each in cells if is_agent_cell(each.source))
    missing: set[str] = set()
    needing = []
    for cell in cells:
        if cell in agents:
            missing |= {agent_output(cell.source)} - {""}
            continue
        names = cell_names(cell.source)
        if names.used & missing:
            needing.append(cell)
            missing |= names.bound
        else:
            missing -= names.bound
    changes = any(_KERNEL.search(each.source) for each in cells)
    return LeftOut(agents, tuple(needing), changes)
