"""Carries out the calls of the kernel tools."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.kernel import content
from agentnb.kernel.cell_tools import CellTools
from agentnb.kernel.code_tools import CHANGED_NAMES, CodeTools
from agentnb.kernel.tool_tab import ToolTab
from agentnb.kernel.tools import TURN_IS_OVER, call_offer, call_words, checked, demand_access, offered_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.tool_tab import Call, Result, ToolEvents
    from agentnb.ports import Tool, ToolSession


class ToolRunner:
    """Runs the tools of one tab."""

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
        self.note_text: Callable[[str, str, str], None] = cells.note_text
        self._code = CodeTools(self.tab, cells)
        self._tools: dict[str, Callable[[dict[str, Any]], Awaitable[Result]]] = {
            **cells.tools,
            **self._code.tools,
            **{name: functools.partial(self._call_offer, *offer) for name, offer in offered_tools().items()},
        }

    async def call(self, name: str, arguments: Any) -> Result:
        """Run the tool *name*."""
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

    def stop(self, call: Call) -> bool:
        """Stop the code that *call* runs, and nothing else; False where it runs none, or its cell has not begun."""
        return self._code.stop(call)

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
        """Call the tool of a plug-in."""
        show = functools.partial(self._events.show, call_words(tool.name, arguments))
        session = dataclasses.replace(self._session, show=show, kernel_tool=self._result)
        return await call_offer(plugin, tool, session, arguments)
