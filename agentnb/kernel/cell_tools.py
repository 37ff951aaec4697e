"""The tools that look at and change cells, in the tab of whoever calls them."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.kernel import content
from agentnb.kernel.cell_changes import capitalized, cell_title, named_cell
from agentnb.kernel.cell_plans import PLANS, check_locks, note_on_file, plan_cells, planned_cells
from agentnb.kernel.output_text import fenced
from agentnb.kernel.tools import PATIENCE_SECONDS, call_words
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolDiffContent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from agentnb.kernel.cell_plans import CellPlan
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, Edit, Edited, NotebookCell, NotebookView
    from agentnb.kernel.content import Result
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.state import ToolCallDetails, ToolCallRun

T = TypeVar("T")

Call = tuple[str, str]  # a tool and its arguments, as `PolicyRequest.call` has them

LOOK_SECONDS = 20.0  # seconds that reading the user's objects, or a notebook's file, may take
NO_PAGE = "No browser page shows the notebook."
OPEN_SIDEBAR = "Let the user open agentnb's sidebar beside the notebook."


@dataclass(frozen=True, kw_only=True)
class ToolEvents:
    """The callbacks by which the tools reach the host of their tab."""

    authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]]
    interrupted: Callable[[], object] = lambda: None
    finished: Callable[[Call, str | None, Collection[str] | None], object] = lambda _call, _failure, _names: None
    access: Callable[[], str] = lambda: "run"
    progressed: Callable[[Call, ToolCallRun], object] = lambda _call, _run: None
    takes_pictures: Callable[[], bool] = lambda: True
    show: Callable[[Call, ToolCallDetails], object] = lambda _call, _details: None


class ToolTab:
    def __init__(
        self, owner: str, runner: CodeRunner, job_queue: JobQueue, events: ToolEvents, changes: KernelChanges | None
    ) -> None:
        self.owner = owner
        self.runner = runner
        self.job_queue = job_queue
        self.events = events
        self.changes = changes
        self.authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]] = events.authorize
        self.patience = PATIENCE_SECONDS
        self.look_seconds = LOOK_SECONDS

    async def look(self, look: Callable[[], T]) -> T:
        """The result of *look*, called on the main thread because the user's objects need not be thread-safe."""
        work = self.runner.look(look)
        return await self.job_queue.run(work, self.owner, patience=self.patience, timeout=self.look_seconds)

    async def notebook(self, arguments: dict[str, Any], *, outputs: bool = False) -> NotebookView:
        """The notebook that a call names, else the one used last."""
        read = asyncio.to_thread(self.runner.notebook, outputs=outputs, named=arguments.get("notebook"))
        try:
            return await asyncio.wait_for(read, LOOK_SECONDS)
        except asyncio.TimeoutError:
            raise UsageError(f"Reading the notebook took more than {LOOK_SECONDS:g} s.") from None

    def watch(self, code: str, changed: Callable[[Sequence[NameChange]], object]) -> CodeWatch | None:
        """A watch for the agent's *code*; None if changes are not followed."""
        return None if self.changes is None else self.changes.watch(code, changed)


class CellTools:
    def __init__(self, tab: ToolTab) -> None:
        self._tab = tab
        self.read = ReadTexts()
        self.tools: dict[str, Callable[[dict[str, Any]], Awaitable[Result]]] = {
            "notebooks": self._notebooks,
            "cells": self._cells,
            **{name: functools.partial(self._change, name) for name in PLANS},
        }

    async def _notebooks(self, _arguments: dict[str, Any]) -> Result:
        await self._tab.authorize(PolicyRequest(kind="read", title="List the open notebooks"))
        return content.of_notebooks(await asyncio.to_thread(self._tab.runner.notebooks))

    async def _cells(self, arguments: dict[str, Any]) -> Result:
        notebook = await self._tab.notebook(arguments, outputs=arguments.get("outputs", False))
        await self._tab.authorize(PolicyRequest(kind="read", title="Read the notebook's cells", path=notebook.path))
        cells = notebook.cells
        first = cells.index(named_cell(arguments["first"], notebook)) if "first" in arguments else 0
        last = cells.index(named_cell(arguments["last"], notebook)) if "last" in arguments else len(cells) - 1
        if cells and first > last:
            raise UsageError("The last cell is above the first.", hint="`cells` without either shows their order.")
        chosen = cells[first : last + 1]
        for cell in chosen:
            if not cell.cut:
                self.read.note(notebook.name, cell.id, cell.source)
        return content.of_notebook(notebook, chosen)

    async def _change(self, name: str, arguments: dict[str, Any]) -> Result:
        """Insert, replace, move, delete, split or merge cells, or set their type or tags."""
        notebook = await self._tab.notebook(arguments)
        if name not in {"insert_cell", "replace_cell", "clear_outputs"}:
            notebook = await self._with_texts(name, arguments, notebook)
        cells = planned_cells(name, arguments, notebook)
        for cell in cells if name != "clear_outputs" else ():
            self._check_unchanged(notebook.name, cell)
        check_locks(name, cells)
        plan = plan_cells(name, arguments, notebook)
        if plan.edit is None and not notebook.live:
            raise UsageError(NO_PAGE, hint=OPEN_SIDEBAR)
        diff = ToolDiffContent(
            path=notebook.path or notebook.name, old_text=_lines(plan.before), new_text=_lines(plan.after)
        )
        request = PolicyRequest(
            kind="cell",
            title=f"{plan.title}{f' of {notebook.name}' if 'notebook' in arguments else ''}",
            path=notebook.path,
            preview=(diff,) if plan.edit is not None or plan.before != plan.after else None,
            call=call_words(name, arguments),
            cell=plan.cell if notebook.live else None,
        )
        await self._tab.authorize(request)
        plan = await self._performed(plan, notebook, cells)
        for record in plan.records:
            self.read.note(notebook.name, record.cell_id, record.after)
        if self._tab.changes is not None:
            self._tab.changes.cells_changed(plan.records, plan.orders(notebook))
        return content.text_result(plan.done + note_on_file(notebook))

    async def _performed(self, plan: CellPlan, notebook: NotebookView, cells: Sequence[NotebookCell]) -> CellPlan:
        """Let the page carry out *plan*; returns the plan with the page's answer."""
        if plan.edit is not None:
            return plan.performed(await self.edited(plan.edit, *cells))
        conflicts = await self._tab.runner.change_cells(notebook.name, plan.steps, exact=True)
        for cell in cells:
            if cell.id in conflicts:
                if conflicts[cell.id] is None:
                    raise UsageError("The cell is no longer in the notebook.", hint="Read it again with `cells`.")
                raise self._changed_meanwhile(notebook.name, cell, conflicts[cell.id])
        return plan

    async def edited(self, edit: Edit, cell: NotebookCell | None = None) -> Edited:
        """Let the page apply *edit* to *cell*, unless the cell's text has changed since."""
        done = await self._tab.runner.edit(edit)
        if done.is_other and cell is not None:
            raise self._changed_meanwhile(edit.notebook, cell, done.current)
        return done

    async def _with_texts(self, name: str, arguments: dict[str, Any], notebook: NotebookView) -> NotebookView:
        """*notebook* with the full text of the cells that the call changes."""
        if not notebook.live:
            raise UsageError(NO_PAGE, hint=OPEN_SIDEBAR)
        for cell in planned_cells(name, arguments, notebook):
            if cell.cut:
                text = await self._tab.runner.read_cell(notebook.name, cell.id)
                whole = replace(cell, source=text, cut=False)
                notebook = replace(notebook, cells=tuple(whole if each is cell else each for each in notebook.cells))
        return notebook

    def _check_unchanged(self, notebook: str, cell: NotebookCell) -> None:
        """Refuse to change a cell that the user has changed since the agent read its text."""
        known = self.read.text(notebook, cell.id)
        if known is None or (known.startswith(cell.source) if cell.cut else known == cell.source):
            return
        raise self._changed_meanwhile(notebook, cell, None if cell.cut else cell.source)

    def _changed_meanwhile(self, notebook: str, cell: NotebookCell, current: str | None) -> UsageError:
        """Returns the error that gives the agent the current text of *cell*, which then counts as read."""
        self.read.note(notebook, cell.id, current)
        message = capitalized(f"{cell_title(cell)} has changed since you read it, so nothing was done.")
        if current is None:
            return UsageError(message, hint="Read it again with `cells`.")
        return UsageError(f"{message} Its text is now:\n\n{fenced(current)}")


class ReadTexts:
    """The cells' texts as the agent last read them, by notebook, since a copy has cells with the same ids.

    The tools do not change a cell whose text has changed since.
    """

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def note(self, notebook: str, cell_id: str, text: str | None) -> None:
        """Note that the agent knows *text* of the cell; None means it no longer knows any."""
        known = self._texts.setdefault(notebook, {})
        known.pop(cell_id, None)
        if text is not None:
            known[cell_id] = text

    def text(self, notebook: str, cell_id: str) -> str | None:
        """The text that the agent knows of the cell; if *notebook* is unknown (perhaps renamed), from any notebook."""
        if (known := self._texts.get(notebook)) is not None:
            return known.get(cell_id)
        return next((each[cell_id] for each in reversed(self._texts.values()) if cell_id in each), None)


def _lines(text: str) -> str:
    """*text* with a line break at its end: without one the diff would show "no newline at end of file"."""
    return text if not text or text.endswith("\n") else f"{text}\n"
