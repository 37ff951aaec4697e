"""What an agent wrote into the file of the notebook that a page has open, and who saved a file last."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from agentnb.changes.model import path_to_json
from agentnb.clock import now_ms
from agentnb.host.changes.items import stored_content
from agentnb.host.changes.open_notebook import cells_in, is_cells_only, missing_in_page, notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.changes.model import PathChange
    from agentnb.changes.store import ChangeStore
    from agentnb.host.changes.open_notebook import FileCell
    from agentnb.host.changes.workspace_store import WorkspaceStore
    from agentnb.host.environment import Environment
    from agentnb.kernel.changes import KernelChanges

_OLD_CELLS = "It is open in a page that still has the old cells."
_OLD_OUTPUTS = "It is open in a page that still has the old outputs and metadata."


class WrittenNotebook(NamedTuple):
    """The open notebook whose file the agent wrote."""

    change: PathChange
    detail: str
    notice: str


class _NotebookCells(NamedTuple):
    """The cells of a notebook's file before and after a change, where they are known."""

    before: tuple[FileCell, ...] | None
    after: tuple[FileCell, ...] | None
    hashes: tuple[str, str] | None

    @classmethod
    def of(cls, store: ChangeStore, change: PathChange) -> _NotebookCells:
        """Read what is stored; on the store's thread."""
        before, after = stored_content(store, change.before), stored_content(store, change.after)
        if before is None or after is None:
            return cls(
                before=None if before is None else cells_in(before),
                after=None if after is None else cells_in(after),
                hashes=None,
            )
        hashes = (sha256(before).hexdigest(), sha256(after).hexdigest()) if is_cells_only(before, after) else None
        return cls(cells_in(before), cells_in(after), hashes)


async def written_notebook(
    environment: Environment,
    kernel: KernelChanges | None,
    turn_id: str,
    store: WorkspaceStore,
    changes: Sequence[PathChange],
) -> WrittenNotebook | None:
    """The notebook that a page has open, if the agent wrote its file: its cells are offered to the page."""
    notebooks = [each for each in changes if each.after is not None and each.path.endswith(".ipynb")]
    if not notebooks or kernel is None or not environment.attached():
        return None
    shown = kernel.open_notebook()
    path = None if shown is None else shown.path
    change = next((each for each in notebooks if str(store.workspace / each.path) == path), None)
    if shown is None or path is None or change is None or _was_saved_since(environment, path):
        return None
    cells = await store.run(lambda opened: _NotebookCells.of(opened, change))
    missing = missing_in_page(shown.name, cells.before, cells.after, shown.cells, cells.hashes)
    kernel.offer(turn_id, missing or ())
    detail = _OLD_CELLS if missing is None or missing else _OLD_OUTPUTS
    return WrittenNotebook(change, detail, notice(path_to_json(change.path), missing))


def was_only_autosaved(environment: Environment, path: str, since: int, until: int) -> bool:
    """True if JupyterLab alone wrote the file *path*: it asks the user where another program had written it."""
    return environment.was_autosaved(path, since, until) and _was_saved_since(environment, path)


def _was_saved_since(environment: Environment, path: str) -> bool:
    """True if the user saved the file *path* when it had been written: then it is what the page shows."""
    try:
        written = os.stat(path).st_mtime_ns // 1_000_000  # noqa: PTH116 - as text
    except OSError:
        return True
    return environment.was_saved(path, written, now_ms())
