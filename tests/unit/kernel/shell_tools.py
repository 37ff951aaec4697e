"""A real IPython shell, and one tab's tools for it, used from the main thread as a cell would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from agentnb.errors import PermissionDenied
from agentnb.host.agents.tools import tool_session
from agentnb.host.environment import Environment
from agentnb.host.loop import HostLoop
from agentnb.ipython.shell_code_runner import ShellCodeRunner
from agentnb.ipython.shell_mentions import ShellMentions
from agentnb.kernel.cell_tools import ToolEvents
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.code_tools import ToolRunner
from agentnb.kernel.job_queue import JobQueue, scheduler_of
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolCallRun

T = TypeVar("T")
OWNER = "tab-1"


class Tools:
    """The tools over an IPython shell."""

    def __init__(self) -> None:
        self.shell: Any = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
        self.loop = HostLoop()
        self.job_queue = JobQueue()
        self.job_queue.is_main_thread_busy = lambda: False
        self.requests: list[PolicyRequest] = []
        self.denies = False
        self.interrupts = 0
        self.progress: list[ToolCallRun] = []
        self.printed = threading.Event()
        self.takes_pictures = True
        self.access = "run"
        self.while_asked: Callable[[], object] = lambda: None
        self.runner = ShellCodeRunner(self.shell, self.job_queue)
        self.changes = KernelChanges(OWNER, lambda: self.runner, self.job_queue)
        self.use(self.runner)

    @property
    def code_runner(self) -> ShellCodeRunner:
        """Returns the code runner; this object stands for a whole shell in a host's environment."""
        return self.runner

    @property
    def mentions(self) -> ShellMentions:
        return ShellMentions(self.shell, self.job_queue)

    def use(self, runner: ShellCodeRunner) -> None:
        """Lets the tools work on *runner*."""
        self.runner = runner
        environment = Environment()
        environment.shell = self
        self.tool_runner = ToolRunner(
            OWNER,
            runner,
            self.job_queue,
            ToolEvents(
                authorize=self._authorize,
                interrupted=self._interrupted,
                access=lambda: self.access,
                progressed=self._progressed,
                takes_pictures=lambda: self.takes_pictures,
            ),
            tool_session(self._authorize, environment, session="", folder=str(Path.cwd())),
            changes=self.changes,
        )

    async def _authorize(self, request: PolicyRequest) -> PolicyRequest:
        self.requests.append(request)
        if request.kind != "read":
            self.while_asked()
        if self.denies:
            raise PermissionDenied("No.")
        return request

    def _progressed(self, _call: tuple[str, str], run: ToolCallRun) -> None:
        self.progress.append(run)
        if run.content:
            self.printed.set()

    def _interrupted(self) -> None:
        self.interrupts += 1

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Returns the tool's result, while the main thread waits for the turn."""
        return self.during(self.tool_runner.call(name, arguments))

    def text(self, name: str, **arguments: Any) -> str:
        return "\n".join(block.get("text", "") for block in self.call(name, **arguments)["content"])

    def during(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of *work* on the host's thread, while this one runs jobs."""
        return waited_for(self.job_queue, self.loop.submit(work))


def waited_for(job_queue: JobQueue, future: Future[T], owner: str = OWNER) -> T:
    """Waits for *future* as a cell that blocks waits for a turn."""
    news: SimpleQueue[str] = SimpleQueue()
    future.add_done_callback(lambda _: news.put("done"))
    with job_queue.waiting(owner, lambda: news.put("work")):
        while news.get() != "done":
            job_queue.run_pending(loop_is_free=False)
    return future.result()


def awaited(job_queue: JobQueue, work: Callable[[], Awaitable[T]], loop: HostLoop) -> T:
    """Waits for *work* on the host's thread as a cell that awaits does: this thread's loop goes on."""
    own = asyncio.new_event_loop()

    async def cell() -> T:
        job_queue.schedule = scheduler_of(own)
        with job_queue.waiting(OWNER):
            return await asyncio.wrap_future(loop.submit(_coroutine(work)))

    try:
        return own.run_until_complete(cell())
    finally:
        job_queue.schedule = None
        own.close()


async def _coroutine(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
