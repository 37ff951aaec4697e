"""Changes that an agent wrote to a notebook's file while it is open in a page."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.changes.model import path_to_json
from agentnb.clock import now_ms
from agentnb.host.changes.items import stored_content
from agentnb.kernel.cell_changes import CellRecord
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.changes.model import PathChange
    from agentnb.changes.store import ChangeStore
    from agentnb.host.changes.workspace_store import WorkspaceStore
    from agentnb.host.environment import Environment
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import NotebookCell, NotebookView


FORMAT = 4
MOST_CELLS = 1_000
"""Cells of a notebook that are searched for changes: a page reports no more."""
LONGEST_ID = 64
MOST_CHARACTERS = 2_000_000
"""Characters of all cells that are offered to a page."""
_RUN = frozenset({"source", "outputs", "execution_count"})
_KINDS = frozenset({"code", "markdown", "raw"})


class FileCell(NamedTuple):
    id: str
    kind: str
    source: str


def cells_in(content: bytes) -> tuple[FileCell, ...] | None:
    """The cells of a notebook's file; None if *content* is not a notebook with distinguishable cells."""
    try:
        notebook = read_json(content)
    except ValueError:  # also for invalid UTF-8
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) and notebook.get("nbformat") == FORMAT else None
    if not isinstance(cells, list) or len(cells) >= MOST_CELLS:
        return None
    file_cells = [_cell(each) for each in cells]
    known = [each for each in file_cells if each is not None]
    ids = {each.id for each in known}
    if len(known) < len(file_cells) or (len(ids) < len(known) and ids != {""}):
        return None
    return tuple(known)


def is_cells_only(before: bytes, after: bytes) -> bool:
    """True if a notebook's file gained only cells and their texts, and lost only those and outputs."""
    try:
        was, now = read_json(before), read_json(after)
    except ValueError:
        return False
    if not all(isinstance(each, dict) and isinstance(each.get("cells"), list) for each in (was, now)):
        return False
    if {**was, "cells": []} != {**now, "cells": []}:
        return False
    old = {str(cell.get("id")): cell for cell in was["cells"] if isinstance(cell, dict)}
    return all(isinstance(cell, dict) and _adds_text_only(old.get(str(cell.get("id"))), cell) for cell in now["cells"])


def _adds_text_only(old: dict[str, Any] | None, cell: dict[str, Any]) -> bool:
    outputs = cell.get("outputs")
    if outputs and outputs != (old or {}).get("outputs"):
        return False
    if old is None:
        return not cell.get("metadata") and cell.keys() <= _RUN | {"id", "cell_type", "metadata"}
    return _without_run(old) == _without_run(cell)


def _without_run(cell: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in cell.items() if name not in _RUN}


def _cell(cell: Any) -> FileCell | None:
    if not isinstance(cell, dict):
        return None
    cell_id, kind, source = cell.get("id", ""), cell.get("cell_type"), cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not all(isinstance(each, str) for each in (cell_id, kind, source)):
        return None
    return FileCell(cell_id, kind, source) if kind in _KINDS and len(cell_id) <= LONGEST_ID else None


def missing_in_page(
    notebook: str,
    before: Sequence[FileCell] | None,
    after: Sequence[FileCell] | None,
    page: Sequence[NotebookCell],
    hashes: tuple[str, str] | None = None,
) -> list[CellRecord] | None:
    """Returns what an agent changed in a notebook's file that the page with it open does not show."""
    after, before = _with_ids(after, page), _with_ids(before, page)
    if after is None or len(page) >= MOST_CELLS:
        return None
    page_cells = {cell.id: cell for cell in page}
    was = {cell.id: cell for cell in before} if before is not None else None
    if _is_moved(before, after, page):
        return None
    made = _Changes(notebook, page_cells, was, hashes)
    place = {cell.id: at for at, cell in enumerate(after)}
    for at, cell in enumerate(after):
        if (old := page_cells.get(cell.id)) is not None and old.kind != cell.kind:
            return None
        made.add(cell.id, cell.kind, cell.source, after[at - 1].id if at else None, at)
    for at, gone in enumerate(page):
        if gone.id not in place and was is not None and gone.id in was:
            made.add(gone.id, gone.kind, None, page[at - 1].id if at else None, at)
    characters = sum(len(each.before or "") + len(each.after or "") for each in made.records)
    return made.records if characters <= MOST_CHARACTERS else None


@dataclass
class _Changes:
    """Collects the changes of one notebook."""

    notebook: str
    page_cells: dict[str, NotebookCell]
    was: dict[str, FileCell] | None
    hashes: tuple[str, str] | None
    records: list[CellRecord] = field(default_factory=list)

    def add(self, cell_id: str, kind: str, source: str | None, below: str | None, index: int) -> None:
        """Note a change if *cell_id* has another *source* now (None: no such cell); it is below the cell *below*."""
        page_cell, was = self.page_cells.get(cell_id), None if self.was is None else self.was.get(cell_id)
        if was is not None:
            old_source: str | None = was.source
        else:
            old_source = None if page_cell is None or self.was is not None else page_cell.source
        is_shown = page_cell is not None and not page_cell.cut and page_cell.source == source
        if is_shown or source == old_source or (page_cell is not None and page_cell.cut and was is None):
            return
        self.records.append(
            CellRecord(
                cell_id=cell_id,
                notebook=self.notebook,
                kind=kind,
                before=old_source,
                after=source,
                count=None if page_cell is None else page_cell.count,
                below=below,
                index=index,
                undone=True,
                offered=True,
                from_file=True,
                file_hashes=self.hashes,
            )
        )


def _with_ids(cells: Sequence[FileCell] | None, page: Sequence[NotebookCell]) -> Sequence[FileCell] | None:
    """*cells*, with the page's ids if they have none and match in number and kind; None if they do not match."""
    if cells is None or not any(each.id == "" for each in cells):
        return cells
    if [each.kind for each in cells] != [each.kind for each in page]:
        return None
    return [cell._replace(id=page_cell.id) for cell, page_cell in zip(cells, page, strict=True)]


def _is_moved(before: Sequence[FileCell] | None, after: Sequence[FileCell], page: Sequence[NotebookCell]) -> bool:
    """True if the agent reordered the cells, or it is unknown who did."""
    now = [each.id for each in after]
    then = [each.id for each in (page if before is None else before)]
    return [each for each in then if each in {*now}] != [each for each in now if each in {*then}]


def notice(name: str, missing: Sequence[CellRecord] | None) -> str:
    sentence = f"The agent wrote {name} directly while it is open here."
    if missing is None:
        return f"{sentence} Reload it to see its cells, which cannot be applied one by one."
    if not missing:
        return f"{sentence} The text of its cells is already shown; reload it to see the rest."
    changes = "cell change" if len(missing) == 1 else f"{len(missing)} cell changes"
    return f"{sentence} Apply its {changes} to the notebook, or reload it."


_OLD_CELLS = "It is open in a page that still has the old cells."
_OLD_OUTPUTS = "It is open in a page that still has the old outputs and metadata."


class WrittenNotebook(NamedTuple):
    change: PathChange
    detail: str
    notice: str


def _missing_in_page(store: ChangeStore, change: PathChange, notebook: NotebookView) -> list[CellRecord] | None:
    """Like :func:`missing_in_page`, with the stored contents of the file; on the store's thread."""
    before, after = stored_content(store, change.before), stored_content(store, change.after)
    was, now = (None if each is None else cells_in(each) for each in (before, after))
    hashes = None
    if before is not None and after is not None and is_cells_only(before, after):
        hashes = (sha256(before).hexdigest(), sha256(after).hexdigest())
    return missing_in_page(notebook.name, was, now, notebook.cells, hashes)


async def written_notebook(
    environment: Environment,
    kernel: KernelChanges | None,
    turn_id: str,
    store: WorkspaceStore,
    changes: Sequence[PathChange],
) -> WrittenNotebook | None:
    """The notebook open in a page whose file the agent wrote, if any; its cells are offered to the page."""
    notebooks = [each for each in changes if each.after is not None and each.path.endswith(".ipynb")]
    if not notebooks or kernel is None or not environment.attached():
        return None
    notebook = kernel.open_notebook()
    path = None if notebook is None else notebook.path
    change = next((each for each in notebooks if str(store.workspace / each.path) == path), None)
    if notebook is None or path is None or change is None or _was_saved_since(environment, path):
        return None
    missing = await store.run(lambda opened: _missing_in_page(opened, change, notebook))
    kernel.offer(turn_id, missing or ())
    detail = _OLD_CELLS if missing is None or missing else _OLD_OUTPUTS
    return WrittenNotebook(change, detail, notice(path_to_json(change.path), missing))


def was_only_autosaved(environment: Environment, path: str, since: int, until: int) -> bool:
    """True if only JupyterLab wrote the file *path*: it asks the user if another program has written it."""
    return environment.was_autosaved(path, since, until) and _was_saved_since(environment, path)


def _was_saved_since(environment: Environment, path: str) -> bool:
    """True if the user saved the file *path* after it was written: then it is what the page shows."""
    try:
        written = os.stat(path).st_mtime_ns // 1_000_000  # noqa: PTH116 - as text
    except OSError:
        return True
    return environment.was_saved(path, written, now_ms())
