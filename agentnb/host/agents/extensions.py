"""Extension methods that the agent calls, answered by the user's own functions (ACP extension methods).

So it runs on a few threads of its own, within a time limit: it cannot hold up the host, nor the file reads that run on
the loop's own threads. They are daemons: one that hangs does not keep the kernel from ending.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from agentnb.acp.agent import extension
from agentnb.errors import AgentError, AgentnbError

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any], Any]

THREADS = 4
"""How many functions of one session run at a time; the others wait, and their time runs too."""

SECONDS = 60.0
"""How long a function may take."""


class Extensions:
    """The user's functions of one session, by extension method."""

    def __init__(self) -> None:
        self.seconds = SECONDS
        self._functions: dict[str, Function] = {}
        self._threads: list[threading.Thread] = []
        self._work: SimpleQueue[tuple[Future[Any], Function, Any] | None] = SimpleQueue()

    def register(self, method: str, function: Function | None) -> None:
        """Let *function* answer *method* from now on; nobody, where it is None."""
        if function is None:
            self._functions.pop(extension(method), None)
        else:
            self._functions[extension(method)] = function

    def answers(self, method: str) -> bool:
        """True if a function answers *method*."""
        return method in self._functions

    async def answer(self, method: str, params: Any) -> Any:
        """Returns what the function for *method* returns."""
        done: Future[Any] = Future()
        self._work.put((done, self._functions[method], params))
        if len(self._threads) < THREADS:
            thread = threading.Thread(target=self._serve, name="agentnb-extension", daemon=True)
            self._threads.append(thread)
            thread.start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(done), self.seconds)
        except asyncio.TimeoutError:
            message = f"The function for {method} did not return within {self.seconds:g} s."
            raise AgentError(message, hint="Make it faster, or let it start the work and return.") from None
        except AgentnbError:
            raise
        except Exception as error:
            raise AgentError(f"The function for {method} failed: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Answer nothing more; what runs goes on unheard."""
        self._functions.clear()
        for _ in self._threads:
            self._work.put(None)

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            done, function, params = item
            if not done.set_running_or_notify_cancel():
                continue  # it waited too long
            try:
                done.set_result(function(params))
            except BaseException as error:  # noqa: BLE001 - told to the agent
                done.set_exception(error)
