"""The notebook's own file, where an agent wrote it in its copy of the workspace: its cells are changes of cells.

The file itself is none of a try's: the page saves it, with the cells that are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.host.changes.open_notebook import cells_in
from agentnb.kernel.code_runner import NotebookCell
from agentnb.plugins.branches.notebook_copy import steps_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.kernel.code_runner import NotebookView
    from agentnb.plugins.branches.notebook_copy import NotebookCopy
    from agentnb.plugins.map.workspaces import WorkspaceChange

LEFT_OUT = "What it wrote to {} itself was left out: these cells could not be told apart, or the notebook has others."


class WrittenFile:
    """The file of *notebook* in the copy of the workspace *folder*."""

    def __init__(self, notebook: NotebookCopy | None, folder: Path) -> None:
        self._notebook = notebook
        path = "" if notebook is None else notebook.before.path or ""
        self._path = Path(path) if path and Path(path).is_relative_to(folder) else None
        self.name: str = "" if self._path is None else self._path.relative_to(folder).as_posix()
        self._shown = self._view()

    def take(self, changes: Sequence[WorkspaceChange]) -> tuple[tuple[WorkspaceChange, ...], str]:
        """Take its cells into the notebook; returns the other *changes*, and what was left out, in a sentence."""
        others = tuple(each for each in changes if each.path != self.name)
        if len(others) == len(changes) or self._notebook is None:
            return others, ""
        before, self._shown = self._shown, self._view()
        if before is None or self._shown is None:
            return others, LEFT_OUT.format(self.name)
        try:
            conflicts = self._notebook.change(steps_to(before, self._shown), exact=True)
        except UsageError:  # a cell beside it is gone
            return others, LEFT_OUT.format(self.name)
        return others, LEFT_OUT.format(self.name) if conflicts else ""

    def _view(self) -> NotebookView | None:
        """The notebook with the cells of the file as it is; None where they cannot be told apart."""
        if self._notebook is None or self._path is None:
            return None
        try:
            cells = cells_in(self._path.read_bytes())
        except OSError:
            return None
        if cells is None or any(not each.id for each in cells):
            return None
        own = (NotebookCell(id=each.id, kind=each.kind, source=each.source) for each in cells)
        return replace(self._notebook.before, cells=tuple(own))
