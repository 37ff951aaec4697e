"""Explains why a run ended early if no cell's error does: a hang, too much memory, a kernel that died."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from agentnb.plugins.verify.result import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.verify.cell_facts import NotebookFacts
    from agentnb.plugins.verify.differences import DifferenceCauses
    from agentnb.plugins.verify.failures import Failure
    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.run import VerifiedRun


_KEY = re.compile(
    r"""^['"](?P<key>[^'"]+)['"]$|no attribute '(?P<attribute>\w+)'"""
    r"""|Column\w* not found: (?P<column>\w+)|"(?P<other>\w+)" not found"""
)
_READS_FILE = re.compile(r"\bopen\(|read_\w+\(|\bload\w*\(|scan_\w+\(|connect\(")


def otherwise_explained(
    failure: Failure, causes: DifferenceCauses, facts: NotebookFacts, cells: Sequence[Cell]
) -> Finding:
    """Returns the finding for a failure that the rest of the notebook explains; else that of the error itself."""
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
    """Explain the failure by a key or an attribute that only a cell below creates, or no cell."""
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
    if any(_READS_FILE.search(each.source) for each in facts.upstream(failure.cell)):
        return None  # the file may have contained it
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


_ENDS = re.compile(r"(?<![\w.])(?P<name>(?:os\.)?_exit|exit|quit|os\.abort|os\.kill|os\.killpg)(?=\s*\(|\s*(?:;|#|$))")


def run_end(run: VerifiedRun, cell: Cell | None, seconds: float) -> Finding | None:
    """Returns the finding for how *run* ended; None if it ended well, or by a cell's error."""
    place = None if cell is None else cell.place
    name = "The kernel" if cell is None else str(cell.place)
    if run.why in {"done", "failed"}:
        return None
    if run.why == "time" or (run.why == "" and "longer than" in run.error):
        cause = f"{name} was still running when the time was up ({seconds:g} s in all)."
        advice = "Allow more time (`seconds=`), or check whether it ever ends."
        return Finding(kind="time-limit", cell=place, cause=cause, evidence=run.detail, advice=advice)
    if run.why == "memory":
        cause = f"{name} took more memory than a verification allows: {run.detail}."
        return Finding(kind="memory", cell=place, cause=cause, advice="Use part of the data, or process it in chunks.")
    if run.why == "processes" or "processes" in run.error:
        cause, evidence = f"{name} started more processes than a verification allows.", run.detail or run.error
        return Finding(kind="processes", cell=place, cause=cause, evidence=evidence, advice="Start fewer at once.")
    if run.why == "no-kernel" or (run.why == "" and cell is None):
        return Finding(
            kind="no-kernel",
            cause="The notebook's kernel did not start.",
            evidence=run.detail[-600:],
            advice="Start it in Jupyter to see why; `agentnb doctor jupyter` checks the installation.",
        )
    lines = [] if cell is None else [each.strip() for each in cell.source.splitlines()]
    ending = next((each[:200] for each in lines if _ENDS.search(each)), "")
    advice = "Run the cell alone to see why it ends: a crash in a library, or too little memory."
    if run.why == "exit" or ending:
        advice = "Remove the line. To stop the run, raise an exception in a cell with the tag `raises-exception`."
    return Finding(
        kind="kernel-died",
        cell=place,
        cause=f"{name} ends the kernel{_how(run, ending)}: all variables are lost, and no cell below runs.",
        evidence="\n".join(filter(None, (ending or "".join(lines[:1])[:200], run.detail[-600:]))),
        advice=advice,
    )


def _how(run: VerifiedRun, ending: str) -> str:
    if call := _ENDS.search(ending):
        return f" with {call['name']}()"
    status = run.status or 0
    if status >= 0:
        return f" (exit code {status})" if run.status is not None else ""
    names = {each.value: each.name for each in signal.Signals}
    return f" ({names.get(-status, f'signal {-status}')})"
