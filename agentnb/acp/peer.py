"""An agent's process together with its ACP connection."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.failure import RESTARTS, AgentFailures, answered
from agentnb.agent.process import SpawnedAgent
from agentnb.errors import AgentDied, AgentnbError
from agentnb.events.kinds import AGENT_DIED, AGENT_SPAWNED, AGENT_STOPPED
from agentnb.rpc import ACP, Connection
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from agentnb.acp.listener import Tap
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.process import RunningProcess
    from agentnb.rpc import Notifications, Requests

    Done = Callable[[Any, AgentnbError | None], None]

    class Spawn(Protocol):
        """Starts a process (:meth:`agentnb.agent.process.SpawnedAgent.spawn`)."""

        async def __call__(
            self,
            spec: AgentSpec,
            cwd: Path,
            env: Mapping[str, str] | None = None,
            *,
            on_output: Callable[[bytes], None],
            on_end: Callable[[], None],
        ) -> RunningProcess:
            """Start it."""
            ...

    Lost = Callable[[AgentnbError], Coroutine[Any, Any, None]]

PATIENCE = 2.5
"""Seconds that an agent which is stopped may take to leave by itself."""
_EXIT_SECONDS = 0.3


class Peer:
    """A running agent, connected over JSON-RPC."""

    def __init__(
        self,
        spec: AgentSpec,
        *,
        on_notifications: Notifications,
        on_request: Requests,
        on_lost: Lost,
        tap: Tap | None = None,
        spawn: Spawn = SpawnedAgent.spawn,
    ) -> None:
        self.spec = spec
        self.tap = tap
        """What records it; None where nothing does."""
        self.failures: AgentFailures = AgentFailures(spec)
        self._spawn = spawn
        self._on_lost = on_lost
        self._process: RunningProcess | None = None
        self._spawned = asyncio.Event()
        self._gone = asyncio.Event()
        self._patience = 0.0
        self._stopped = False
        self._tasks: set[asyncio.Future[Any]] = set()
        self.connection: Connection = Connection(
            self._write,
            ACP,
            on_notifications=on_notifications,
            on_request=on_request,
            on_closed=self._closed,
            to_error=answered,
        )

    async def spawn(self, cwd: Path, env: Mapping[str, str] | None) -> None:
        """Start the process."""
        feed = self.connection.feed if self.tap is None else self._feed
        try:
            self._process = await self._spawn(self.spec, cwd, env, on_output=feed, on_end=self._ended)
            self.failures.process = self._process
            AGENT_SPAWNED.tell(agent=self.spec.name, pid=self.pid)
        finally:
            self._spawned.set()  # `_finish` waits for this, also where the start failed

    @property
    def process(self) -> SpawnedAgent | None:
        """The agent's own process, once it runs."""
        return self._process.agent if self._process is not None else None

    @property
    def confined(self) -> str:
        """Returns what it is confined to, in a line; empty where it is not."""
        return self.process.confined if self.process is not None else ""

    @property
    def closed(self) -> bool:
        """True if it is gone: stopped, dead, or no longer reading."""
        return self.connection.closed

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's as well."""
        return self.process.pid if self.process is not None else 0

    async def wait_closed(self) -> None:
        """Wait until it, all that it started, and all work here for it have ended."""
        await self._gone.wait()
        own = asyncio.current_task()
        await asyncio.gather(*(task for task in self._tasks if task is not own), return_exceptions=True)

    async def request(self, method: str, params: dict[str, Any], timeout: float | None = None) -> Any:
        """Ask it something and wait."""
        limit = self.spec.initialize_timeout if timeout is None else timeout
        try:
            return await self.connection.request(method, params, limit)
        except RpcError as error:
            raise self.failures.refused(method, error) from error
        except TimeoutError as error:
            raise self.failures.no_answer(method, limit) from error

    def call(self, method: str, params: dict[str, Any], done: Done) -> int:
        """Send a request; *done* gets ``(result, error)``, called in the order in which messages arrive."""
        return self.connection.call(method, params, partial(self._answered, method, done))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self.connection.notify(method, params)

    async def stop(self, patience: float = PATIENCE) -> None:
        """End it and everything it started."""
        self._patience = patience
        self._stopped = self._stopped or not self.connection.closed
        self.connection.close(AgentDied(f"{self.spec.title} was stopped.", hint=RESTARTS))
        if self._process is None:
            self._gone.set()
        await self.wait_closed()

    def _answered(self, method: str, done: Done, result: Any, error: Exception | None) -> None:
        if isinstance(error, RpcError):
            error = self.failures.refused(method, error)
        done(result, error if isinstance(error, AgentnbError) or error is None else self.failures.death())

    def _feed(self, data: bytes) -> None:
        if self.tap is not None:
            self.tap.received(data)
        self.connection.feed(data)

    def _write(self, data: bytes) -> None:
        if self.tap is not None:
            self.tap.sent(data)
        if self._process is not None:
            self._process.write(data)

    def _ended(self) -> None:
        if self.tap is not None and not self.connection.closed:
            self.tap.ended()
        self._keep(self._finish())

    async def _finish(self) -> None:
        """It closed its stdout or ended: wait a moment for its last output and its exit code, then close."""
        await self._spawned.wait()
        if self._process is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.agent.child.exited.wait(), _EXIT_SECONDS)
            if self._process.agent.child.over:  # on a busy machine its exit code arrives later
                await self._process.agent.child.exited.wait()
        self.connection.close(self.failures.death())

    def _closed(self, reason: Exception | None) -> None:
        self._keep(self._clear(reason if isinstance(reason, AgentnbError) else self.failures.death()))

    async def _clear(self, reason: AgentnbError) -> None:
        try:
            await self._on_lost(reason)
        finally:
            if self._process is not None:
                await self._process.stop(self._patience)
                self._tell_end(reason)
            self._gone.set()

    def _tell_end(self, reason: AgentnbError) -> None:
        if self._stopped:
            AGENT_STOPPED.tell(agent=self.spec.name, pid=self.pid)
        else:
            AGENT_DIED.tell(agent=self.spec.name, pid=self.pid, error=str(reason))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
