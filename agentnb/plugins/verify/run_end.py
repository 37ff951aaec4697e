"""Says why a run ended early, where no cell says it: a hang, too much memory, a kernel that died."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from agentnb.plugins.verify.result import Finding

_ENDS = re.compile(r"(?<![\w.])(?P<name>(?:os\.)?_exit|exit|quit|os\.abort|os\.kill|os\.killpg)(?=\s*\(|\s*(?:;|#|$))")

if TYPE_CHECKING:
    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.run import VerifiedRun


def run_end(run: VerifiedRun, cell: Cell | None, seconds: float) -> Finding | None:
    """The finding for how *run* ended; None where it ended well, or by a cell's error."""
    place = None if cell is None else cell.place
    name = "The kernel" if cell is None else str(cell.place)
    if run.why in {"done", "failed"}:
        return None
    if run.why == "time" or (run.why == "" and "longer than" in run.error):
        return Finding(
            kind="time-limit",
            cell=place,
            cause=f"{name} was still running when the time was up ({seconds:g} s in all).",
            evidence=run.detail,
            advice="Allow more time (`seconds=`), or check whether it ever ends.",
        )
    if run.why == "memory":
        cause = f"{name} took more memory than a verification allows: {run.detail}."
        return Finding(kind="memory", cell=place, cause=cause, advice="Use part of the data, or process it in chunks.")
    if run.why == "processes" or "processes" in run.error:
        return Finding(
            kind="processes",
            cell=place,
            cause=f"{name} started more processes than a verification allows.",
            evidence=run.detail or run.error,
            advice="Start fewer at once.",
        )
    if run.why == "no-kernel" or (run.why == "" and cell is None):
        return Finding(
            kind="no-kernel",
            cause="The notebook's kernel did not start.",
            evidence=run.detail[-600:],
            advice="Start it in Jupyter to see why; `agentnb doctor jupyter` checks the installation.",
        )
    ending = _ending_line(cell)
    advice = "Run the cell alone to see why it ends: a crash in a library, or too little memory."
    if run.why == "exit" or ending:
        advice = "Remove the line. To stop the run, raise an exception in a cell with the tag `raises-exception`."
    return Finding(
        kind="kernel-died",
        cell=place,
        cause=f"{name} ends the kernel{_how(run, ending)}: all variables are lost, and no cell below runs.",
        evidence="\n".join(filter(None, (ending or _first_line(cell), run.detail[-600:]))),
        advice=advice,
    )


def _first_line(cell: Cell | None) -> str:
    return next((each.strip()[:200] for each in cell.source.splitlines()), "") if cell is not None else ""


def _ending_line(cell: Cell | None) -> str:
    """The line of the cell that ends its process; empty where none is seen."""
    lines = cell.source.splitlines() if cell is not None else ()
    return next((each.strip()[:200] for each in lines if _ENDS.search(each)), "")


def _how(run: VerifiedRun, ending: str) -> str:
    if call := _ENDS.search(ending):
        return f" with {call['name']}()"
    status = run.status or 0
    if status >= 0:
        return f" (exit code {status})" if run.status is not None else ""
    names = {each.value: each.name for each in signal.Signals}
    return f" ({names.get(-status, f'signal {-status}')})"
