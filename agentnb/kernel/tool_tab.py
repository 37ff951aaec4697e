"""The tab whose agent calls the kernel tools: what the tools ask of its host, and the kernel that they work on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.errors import UsageError
from agentnb.kernel.tools import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, NotebookView
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import ToolCallDetails, ToolCallRun

    Result = dict[str, Any]

T = TypeVar("T")

Call = tuple[str, str]
"""A tool and its arguments, as ``PolicyRequest.call`` has them."""

LOOK_SECONDS = 20.0
"""How long reading the user's objects, or a notebook's file, may take."""


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
    """One tab's kernel, as its tools use it."""

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
        """The notebook that a call names, else the one that was used last."""
        read = asyncio.to_thread(self.runner.notebook, outputs=outputs, named=arguments.get("notebook"))
        try:
            return await asyncio.wait_for(read, LOOK_SECONDS)
        except asyncio.TimeoutError:
            raise UsageError(f"Reading the notebook took more than {LOOK_SECONDS:g} s.") from None

    def watch(self, code: str, changed: Callable[[Sequence[NameChange]], object]) -> CodeWatch | None:
        """A watch for *code* of the agent's; None where changes are not followed."""
        return None if self.changes is None else self.changes.watch(code, changed)
