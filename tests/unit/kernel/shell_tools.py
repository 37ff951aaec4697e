"""A real IPython shell, and one tab's tools for it, used from the main thread as a cell would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
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
from agentnb.kernel.cell_changes import CellRecord
from agentnb.kernel.cell_tools import ToolEvents
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.code_tools import ToolRunner
from agentnb.kernel.job_queue import JobQueue, scheduler_of
from agentnb.kernel.local_server import HttpServer, SocketServer
from agentnb.kernel.server import ToolMcpServer
from agentnb.kernel.tools import call_words
from agentnb.kernel.variables.changes import NameChange
from agentnb.kernel.variables.references import LIMIT
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolCallRun

T = TypeVar("T")
OWNER = "tab-1"
TURN = "turn-1"


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
        self.patience = 0.5
        """Seconds that mentions wait for the main thread."""
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
        return ShellMentions(self.shell, self.job_queue, self.patience)

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

    @contextmanager
    def served(self, within: Path | None = None) -> Iterator[dict[str, str]]:
        """Serves the tools on a socket; yields the variables that a bridge needs."""
        server = self.loop.submit(SocketServer.started(lambda: ToolMcpServer(self.tool_runner), within)).result(30)
        try:
            yield server.environment
        finally:
            self.loop.call(server.close)

    @contextmanager
    def served_over_http(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Serves the tools over HTTP; yields the address and the headers that an agent gets."""
        server = self.loop.submit(HttpServer.started(lambda: ToolMcpServer(self.tool_runner))).result(30)
        try:
            yield server.url, server.headers
        finally:
            self.loop.call(server.close)
            self.loop.submit(server.wait_closed()).result(30)

    def offered(self) -> dict[str, dict[str, Any]]:
        """Returns the tools as an agent gets them, by name."""
        listed = self.during(ToolMcpServer(self.tool_runner).request("tools/list", {}))
        return {each["name"]: each for each in listed["tools"]}

    def stop(self, name: str, **arguments: Any) -> bool:
        """The user stops the running call, on the host's thread."""
        return self.tool_runner.stop(call_words(name, arguments))

    def turn(self, *codes: str, turn_id: str = TURN) -> dict[str, NameChange]:
        """Returns the variables changed by a turn that runs *codes*."""
        self.changes.begin(turn_id)
        for code in codes:
            self.text("run_code", code=code)
        return self.variables_changed(turn_id)

    def variables_changed(self, turn_id: str = TURN) -> dict[str, NameChange]:
        return {each.name: each for each in self.changes.end(turn_id) if isinstance(each, NameChange)}

    def cells_changed(self) -> dict[str, CellRecord]:
        """Returns the turn's changes of cells by id."""
        return {each.id.removeprefix("cell:"): each for each in self.changes.end(TURN) if isinstance(each, CellRecord)}

    def undo(self, *names: str, kind: str = "variable", turn_id: str = TURN, **choices: Any) -> tuple[str, ...]:
        """Undoes a turn's changes of the variables, or the cells, *names*."""
        by_id = {f"{kind}:{name}": choice for name, choice in choices.items()}
        return self.during(self.changes.undo(turn_id, [f"{kind}:{name}" for name in names], choices=by_id))

    def redo(self, *names: str, kind: str = "variable", turn_id: str = TURN) -> tuple[str, ...]:
        return self.during(self.changes.redo(turn_id, [f"{kind}:{name}" for name in names]))

    def unrestorable(self, code: str) -> tuple[str, ...]:
        """Returns the variables that undo of *code* cannot restore, as its permission request names them."""
        return self.runner.namespace.unrestorable(code, LIMIT)

    def limit_undo(self, limit: int) -> None:
        """Lets the old objects of a conversation take *limit* bytes."""
        self.changes = KernelChanges(OWNER, lambda: self.runner, self.job_queue, limit=lambda: limit)
        self.use(self.runner)

    def run_jobs_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Lets *loop* run the jobs, as a kernel's loop does."""
        self.job_queue.schedule = scheduler_of(loop)

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
