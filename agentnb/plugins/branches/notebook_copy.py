"""The notebook as a branch would leave it: a copy of its cells, which the kernel tools change instead of the page's.

A try does not own the file itself: the page saves it, with the cells that are kept.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.host.changes.open_notebook import cells_in
from agentnb.ids import new_id
from agentnb.kernel.code_runner import CellStep, Edited, NotebookCell, NotebookView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.kernel.code_runner import Edit
    from agentnb.plugins.map.workspaces import WorkspaceChange


class NotebookCopy:
    """A notebook that no page shows; usable from any thread."""

    def __init__(self, view: NotebookView) -> None:
        self.before = view
        self._cells = [*view.cells]
        self._outputs: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {}
        self._lock = threading.Lock()

    @property
    def view(self) -> NotebookView:
        """The current notebook; its cells can be changed although no page shows it."""
        with self._lock:
            return replace(self.before, cells=(*self._cells,), live=True, start=0, read_only=False)

    def as_json(self) -> dict[str, Any]:
        """The notebook without its outputs (nbformat 4.5)."""
        cells = [_as_json(each) for each in self.view.cells]
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}

    def edit(self, edit: Edit) -> Edited:
        """Insert a cell, or replace its text, if the notebook is as *edit* expects."""
        with self._lock:
            if edit.action == "insert":
                at = len(self._cells) if edit.cell_id is None else self._index(edit.cell_id) + 1
                cell = NotebookCell(id=new_id(), kind=edit.kind, source=edit.source)
                self._cells.insert(at, cell)
                return Edited(text=f"Inserted a cell (id {cell.id}).", cell_id=cell.id, index=at)
            at = self._index(edit.cell_id)
            cell = self._cells[at]
            if edit.expected is not None and edit.expected != cell.source:
                return Edited(text="", cell_id=cell.id, is_other=True, current=cell.source)
            self._cells[at] = replace(cell, source=edit.source, count=None)
            return Edited(
                text=f"Replaced the text of the cell (id {cell.id}).", cell_id=cell.id, index=at, before=cell.source
            )

    def change(self, steps: Sequence[CellStep], *, exact: bool) -> Mapping[str, str | None]:
        """Carry out all *steps*, or none; returns the cells that are not as the steps expect, each with its text."""
        with self._lock:
            before = [*self._cells]
            conflicts = {each.cell_id: now for each in steps if (now := self._conflict(each, exact=exact)) is not None}
            if conflicts:
                return {name: text or None for name, text in conflicts.items()}
            try:
                for each in steps:
                    self._do(each)
            except UsageError:
                self._cells = before
                raise
            return {}

    def ran(self, cell_id: str, count: int, output: str, outputs: tuple[dict[str, Any], ...]) -> None:
        """Note that a cell has run; *outputs* are in the format of a notebook file."""
        with self._lock:
            at = self._index(cell_id)
            self._cells[at] = replace(self._cells[at], count=count, output=output)
            self._outputs[cell_id] = (self._cells[at].source, outputs)

    def outputs_of(self, cell: CellStep) -> tuple[dict[str, Any], ...] | None:
        """Returns the outputs of a cell if it has run as it is in *cell*; otherwise None."""
        source, outputs = self._outputs.get(cell.cell_id, (None, ()))
        return outputs if source == cell.source else None

    def source(self, cell_id: str) -> str:
        with self._lock:
            return self._cells[self._index(cell_id)].source

    def _index(self, cell_id: str | None) -> int:
        for number, each in enumerate(self._cells):
            if each.id == cell_id:
                return number
        raise UsageError(f"There is no cell {cell_id!r}.", hint="`cells` lists the existing ones.")

    def _conflict(self, step: CellStep, *, exact: bool) -> str | None:
        if step.action == "insert" or step.expected is None:
            return None
        cell = next((each for each in self._cells if each.id == step.cell_id), None)
        if cell is None:
            return ""
        return None if cell.source == step.expected or not (exact or step.expected) else cell.source

    def _do(self, step: CellStep) -> None:
        if step.action == "insert":
            cell = NotebookCell(id=step.cell_id, kind=step.kind, source=step.source, tags=step.tags or ())
            self._cells.insert(self._place(step), cell)
            return
        at = self._index(step.cell_id)
        cell = self._cells[at]
        if step.action == "delete":
            del self._cells[at]
        elif step.action == "move":
            del self._cells[at]
            self._cells.insert(self._place(step), cell)
        elif step.action == "clear":
            self._cells[at] = replace(cell, count=None, output="")
        else:
            tags = cell.tags if step.tags is None else step.tags
            self._cells[at] = replace(cell, source=step.source, kind=step.new_kind or cell.kind, tags=tags)

    def _place(self, step: CellStep) -> int:
        return min(step.index, len(self._cells)) if step.below is None else self._index(step.below) + 1


def _insertion(cell: NotebookCell, above: str | None, at: int) -> CellStep:
    return CellStep(
        action="insert",
        cell_id=cell.id,
        kind=cell.kind,
        source=cell.source,
        tags=cell.tags or None,
        below=above,
        index=at,
    )


def _as_json(cell: NotebookCell) -> dict[str, Any]:
    fields: dict[str, Any] = {"outputs": [], "execution_count": None} if cell.kind == "code" else {}
    metadata = {"tags": [*cell.tags]} if cell.tags else {}
    return {"id": cell.id, "cell_type": cell.kind, "source": cell.source, "metadata": metadata, **fields}


def steps_to(before: NotebookView, after: NotebookView) -> list[CellStep]:
    """Returns the steps that turn *before* into *after*: deletions, then texts, then the order from the top."""
    old, new = ({each.id: each for each in view.cells} for view in (before, after))
    steps = [
        CellStep(action="delete", cell_id=each.id, expected=each.source) for each in before.cells if each.id not in new
    ]
    for cell_id in old.keys() & new.keys():
        was, now = old[cell_id], new[cell_id]
        if (was.source, was.kind, was.tags) != (now.source, now.kind, now.tags):
            steps.append(
                CellStep(
                    action="replace",
                    cell_id=cell_id,
                    kind=was.kind,
                    new_kind=now.kind if now.kind != was.kind else None,
                    source=now.source,
                    expected=was.source,
                    tags=now.tags if now.tags != was.tags else None,
                )
            )
    order = [each.id for each in before.cells if each.id in new]
    above: str | None = None
    for at, cell in enumerate(after.cells):
        if cell.id not in old:
            order.insert(at, cell.id)
            steps.append(_insertion(cell, above, at))
        elif order[at] != cell.id:
            order.remove(cell.id)
            order.insert(at, cell.id)
            steps.append(CellStep(action="move", cell_id=cell.id, expected=cell.source, below=above, index=at))
        above = cell.id
    return steps


LEFT_OUT = "What it wrote to {} itself was left out: these cells could not be told apart, or the notebook has others."


class WrittenFile:
    """The file of *notebook* in the copy of the workspace *folder*."""

    def __init__(self, notebook: NotebookCopy | None, folder: Path) -> None:
        self._notebook = notebook
        path = "" if notebook is None else notebook.before.path or ""
        self._path = Path(path) if path and Path(path).is_relative_to(folder) else None
        self.name: str = "" if self._path is None else self._path.relative_to(folder).as_posix()
        self._last_view = self._view()

    def take(self, changes: Sequence[WorkspaceChange]) -> tuple[tuple[WorkspaceChange, ...], str]:
        """Take the file's cells into the notebook; returns the other *changes*, and a sentence on what was left out."""
        others = tuple(each for each in changes if each.path != self.name)
        if len(others) == len(changes) or self._notebook is None:
            return others, ""
        before, self._last_view = self._last_view, self._view()
        if before is None or self._last_view is None:
            return others, LEFT_OUT.format(self.name)
        try:
            conflicts = self._notebook.change(steps_to(before, self._last_view), exact=True)
        except UsageError:  # a neighbouring cell is gone
            return others, LEFT_OUT.format(self.name)
        return others, LEFT_OUT.format(self.name) if conflicts else ""

    def _view(self) -> NotebookView | None:
        """Returns the notebook with the file's current cells; None if they cannot be told apart."""
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
