"""A real shell of IPython's, and the tools of one tab that work on it, used from the main thread as a cell would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from agentnb.errors import PermissionDenied
from agentnb.host.loop import HostLoop
from agentnb.ipython.bench import ShellBench
from agentnb.ipython.shell_mentions import ShellMentions
from agentnb.kernel.desk import Desk, poster
from agentnb.kernel.kit import Kit
from agentnb.policy.request import PolicyRequest

T = TypeVar("T")
OWNER = "tab-1"


class Tools:
    """The tools, over a shell.

    Attributes:
        requests: The requests that were knocked at.
        denies: Whether they stay shut.
        interrupts: How often the turn was to be ended.
    """

    def __init__(self) -> None:
        self.shell: Any = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
        self.loop = HostLoop()
        self.desk = Desk()
        self.desk.occupied = lambda: False
        self.requests: list[PolicyRequest] = []
        self.denies = False
        self.interrupts = 0
        self.bench = ShellBench(self.shell, self.desk)
        self.use(self.bench)

    @property
    def code_runner(self) -> ShellBench:
        """What runs code: this stands for a whole shell in a host's environment."""
        return self.bench

    @property
    def mentions(self) -> ShellMentions:
        """What prompts can mention."""
        return ShellMentions(self.shell)

    def use(self, bench: ShellBench) -> None:
        """Let the tools work on *bench*."""
        self.kit = Kit(OWNER, bench, self._authorize, self._interrupted, self.desk)

    async def _authorize(self, request: PolicyRequest) -> PolicyRequest:
        self.requests.append(request)
        if self.denies:
            raise PermissionDenied("No.")
        return request

    def _interrupted(self) -> None:
        self.interrupts += 1

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What the tool gives, while the main thread waits for the turn."""
        return self.during(self.kit.call(name, arguments))

    def text(self, name: str, **arguments: Any) -> str:
        return "\n".join(block.get("text", "") for block in self.call(name, **arguments)["content"])

    def during(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of *work* on the host's thread, while this one waits and serves."""
        return waited_for(self.desk, self.loop.submit(work))


def waited_for(desk: Desk, future: Future[T], owner: str = OWNER) -> T:
    """Wait for *future* as a cell that blocks waits for a turn."""
    news: SimpleQueue[str] = SimpleQueue()
    future.add_done_callback(lambda _: news.put("done"))
    with desk.waiting(owner, lambda: news.put("work")):
        while news.get() != "done":
            desk.serve(loop_is_free=False)
    return future.result()


def awaited(desk: Desk, work: Callable[[], Awaitable[T]], loop: HostLoop) -> T:
    """Wait for *work* on the host's thread as a cell that awaits does: this thread's loop goes on."""
    own = asyncio.new_event_loop()

    async def cell() -> T:
        desk.post = poster(own)
        with desk.waiting(OWNER):
            return await asyncio.wrap_future(loop.submit(_coroutine(work)))

    try:
        return own.run_until_complete(cell())
    finally:
        desk.post = None
        own.close()


async def _coroutine(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
