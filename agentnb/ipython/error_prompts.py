"""The prompts about an error: what ``%agent fix``, ``%agent explain`` and the buttons on a failed cell send."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.ipython.cell_errors import errors_of
from agentnb.kernel.cell_names import cell_name

if TYPE_CHECKING:
    from agentnb.comm.lab_messages import FailedParams
    from agentnb.ipython.cell_errors import CellError

_COMMAND = re.compile(r"(?P<action>fix|explain)(?:[ \t]+@?(?:(?:error|cell):)?(?P<count>\d{1,9}))?[ \t]*(?:\n|\Z)")
_EDIT = "change the cell that causes it in the open notebook (not in its file), so that I can review the edit"
_SHOW = "show the whole corrected code of the cell"
_FIX = {
    True: f"Find the cause and {_EDIT}.",
    False: f"Find the cause and {_SHOW}.",
    None: f"Find the cause and {_EDIT}; if you have no tool for that, {_SHOW}.",
}
_ENDING = "Don't run it. Say briefly what was wrong."
_EXPLAIN = "Say what it means, what caused it here and how to avoid it. Don't change anything."


def error_prompt(action: str, error: CellError, *, edits: bool | None = None, words: str = "") -> str:
    """The prompt for an agent."""
    where = "" if error.count is None else f" in {cell_name('code', error.count)}"
    if action == "fix":
        text = f"Fix the error{where}: @{error.mention}\n\n{_FIX[edits]} {_ENDING}"
    else:
        text = f"Explain the error{where}: @{error.mention}\n\n{_EXPLAIN}"
    return f"{text}\n\n{words}" if words else text


def expanded(prompt: str, shell: Any, *, edits: bool) -> str:
    """*prompt*; where its first line is ``fix`` or ``explain`` alone (or with a cell's number), the prompt for that."""
    match = _COMMAND.match(prompt)
    if match is None:
        return prompt
    action, count = match["action"], match["count"]
    errors = errors_of(shell)
    error = errors.of(int(count)) if count else errors.last
    if error is None:
        what = f"Cell {count} has not failed" if count else "No cell has failed"
        hint = f"Run the cell whose error you mean, then `%agent {action}`. An ordinary prompt has more than that word."
        raise UsageError(f"{what} since agentnb was loaded in this kernel.", hint=hint)
    return error_prompt(action, error, edits=edits, words=prompt[match.end() :].strip())


def failed_prompt(shell: Any, params: FailedParams) -> str:
    """The prompt for the error that a page's output shows."""
    return error_prompt(params.action, errors_of(shell).told(params))
