"""Carries out the calls of the kernel tools. Every tool asks the policy before it does anything."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import fnmatch
import functools
import os
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from agentnb.cassette.mcp import CHANGED
from agentnb.clock import now_ms
from agentnb.credentials import Credentials, is_secret_name
from agentnb.errors import AgentnbError, UsageError
from agentnb.kernel import content
from agentnb.kernel.cell_changes import CellRecord, order_of
from agentnb.kernel.cell_names import cell_title, named_cell
from agentnb.kernel.cell_plans import (
    PLANS,
    ReadTexts,
    check_locks,
    note_on_file,
    plan_cells,
    planned_cells,
    proposed_cell,
)
from agentnb.kernel.code_runner import CellStep, Edit
from agentnb.kernel.tools import (
    PATIENCE_SECONDS,
    TURN_IS_OVER,
    call_offer,
    call_words,
    checked,
    demand_access,
    offered_tools,
)
from agentnb.kernel.value_text import fenced
from agentnb.kernel.variable_path import last_name
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolCallDetails, ToolCallRun, ToolDiffContent, ToolTextContent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    from agentnb.kernel.cell_changes import CellOrder
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CellView, CodeRunner, CodeWatch, CodeWork, Edited, NotebookView
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variable_changes import NameChange
    from agentnb.ports import Tool, ToolSession

    Result = dict[str, Any]

T = TypeVar("T")

Call = tuple[str, str]
"""A tool and its arguments, as ``PolicyRequest.call`` has them."""

LOOK_SECONDS = 20.0
"""How long reading the user's objects, or a notebook's file, may take."""
PROGRESS_SECONDS = 0.5
"""How long code runs before its progress is told, and how long at least between two times."""
LONGEST_PROGRESS = 4_000
"""Characters of the end of what a cell has printed that are told while it runs."""
_NAMES = "agentnb/names"
"""Where a result says what became of variables; it goes no further than this module."""
PROGRESS_SHARE = 0.1
"""How much of the time that code has run goes by between two times: long code is told about less often."""


class ToolRunner:
    """Runs the tools of one tab."""

    def __init__(
        self,
        owner: str,
        runner: CodeRunner,
        authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]],
        interrupted: Callable[[], object],
        job_queue: JobQueue,
        *,
        finished: Callable[[Call, str | None, Collection[str] | None], object] = lambda _call, _failure, _names: None,
        changes: KernelChanges | None = None,
        access: Callable[[], str] = lambda: "run",
        progressed: Callable[[Call, ToolCallRun], object] = lambda _call, _run: None,
        takes_pictures: Callable[[], bool] = lambda: True,
        session: ToolSession,
        show: Callable[[Call, ToolCallDetails], object] = lambda _call, _details: None,
    ) -> None:
        self._owner = owner
        self._runner = runner
        self._authorize = authorize
        self._interrupted = interrupted
        self._job_queue = job_queue
        self._finished = finished
        self._changes = changes
        self._access = access
        self._progressed = progressed
        self._takes_pictures = takes_pictures
        self._stops: list[tuple[Call, Callable[[], bool]]] = []
        self.patience = PATIENCE_SECONDS
        self.look_seconds = LOOK_SECONDS
        self._doing: set[asyncio.Task[Result]] = set()
        self._read = ReadTexts()
        self._session = session
        self._show = show
        self._tools: dict[str, Callable[[dict[str, Any]], Awaitable[Result]]] = {
            "variables": self._variables,
            "inspect": self._inspect,
            "run_code": self._run_code,
            "notebooks": self._notebooks,
            "cells": self._cells,
            "insert_cell": self._insert_cell,
            "replace_cell": self._replace_cell,
            "run_cell": self._run_cell,
            **{name: functools.partial(self._change_cells, name) for name in PLANS},
            **{name: functools.partial(self._call_offer, *offer) for name, offer in offered_tools().items()},
        }

    async def call(self, name: str, arguments: Any) -> Result:
        """Run the tool *name*. A failure is a result with ``isError`` (MCP ``CallToolResult``), not an exception."""
        task = asyncio.ensure_future(self._done(name, arguments))
        self._doing.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._doing.discard(task)
        return content.said(TURN_IS_OVER, failed=True) if task.cancelled() else task.result()

    def stop(self, call: Call) -> bool:
        """Stop the code that *call* runs, and nothing else; False where it runs none, or its cell has not begun."""
        return next((stop() for each, stop in self._stops if each == call), False)

    def cancel(self) -> None:
        """Stop the calls that are still running: the turn is over."""
        for task in self._doing:
            task.cancel()

    async def _done(self, name: str, arguments: Any) -> Result:
        failure: str | None = TURN_IS_OVER
        names: Collection[str] | None = None
        try:
            given = checked(name, arguments)
            demand_access(name, self._access())
        except AgentnbError as error:
            return content.said(str(error), failed=True)
        try:
            result = await self._tools[name](given)
            failure = content.failure_of(result)
            names = result.pop(_NAMES, None)
        except AgentnbError as error:
            failure = str(error)
            return content.said(failure, failed=True)
        else:
            return content.for_agent(result, takes_pictures=self._takes_pictures())
        finally:
            self._finished(call_words(name, given), failure, names)

    async def _variables(self, given: dict[str, Any]) -> Result:
        await self._authorize(PolicyRequest(kind="read", title="List the kernel's variables"))
        found = await self._looked(self._runner.variables)
        wanted = given.get("filter", "")
        if len(wanted) > LONGEST_PATTERN:
            raise UsageError(f"'filter' has {len(wanted):,} characters; at most {LONGEST_PATTERN:,} are read.")
        pattern = wanted if any(sign in wanted for sign in "*?[") else f"*{wanted}*"
        fitting = [each for each in found if fnmatch.fnmatchcase(each.name.lower(), pattern.lower())]
        return content.of_variables(fitting, len(found))

    async def _inspect(self, given: dict[str, Any]) -> Result:
        path = given["path"]
        name = last_name(path)
        await self._authorize(PolicyRequest(kind="read", title=f"Look at the variable {path.strip()}"))
        if is_secret_name(name):
            return content.said(f"{path.strip()}: the value is not shown because the name looks like a secret's.")
        return content.said(await self._looked(lambda: self._runner.inspect(path)))

    async def _run_code(self, given: dict[str, Any]) -> Result:
        code = given["code"]
        if not code.strip():
            raise UsageError("The argument 'code' is empty.")
        request = await self._authorize(
            PolicyRequest(
                kind="kernel", title="Run code in the kernel", command=code, call=call_words("run_code", given)
            )
        )
        changed: list[NameChange] = []
        watch = self._changes.watch(changed.extend) if self._changes is not None else None
        work = self._runner.work(request.command or code, watch)
        patience = given.get("wait", PATIENCE_SECONDS)

        def stop() -> bool:
            self._job_queue.stop(work)
            return True

        async with self._running(call_words("run_code", given), work, stop) as ended:
            ran = await self._job_queue.run(work, self._owner, patience=patience, timeout=given.get("timeout"))
            result = ended(content.of_run(ran))
        if ran.stopped == "user":
            self._interrupted()
        names = sorted(change.description for change in changed)
        return result | {"_meta": {CHANGED: names}, _NAMES: None if watch is None else names}

    @contextlib.asynccontextmanager
    async def _running(
        self, call: Call, work: CodeWork | _CellRun, stop: Callable[[], bool]
    ) -> AsyncIterator[Callable[[Result], Result]]:
        """While *call* runs code it can be stopped, and its progress is told; give the result to the value."""

        def ended(result: Result) -> Result:
            begun = work.started_at
            if begun is not None:
                shown = content.shown_on_card(result)
                self._progressed(call, ToolCallRun(started_at=begun, ended_at=max(begun, now_ms()), content=shown))
            return result

        entry = (call, stop)
        self._stops.append(entry)
        following = asyncio.ensure_future(self._follow(call, work))
        try:
            yield ended
        finally:
            following.cancel()
            self._stops.remove(entry)

    async def _follow(self, call: Call, work: CodeWork | _CellRun) -> None:
        """Tell how the code stands, again and again, where that is other than before."""
        told: tuple[int, str] | None = None
        seconds = PROGRESS_SECONDS
        while True:
            await asyncio.sleep(seconds)
            if (begun := work.started_at) is None:
                continue
            seconds = max(PROGRESS_SECONDS, PROGRESS_SHARE * (now_ms() - begun) / 1000)
            printed = Credentials(os.environ).hidden(work.printed)
            if told != (begun, printed):
                told = begun, printed
                shown = (ToolTextContent(text=printed),) if printed else ()
                self._progressed(call, ToolCallRun(started_at=begun, content=shown))

    async def _notebooks(self, _given: dict[str, Any]) -> Result:
        await self._authorize(PolicyRequest(kind="read", title="List the open notebooks"))
        return content.of_notebooks(await asyncio.to_thread(self._runner.notebooks))

    async def _cells(self, given: dict[str, Any]) -> Result:
        notebook = await self._notebook(given, outputs=given.get("outputs", False))
        await self._authorize(PolicyRequest(kind="read", title="Read the notebook's cells", path=notebook.path))
        cells = notebook.cells
        first = cells.index(named_cell(given["first"], notebook)) if "first" in given else 0
        last = cells.index(named_cell(given["last"], notebook)) if "last" in given else len(cells) - 1
        if cells and first > last:
            raise UsageError("The last cell comes before the first.", hint="`cells` without either shows their order.")
        shown = cells[first : last + 1]
        for cell in shown:
            if not cell.cut:
                self._read.note(notebook.name, cell.cell_id, cell.source)
        return content.of_notebook(notebook, shown)

    async def _call_offer(self, plugin: str, tool: Tool, given: dict[str, Any]) -> Result:
        """Call the tool of a plug-in."""
        show = functools.partial(self._show, call_words(tool.name, given))
        return await call_offer(plugin, tool, dataclasses.replace(self._session, show=show), given)

    async def _insert_cell(self, given: dict[str, Any]) -> Result:
        notebook = await self._notebook(given)
        below = named_cell(given["below"], notebook) if "below" in given else None
        where = f"below {_title(below)}" if below is not None else "at the end"
        call = call_words("insert_cell", given)
        await self._change(notebook, f"Insert a cell {where}{_of(notebook, given)}", call, given)
        edit = Edit(
            action="insert",
            cell_id=below.cell_id if below is not None else None,
            source=given["source"],
            kind=given.get("cell_type", "code"),
            notebook=notebook.name,
        )
        done = await self._runner.edit(edit)
        self._read.note(notebook.name, done.cell_id, edit.source)
        above = below or (notebook.cells[-1] if notebook.cells else None)
        record = CellRecord(
            cell_id=done.cell_id,
            notebook=notebook.name,
            kind=edit.kind,
            before=None,
            after=edit.source,
            below=above.cell_id if above is not None else None,
            index=done.index,
        )
        step = CellStep(action="insert", cell_id=record.cell_id, below=record.below, index=record.index)
        self._changed(record, orders=(order_of(notebook), order_of(notebook).after([step])))
        return content.said(done.text + note_on_file(notebook))

    async def _replace_cell(self, given: dict[str, Any]) -> Result:
        notebook = await self._notebook(given)
        cell = named_cell(given["cell"], notebook)
        self._check_unchanged(notebook.name, cell)
        check_locks("replace_cell", [cell])
        call = call_words("replace_cell", given)
        title = f"Replace {_title(cell)}{_of(notebook, given)}"
        await self._change(notebook, title, call, given, before=cell.source)
        edit = Edit(
            action="replace",
            cell_id=cell.cell_id,
            source=given["source"],
            expected=cell.source,
            expected_is_cut=cell.cut,
            notebook=notebook.name,
        )
        done = await self._edited(edit, cell)
        self._read.note(notebook.name, cell.cell_id, given["source"])
        self._changed(
            CellRecord(
                cell_id=cell.cell_id,
                notebook=notebook.name,
                kind=cell.kind,
                before=cell.source if done.before is None else done.before,
                after=given["source"],
                is_known=done.before is not None or not cell.cut,
                count=cell.count,
                index=done.index,
            )
        )
        return content.said(done.text + note_on_file(notebook))

    async def _change_cells(self, name: str, given: dict[str, Any]) -> Result:
        """Move, delete, split or merge cells, or set their type or tags."""
        notebook = await self._notebook(given)
        if not notebook.live:
            hint = "Let the user open agentnb's sidebar beside the notebook."
            raise UsageError("No browser page shows the notebook.", hint=hint)
        for cell in planned_cells(name, given, notebook):
            if cell.cut:
                notebook = await self._with_text_of(cell, notebook)
        cells = planned_cells(name, given, notebook)
        for cell in cells:
            self._check_unchanged(notebook.name, cell)
        check_locks(name, cells)
        plan = plan_cells(name, given, notebook)
        diff = ToolDiffContent(
            path=notebook.path or notebook.name, old_text=_lines(plan.before), new_text=_lines(plan.after)
        )
        request = PolicyRequest(
            kind="cell",
            title=f"{plan.title}{_of(notebook, given)}",
            path=notebook.path,
            preview=(diff,) if plan.before != plan.after else None,
            call=call_words(name, given),
            cell=plan.shown,
        )
        await self._authorize(request)
        other = await self._runner.change_cells(notebook.name, plan.steps, exact=True)
        for cell in cells:
            if cell.cell_id in other:
                current = other[cell.cell_id]
                if current is None:
                    raise UsageError("The cell is no longer in the notebook.", hint="Read it again with `cells`.")
                raise self._other(notebook.name, cell, current)
        for record in plan.records:
            self._read.note(notebook.name, record.cell_id, record.after)
        self._changed(*plan.records, orders=plan.orders)
        return content.said(plan.done + note_on_file(notebook))

    async def _with_text_of(self, cell: CellView, notebook: NotebookView) -> NotebookView:
        """*notebook* with all of the text of *cell*, of which the page told only the beginning."""
        text = await self._runner.read_cell(notebook.name, cell.cell_id)
        whole = replace(cell, source=text, cut=False)
        return replace(notebook, cells=tuple(whole if each is cell else each for each in notebook.cells))

    async def _run_cell(self, given: dict[str, Any]) -> Result:
        notebook = await self._notebook(given)
        cell = named_cell(given["cell"], notebook)
        if cell.kind != "code" or cell.cut:
            why = "is not a code cell" if cell.kind != "code" else "is too long to be shown whole"
            raise UsageError(f"The cell {given['cell']!r} {why}.", hint="run_code runs code of your own.")
        edit = Edit(action="run", cell_id=cell.cell_id, source=cell.source, notebook=notebook.name)
        if not notebook.live:
            await self._runner.edit(edit)  # says what to do
        call = call_words("run_cell", given)
        await self._authorize(
            PolicyRequest(
                kind="kernel", title=f"Run {_title(cell)}{_of(notebook, given)}", command=cell.source, call=call
            )
        )
        return await self._ran(edit, cell, call)

    async def _change(
        self, notebook: NotebookView, title: str, call: tuple[str, str], given: dict[str, Any], *, before: str = ""
    ) -> None:
        # A cell's text has no line break at its end; without one the diff would show "no newline at end of file".
        diff = ToolDiffContent(
            path=notebook.path or notebook.name, old_text=_lines(before), new_text=_lines(given["source"])
        )
        cell = proposed_cell(call[0], given, notebook)
        await self._authorize(
            PolicyRequest(kind="cell", title=title, path=notebook.path, preview=(diff,), call=call, cell=cell)
        )

    def _check_unchanged(self, notebook: str, cell: CellView) -> None:
        """Refuse to change a cell that the user has changed since the agent was given its text."""
        known = self._read.text(notebook, cell.cell_id)
        if known is None or (known.startswith(cell.source) if cell.cut else known == cell.source):
            return
        raise self._other(notebook, cell, None if cell.cut else cell.source)

    async def _edited(self, edit: Edit, cell: CellView) -> Edited:
        """Let the page do *edit* to *cell*, unless that has another text by now."""
        done = await self._runner.edit(edit)
        if done.is_other:
            raise self._other(edit.notebook, cell, done.current)
        return done

    def _other(self, notebook: str, cell: CellView, current: str | None) -> UsageError:
        """Says that *cell* is other than the agent knows it, and gives its text, which the agent knows from then on."""
        self._read.note(notebook, cell.cell_id, current)
        message = f"{_title(cell)} has changed since you read it, so nothing was done."
        message = message[0].upper() + message[1:]
        if current is None:
            return UsageError(message, hint="Read it again with `cells`.")
        return UsageError(f"{message} Its text is now:\n\n{fenced(current)}")

    async def _ran(self, edit: Edit, cell: CellView, call: Call) -> Result:
        cell_id, late = edit.cell_id or "", self._job_queue.has_waiter
        changed: list[NameChange] = []
        watch = _CellRun(None if self._changes is None else self._changes.watch(changed.extend))
        unwatch = self._runner.namespace.watch_cell(cell_id, edit.source, watch, late=late)
        was_stopped = False

        def stop() -> bool:
            nonlocal was_stopped
            was_stopped = self._runner.namespace.stop_cell(cell_id) or was_stopped
            return was_stopped

        try:
            async with self._running(call, watch, stop) as ended:
                done = await self._edited(edit, cell)
                result = ended(content.of_cell(done, stopped=was_stopped and done.raised))
        except BaseException:
            unwatch()
            raise
        if not late:
            unwatch()
        is_known = not late and self._changes is not None
        return result | {_NAMES: sorted(change.description for change in changed) if is_known else None}

    def _changed(self, *changes: CellRecord, orders: tuple[CellOrder, CellOrder] | None = None) -> None:
        if self._changes is not None:
            self._changes.cells_changed(changes, orders)

    async def _notebook(self, given: dict[str, Any], *, outputs: bool = False) -> NotebookView:
        """The notebook that a call names, else the one that was used last."""
        read = asyncio.to_thread(self._runner.notebook, outputs=outputs, named=given.get("notebook"))
        try:
            return await asyncio.wait_for(read, LOOK_SECONDS)
        except asyncio.TimeoutError:
            raise UsageError(f"Reading the notebook took more than {LOOK_SECONDS:g} s.") from None

    async def _looked(self, look: Callable[[], T]) -> T:
        """The result of *look*, called on the main thread because the user's objects need not be thread-safe."""
        work = self._runner.look(look)
        return await self._job_queue.run(work, self._owner, patience=self.patience, timeout=self.look_seconds)


class _CellRun:
    """Watches a cell that a page runs."""

    def __init__(self, watch: CodeWatch | None) -> None:
        self._watch = watch
        self.printed = ""
        self.started_at: int | None = None

    def running(self) -> contextlib.AbstractContextManager[None]:
        """While the cell runs."""
        self.started_at = self.started_at or now_ms()
        return contextlib.nullcontext() if self._watch is None else self._watch.running()

    def write(self, text: str) -> None:
        """The cell has printed *text*."""
        self.printed = (self.printed + text)[-LONGEST_PROGRESS:]

    def finish(self) -> None:
        """The cell has ended."""
        if self._watch is not None:
            self._watch.finish()


def _of(notebook: NotebookView, given: dict[str, Any]) -> str:
    """The notebook, for the title of a card, where the call names it."""
    return f" of {notebook.name}" if "notebook" in given else ""


def _title(cell: CellView) -> str:
    return cell_title(cell.kind, cell.count, cell.source)


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
