"""The tools that run code and look at variables, and how a call of a tool is run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import fnmatch
import functools
import os
from typing import TYPE_CHECKING, Any

from agentnb.cassette.mcp import CHANGED
from agentnb.clock import now_ms
from agentnb.credentials import Credentials, is_secret_name
from agentnb.errors import AgentnbError, UsageError
from agentnb.kernel import content
from agentnb.kernel.cell_changes import cell_title, named_cell
from agentnb.kernel.cell_plans import asks_agent
from agentnb.kernel.cell_tools import CellTools, ToolTab
from agentnb.kernel.code_runner import Edit
from agentnb.kernel.tools import (
    PATIENCE_SECONDS,
    TURN_IS_OVER,
    call_offer,
    call_words,
    checked,
    demand_access,
    offered_tools,
)
from agentnb.kernel.variables.summary import last_name
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolCallRun, ToolTextContent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    from agentnb.kernel.cell_tools import Call, ToolEvents
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, CodeWork, NotebookCell
    from agentnb.kernel.content import Result
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.ports import Tool, ToolSession


PROGRESS_SECONDS = 0.5
"""Seconds that code runs before its progress is shown, and the fewest seconds between two updates."""
PROGRESS_SHARE = 0.1
"""The fraction of the code's time so far that passes between two updates: long code is followed less often."""
LONGEST_PROGRESS = 4_000  # characters that are shown from the end of what a cell has printed, while it runs
_ENDS = ("first", "last")
CHANGED_NAMES = "agentnb/names"
"""The key in a result for the changes of variables; :class:`ToolRunner` removes it."""


class CodeTools:
    """Reads the variables of one tab's kernel and runs code in it."""

    def __init__(self, tab: ToolTab, cells: CellTools) -> None:
        self._tab = tab
        self._cells = cells
        self._stops: list[tuple[Call, Callable[[], bool]]] = []
        self.tools: dict[str, Callable[[dict[str, Any]], Awaitable[Result]]] = {
            "variables": self._variables,
            "inspect": self._inspect,
            "run_code": self._run_code,
            "run_cell": self._run_cell,
            "run_cells": self._run_cells,
        }

    def stop(self, call: Call) -> bool:
        """Stop only the code that *call* runs; False if it runs none, or its cell has not begun."""
        return next((stop() for each, stop in self._stops if each == call), False)

    async def _variables(self, arguments: dict[str, Any]) -> Result:
        await self._tab.authorize(PolicyRequest(kind="read", title="List the kernel's variables"))
        variables = await self._tab.look(self._tab.runner.variables)
        wanted = arguments.get("filter", "")
        if len(wanted) > LONGEST_PATTERN:
            raise UsageError(f"'filter' has {len(wanted):,} characters; at most {LONGEST_PATTERN:,} are read.")
        pattern = wanted if any(sign in wanted for sign in "*?[") else f"*{wanted}*"
        fitting = [each for each in variables if fnmatch.fnmatchcase(each.name.lower(), pattern.lower())]
        return content.of_variables(fitting, len(variables))

    async def _inspect(self, arguments: dict[str, Any]) -> Result:
        path = arguments["path"]
        name = last_name(path)
        await self._tab.authorize(PolicyRequest(kind="read", title=f"Look at the variable {path.strip()}"))
        if is_secret_name(name):
            return content.text_result(
                f"{path.strip()}: the value is not shown because the name looks like a secret's."
            )
        return content.text_result(await self._tab.look(lambda: self._tab.runner.inspect(path)))

    async def _run_code(self, arguments: dict[str, Any]) -> Result:
        code, call, queue = arguments["code"], call_words("run_code", arguments), self._tab.job_queue
        if not code.strip():
            raise UsageError("The argument 'code' is empty.")
        request = await self._tab.authorize(
            PolicyRequest(kind="kernel", title="Run code in the kernel", command=code, call=call)
        )
        changed: list[NameChange] = []
        code = request.command or code
        watch = self._tab.watch(code, changed.extend)
        work = self._tab.runner.work(code, watch)
        patience = arguments.get("wait", PATIENCE_SECONDS)

        def stop() -> bool:
            queue.stop(work)
            return True

        async with self._running(call, work, stop) as ended:
            ran = await queue.run(work, self._tab.owner, patience=patience, timeout=arguments.get("timeout"))
            result = ended(content.of_run(ran))
        if ran.stopped == "user":
            self._tab.events.interrupted()
        names = sorted(change.description for change in changed)
        return result | {"_meta": {CHANGED: names}, CHANGED_NAMES: None if watch is None else names}

    async def _run_cell(self, arguments: dict[str, Any]) -> Result:
        notebook = await self._tab.notebook(arguments)
        cell = named_cell(arguments["cell"], notebook)
        if cell.kind != "code" or cell.cut:
            why = "is not a code cell" if cell.kind != "code" else "is too long to be shown whole"
            raise UsageError(f"The cell {arguments['cell']!r} {why}.", hint="run_code runs code of your own.")
        edit = Edit(action="run", cell_id=cell.id, source=cell.source, notebook=notebook.name)
        if not notebook.live:
            await self._tab.runner.edit(edit)  # always raises: the error explains what to do
        call = call_words("run_cell", arguments)
        title = f"Run {cell_title(cell)}{f' of {notebook.name}' if 'notebook' in arguments else ''}"
        await self._tab.authorize(PolicyRequest(kind="kernel", title=title, command=cell.source, call=call))
        return await self._ran(edit, cell, call)

    async def _run_cells(self, arguments: dict[str, Any]) -> Result:
        """Run code cells in the notebook's order, up to the first that fails."""
        notebook = await self._tab.notebook(arguments)
        cells = [each for each in notebook.cells if each.kind == "code" and each.source.strip()]
        first, last = (named_cell(arguments[each], notebook) if each in arguments else None for each in _ENDS)
        begin = 0 if first is None else notebook.cells.index(first)
        end = len(notebook.cells) if last is None else notebook.cells.index(last) + 1
        cells = [each for each in cells if begin <= notebook.cells.index(each) < end]
        prompts = [each for each in cells if asks_agent(each)]
        cells = [each for each in cells if each not in prompts]
        if not cells or any(each.cut for each in cells):
            why = "A cell is too long to be shown in full." if cells else "There is no code cell to run."
            raise UsageError(why, hint="`cells` lists the existing cells; run_cell runs one.")
        edits = [Edit(action="run", cell_id=each.id, source=each.source, notebook=notebook.name) for each in cells]
        if not notebook.live:
            await self._tab.runner.edit(edits[0])  # always raises: the error explains what to do
        call = call_words("run_cells", arguments)
        title = f"Run {len(cells)} cells, from {cell_title(cells[0])} to {cell_title(cells[-1])}"
        command = "\n\n".join(each.source for each in cells)
        await self._tab.authorize(PolicyRequest(kind="kernel", title=title, command=command, call=call))
        skipped = f" {len(prompts)} that ask agents were left out." if prompts else ""
        names: set[str] = set()
        for number, (edit, cell) in enumerate(zip(edits, cells, strict=True), 1):
            result = await self._ran(edit, cell, call)
            names.update(result.pop(CHANGED_NAMES, None) or ())
            if result["isError"]:
                text = f"Cell {number} of {len(cells)} failed; those below it were not run.{skipped}"
                return result | {
                    "content": [content.text_block(text), *result["content"]],
                    CHANGED_NAMES: sorted(names),
                }
        return content.text_result(f"Ran {len(cells)} cells; none failed.{skipped}") | {CHANGED_NAMES: sorted(names)}

    async def _ran(self, edit: Edit, cell: NotebookCell, call: Call) -> Result:
        namespace, late = self._tab.runner.namespace, self._tab.job_queue.has_waiter
        changed: list[NameChange] = []
        watch = _CellRun(self._tab.watch(edit.source, changed.extend))
        unwatch = namespace.watch_cell(cell.id, edit.source, watch, late=late)
        was_stopped = False

        def stop() -> bool:
            nonlocal was_stopped
            was_stopped = namespace.stop_cell(cell.id) or was_stopped
            return was_stopped

        try:
            async with self._running(call, watch, stop) as ended:
                done = await self._cells.edited(edit, cell)
                result = ended(content.of_cell(done, stopped=was_stopped and done.raised))
        except BaseException:
            unwatch()
            raise
        if not late:
            unwatch()
        is_known = not late and self._tab.changes is not None
        return result | {CHANGED_NAMES: sorted(change.description for change in changed) if is_known else None}

    @contextlib.asynccontextmanager
    async def _running(
        self, call: Call, work: CodeWork | _CellRun, stop: Callable[[], bool]
    ) -> AsyncIterator[Callable[[Result], Result]]:
        """Show *call*'s progress while it runs code, and let it be stopped; the yielded function takes its result."""

        def ended(result: Result) -> Result:
            begun = work.started_at
            if begun is not None:
                run = ToolCallRun(
                    started_at=begun, ended_at=max(begun, now_ms()), content=content.shown_on_card(result)
                )
                self._tab.events.progressed(call, run)
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
        """Report the state of the running code whenever it changes."""
        before: tuple[int, str] | None = None
        seconds = PROGRESS_SECONDS
        while True:
            await asyncio.sleep(seconds)
            if (begun := work.started_at) is None:
                continue
            seconds = max(PROGRESS_SECONDS, PROGRESS_SHARE * (now_ms() - begun) / 1000)
            printed = Credentials(os.environ).hidden(work.printed)
            if before != (begun, printed):
                before = begun, printed
                content_so_far = (ToolTextContent(text=printed),) if printed else ()
                self._tab.events.progressed(call, ToolCallRun(started_at=begun, content=content_so_far))


class _CellRun:
    """Watches a cell that a page runs."""

    def __init__(self, watch: CodeWatch | None) -> None:
        self._watch = watch
        self.printed = ""
        self.started_at: int | None = None

    def running(self) -> contextlib.AbstractContextManager[None]:
        self.started_at = self.started_at or now_ms()
        return contextlib.nullcontext() if self._watch is None else self._watch.running()

    def write(self, text: str) -> None:
        self.printed = (self.printed + text)[-LONGEST_PROGRESS:]

    def finish(self) -> None:
        if self._watch is not None:
            self._watch.finish()


class ToolRunner:
    def __init__(
        self,
        owner: str,
        runner: CodeRunner,
        job_queue: JobQueue,
        events: ToolEvents,
        session: ToolSession,
        *,
        changes: KernelChanges | None = None,
    ) -> None:
        self.tab: ToolTab = ToolTab(owner, runner, job_queue, events, changes)
        self._events = events
        self._session = session
        self._calls: set[asyncio.Task[Result]] = set()
        cells = CellTools(self.tab)
        code = CodeTools(self.tab, cells)
        self.note_text: Callable[[str, str, str], None] = cells.read.note
        self.stop: Callable[[Call], bool] = code.stop
        self._tools: dict[str, Callable[[dict[str, Any]], Awaitable[Result]]] = {
            **cells.tools,
            **code.tools,
            **{name: functools.partial(self._call_offer, *offer) for name, offer in offered_tools().items()},
        }

    async def call(self, name: str, arguments: Any) -> Result:
        task = asyncio.ensure_future(self._result(name, arguments))
        self._calls.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._calls.discard(task)
        return content.text_result(TURN_IS_OVER, failed=True) if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Stop the calls that are still running: the turn is over."""
        for task in self._calls:
            task.cancel()

    async def _result(self, name: str, arguments: Any) -> Result:
        failure: str | None = TURN_IS_OVER
        names: Collection[str] | None = None
        try:
            valid = checked(name, arguments)
            demand_access(name, self._events.access())
        except AgentnbError as error:
            return content.text_result(str(error), failed=True)
        try:
            result = await self._tools[name](valid)
            failure = content.failure_of(result)
            names = result.pop(CHANGED_NAMES, None)
        except AgentnbError as error:
            failure = str(error)
            return content.text_result(failure, failed=True)
        else:
            return content.for_agent(result, takes_pictures=self._events.takes_pictures())
        finally:
            self._events.finished(call_words(name, valid), failure, names)

    async def _call_offer(self, plugin: str, tool: Tool, arguments: dict[str, Any]) -> Result:
        show = functools.partial(self._events.show, call_words(tool.name, arguments))
        session = dataclasses.replace(self._session, show=show, kernel_tool=self._result)
        return await call_offer(plugin, tool, session, arguments)
