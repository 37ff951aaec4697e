"""Says why a cell failed that ran before: its error alone does not tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.verify.cell_facts import NotebookFacts
    from agentnb.plugins.verify.differences import DifferenceCauses
    from agentnb.plugins.verify.failures import Failure
    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.result import Finding

_KEY = re.compile(
    r"""^['"](?P<key>[^'"]+)['"]$|no attribute '(?P<attribute>\w+)'"""
    r"""|Column\w* not found: (?P<column>\w+)|"(?P<other>\w+)" not found"""
)


def otherwise_explained(
    failure: Failure, causes: DifferenceCauses, facts: NotebookFacts, cells: Sequence[Cell]
) -> Finding:
    """The finding for a failure, by what else is in the notebook; in the end, the error itself."""
    cell = failure.cell
    if not cell.has_run or cell.error_name == failure.name:
        return failure.finding(
            "error", f"{failure.name}.", "Fix the cell; if it is meant to fail, tag it `raises-exception`."
        )
    return (
        _by_key(failure, facts, cells)
        or _by_order(failure, causes, facts)
        or causes.by_input(failure)
        or failure.finding(
            "error", f"{failure.name}, although it worked when it was last run.", "Check what has changed since."
        )
    )


def _by_key(failure: Failure, facts: NotebookFacts, cells: Sequence[Cell]) -> Finding | None:
    """A key or an attribute that only a cell below makes, or none."""
    match = _KEY.search(failure.text)
    if failure.name not in {"KeyError", "AttributeError", "ColumnNotFoundError"} or match is None:
        return None
    key = next(each for each in match.groups() if each)
    makers = [each for each in cells if key in facts.of(each.source).stored_keys]
    below = [each for each in makers if each.index > failure.cell.index]
    if below and not any(each.index < failure.cell.index for each in makers):
        maker = below[0]
        return failure.cell.finding(
            "cell-order",
            f"uses {key!r}, which is made only below, in {maker.name}.",
            evidence=failure.evidence,
            advice=f"Move {maker.name} above.",
            related=[maker],
        )
    if makers or failure.name == "AttributeError":
        return None
    if any(key in text for each in cells if each is not failure.cell for text in facts.of(each.source).texts):
        return None
    if any(facts.reads_files(each) for each in facts.upstream(failure.cell)):
        return None  # a file may have had it
    why = f"no cell makes {key!r}: one that did was deleted or changed."
    return failure.finding("deleted-cell", why, "Restore it in a cell above.")


def _by_order(failure: Failure, causes: DifferenceCauses, facts: NotebookFacts) -> Finding | None:
    near = [failure.cell, *facts.upstream(failure.cell)]
    for twice, run in causes.trials(near):
        result = run.cells.get(failure.cell.index)
        if result is None or result.status != "ok":
            continue
        if twice is None:
            why = f"{failure.name}; run in the order of the cells' numbers, it does not fail."
            return failure.finding("cell-order", why, "Put the cells in the order in which they should run.")
        why = f"{failure.name}; with {twice.name} run twice, it does not fail."
        return failure.finding("run-twice", why, "Make the cell do everything in one run.")
    return None
