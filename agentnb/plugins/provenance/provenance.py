"""``agentnb.provenance``: who wrote which line of a notebook."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.api.history_rows import kernel_log, shell_log
from agentnb.errors import AgentnbError, UsageError
from agentnb.host.changes.location import are_off
from agentnb.host.environment import current_environment
from agentnb.plugin_registry import plugins
from agentnb.plugins.provenance.attribution import attributed
from agentnb.plugins.provenance.cell_metadata import cells_of, read_file
from agentnb.plugins.provenance.kept_turns import KeptTurns, WantedNotebook
from agentnb.plugins.provenance.line_ledger import is_blank, split_lines
from agentnb.plugins.provenance.result import Provenance

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from agentnb.api.history_rows import ThisLog
    from agentnb.host.changes.records import ConversationRecord
    from agentnb.plugins.provenance.cell_metadata import SavedCell
    from agentnb.ports import Request


_REQUEST = "verify/state"


def verified_at(path: Path) -> int | None:
    """Returns when it was verified, in milliseconds since 1970; None if it was not, or was changed since."""
    for plugin, request in plugins().offers("requests"):
        if request.name == _REQUEST:
            try:
                with plugins().guard(plugin.name, "requests"), ThreadPoolExecutor(1) as thread:
                    state = thread.submit(asyncio.run, _answer(request, path)).result()
            except AgentnbError:
                return None
            return state.time if state.ok and state.status == "ended" and not state.is_stale else None
    return None


async def _answer(request: Request, path: Path) -> Any:
    answer = request.answer(request.params(path=str(path)))
    return await answer if inspect.isawaitable(answer) else answer


_CHANGES_OFF = "Changes by agents are not tracked here (AGENTNB_CHANGES=off)."
_LOG_OFF = "The session log is off (AGENTNB_LOG=off): prompts are not known."
_kept = KeptTurns()


def provenance(notebook: str | os.PathLike[str] | None = None) -> Provenance:
    """Returns which lines of a notebook agents wrote, in which turn, and which cells you have edited since.

    It compares the notebook with the agents' turns that agentnb has saved on this machine. Lines keep their author if
    cells are split, merged, moved or copied. A cell's own metadata counts only if no saved turn wrote in the cell.

    Args:
        notebook: The notebook's file; the notebook of this kernel by default, as the page has it now.

    Returns:
        The cells that contain lines by agents; a table when displayed.

    Raises:
        UsageError: If there is no such file, or it is not a notebook.

    Example:
        >>> agentnb.provenance("analysis.ipynb")[0].is_edited  # doctest: +SKIP
        False
    """
    path = _own_path() if notebook is None else Path(notebook).expanduser().resolve()
    if path is None:
        message = "The name of this notebook is unknown."
        raise UsageError(message, hint='Specify its file: agentnb.provenance("analysis.ipynb").')
    cells = current_cells(path)
    is_kernel = current_environment().code_runner() is not None
    return provenance_of(cells, path, kernel_log() if is_kernel else shell_log(), verified=verified_at(path))


def current_cells(path: Path) -> tuple[SavedCell, ...]:
    """Returns the cells of the notebook *path*, including what its page has not saved."""
    saved = read_file(path)
    unsaved = current_environment().unsaved(str(path))
    return cells_of(saved if unsaved is None else unsaved.over(saved), path.name)


def provenance_of(
    cells: Sequence[SavedCell], path: Path | None, log: ThisLog | None, *, verified: int | None = None
) -> Provenance:
    """Returns who wrote *cells* of the notebook *path*, according to *log* and the records of changes."""
    wanted = WantedNotebook(frozenset(each.id for each in cells if each.id), path)
    turns = _kept.about(wanted, None if log is None else log.store, _open_here(log))
    attributions, named = attributed(cells, turns)
    notes = [*([_CHANGES_OFF] if are_off() else []), *([_LOG_OFF] if log is None else [log.note])]
    return Provenance(
        attributions,
        named,
        notebook="" if path is None else str(path),
        cell_count=len(cells),
        line_count=sum(not is_blank(line) for each in cells for line in split_lines(each.source)),
        verified=verified,
        note=" ".join(filter(None, notes)),
    )


def _open_here(log: ThisLog | None) -> list[ConversationRecord]:
    host = None if log is None else log.host
    if host is None:
        return []
    return host.loop.call(lambda: [each.changes.record for each in host.conversations.values()])


def _own_path() -> Path | None:
    runner = current_environment().code_runner()
    try:
        path = None if runner is None else runner.notebook(outputs=False).path
    except AgentnbError:
        return None
    return None if path is None else Path(path)
