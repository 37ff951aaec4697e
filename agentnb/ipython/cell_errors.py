"""The errors of one shell's cells: what ``@error`` attaches, and what ``%agent fix`` and ``%agent explain`` send."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from agentnb.api.attachments import cell_place
from agentnb.credentials import Credentials, logger
from agentnb.errors import AgentnbError, UsageError
from agentnb.kernel.cell_changes import cell_name
from agentnb.kernel.error_summary import (
    LONGEST,
    LONGEST_CELL,
    LONGEST_MESSAGE,
    ErrorPlace,
    ErrorSummary,
    summarize_error,
)
from agentnb.kernel.output_text import cut, fenced, masked, without_colours
from agentnb.server.comm.lab import current_notebook

if TYPE_CHECKING:
    from logging import Logger

    from agentnb.kernel.code_runner import NotebookCell
    from agentnb.server.lab_messages import FailedParams

log: Logger = logger("agentnb.ipython")

MOST = 30
"""Errors that are remembered; the oldest are forgotten first."""
_ATTRIBUTE = "_agentnb_errors"
_NO_FAILURES = (AgentnbError, KeyboardInterrupt, SystemExit, asyncio.CancelledError)
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


class CellErrors:
    """The errors of one shell's cells. Usable from any thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._lock = threading.Lock()
        self._errors: list[ErrorSummary] = []

    @property
    def last(self) -> ErrorSummary | None:
        """The last error; None before anything has failed."""
        with self._lock:
            return self._errors[-1] if self._errors else None

    def of(self, count: int) -> ErrorSummary | None:
        with self._lock:
            return next((each for each in reversed(self._errors) if each.place.count == count), None)

    def remember(self, error: BaseException, count: int | None = None, cell_id: str | None = None) -> None:
        if issubclass(type(error), _NO_FAILURES):
            return
        failed = ErrorPlace(count, cell_id)
        try:
            summary = summarize_error(
                error,
                cell_of=lambda file: self._cell_of(file, failed),
                failed=failed if count else None,
                root=Path.cwd(),
                displayed=self._displayed(),
            )
        except Exception:  # noqa: BLE001 - the cell's own traceback is shown all the same
            log.warning("An error could not be summarized: %s", type(error).__name__)
            return
        self._add(replace(summary, place=failed))

    def error_in_output(self, params: FailedParams) -> ErrorSummary:
        """The error in a page's output, as remembered for that run, else as the page reports it; becomes the last."""
        with self._lock:
            known = next((each for each in reversed(self._errors) if _is_of(each, params)), None)
            if known is not None:
                self._errors.remove(known)
        error = known or _from_output(params)
        self._add(error)
        return error

    def _add(self, error: ErrorSummary) -> None:
        with self._lock:
            self._errors.append(error)
            del self._errors[:-MOST]

    def _cell_of(self, file: str, failed: ErrorPlace) -> ErrorPlace | None:
        """The cell that IPython has compiled under a file name."""
        place = cell_place(file, self._shell)
        return failed if place is not None and place.count == failed.count else place

    def _displayed(self) -> str | None:
        """The traceback that was just displayed: ipykernel keeps it for its reply."""
        lines = getattr(self._shell, "_last_traceback", None)
        return without_colours("\n".join(map(str, lines))) if lines else None


def text_of(error: ErrorSummary) -> str:
    """*error* as an agent gets it, with the present text of its cell where that has changed."""
    cell = _cell_of(error)
    if cell is None:
        return error.text
    now = cut(masked(cell.source, Credentials(os.environ)), LONGEST_CELL)
    if now.rstrip("\n") in error.text:
        return error.text
    return f"{error.text}\n\n{cell_name('code', error.place.count)} (cell id {cell.id}) as it reads now:\n{fenced(now)}"


def _cell_of(error: ErrorSummary) -> NotebookCell | None:
    """The cell that failed, as it reads now; if several have its id, the one with the same execution count."""
    notebook = current_notebook()
    if notebook is None or not error.place.cell_id:
        return None
    cells = [each for each in notebook.cells if each.id == error.place.cell_id]
    if len(cells) > 1:
        cells = [each for each in cells if each.count == error.place.count]
    return cells[0] if len(cells) == 1 else None


def errors_of(shell: Any) -> CellErrors:
    errors: CellErrors = shell.__dict__.setdefault(_ATTRIBUTE, CellErrors(shell))
    return errors


def _is_of(error: ErrorSummary, params: FailedParams) -> bool:
    is_same_run = params.count is None or error.place.count == params.count
    return is_same_run and (error.place.cell_id, error.name) == (params.cell_id, params.name)


def _from_output(params: FailedParams) -> ErrorSummary:
    credentials = Credentials(os.environ)
    place = f"{cell_name('code', params.count)} (cell id {params.cell_id})"
    name, message = params.name[:100], cut(masked(params.message, credentials), LONGEST_MESSAGE)
    traceback = cut(masked(without_colours(params.traceback), credentials), LONGEST - 2 * LONGEST_MESSAGE)
    lines = [
        f"{name}: {message}" if message else name,
        f"The cell that failed: {place}.",
        "",
        "The traceback in its output; the values of the variables are not known, the kernel did not see the error:",
        fenced(traceback),
    ]
    return ErrorSummary(name, message, "\n".join(lines), ErrorPlace(params.count, params.cell_id))


class ErrorPrompt(NamedTuple):
    """A user's words about an error, and the instructions for the agent, which the chat folds."""

    text: str
    instructions: str = ""


def error_prompt(action: str, error: ErrorSummary, *, edits: bool | None = None, words: str = "") -> ErrorPrompt:
    """The prompt for an agent; *words* are the user's own."""
    where = "" if error.place.count is None else f" in {cell_name('code', error.place.count)}"
    does, todo = ("Fix", f"{_FIX[edits]} {_ENDING}") if action == "fix" else ("Explain", _EXPLAIN)
    text = f"{does} the error{where}: @{error.mention}"
    return ErrorPrompt(f"{text}\n\n{words}" if words else text, todo)


def expanded(prompt: str, shell: Any, *, edits: bool) -> ErrorPrompt:
    """*prompt*; if it begins with a line that is only ``fix`` or ``explain`` (and a number), the prompt for that."""
    match = _COMMAND.match(prompt)
    if match is None:
        return ErrorPrompt(prompt)
    action, count = match["action"], match["count"]
    errors = errors_of(shell)
    error = errors.of(int(count)) if count else errors.last
    if error is None:
        what = f"Cell {count} has not failed" if count else "No cell has failed"
        hint = (
            f"Run the cell with the error first, then `%agent {action}`. To send an ordinary prompt, add more "
            "than that word."
        )
        raise UsageError(f"{what} since agentnb was loaded in this kernel.", hint=hint)
    return error_prompt(action, error, edits=edits, words=prompt[match.end() :].strip())


def failed_prompt(shell: Any, params: FailedParams) -> str:
    """The prompt for the error that a page's output shows; its first paragraph is the user's."""
    return "\n\n".join(error_prompt(params.action, errors_of(shell).error_in_output(params)))
