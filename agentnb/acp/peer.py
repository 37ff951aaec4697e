"""The peer of an agent: JSON-RPC over its stdio, one message after another, and who receives each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agentnb.acp.failure import RESTARTS, AgentFailures, answered
from agentnb.errors import AgentDied, AgentnbError
from agentnb.events.kinds import AGENT_DIED, AGENT_SPAWNED, AGENT_STOPPED
from agentnb.rpc import ACP, Connection
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from agentnb.acp.questions import AcpPermissionRequest, ElicitationAnswer, ElicitationQuestion
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.process import RunningProcess, SpawnedAgent
    from agentnb.changes.model import PathChange
    from agentnb.policy.request import PolicyRequest
    from agentnb.rpc import Notifications, Requests
    from agentnb.state import Action, ChatState


class SessionListener(Protocol):
    """One session's host side; every method is called on the loop of the agent."""

    @property
    def chat(self) -> ChatState:
        """The current chat, to which the agent's updates are added."""

    @property
    def speaking(self) -> str | None:
        """The turn that the agent is answering; None if there is none yet."""

    def actions(self, actions: Sequence[Action]) -> None:
        """Accept what the agent said or a terminal of its did; empty where that changes nothing."""

    async def permission(self, question: AcpPermissionRequest) -> str | None:
        """Answer a permission request with the id of one of its options; None: the turn was cancelled."""

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        """Answer what the agent asks the user."""

    def elicited(self, elicitation_id: str) -> None:
        """What an elicitation sent the user elsewhere for is done (ACP ``elicitation/complete``)."""

    def extension(self, method: str, params: Any) -> None:
        """A notification of no session and of a method that we do not know, kept as it came."""

    def answers(self, method: str) -> bool:
        """True if :meth:`extended` knows *method*."""

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        """Answer a request that the protocol leaves to the two sides (ACP extension methods, ``_name/method``)."""

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        """Allow *request*, or raise :class:`agentnb.errors.PermissionDenied`."""

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """*request* was refused because it is outside the workspace; the agent gets *error*."""

    def opens(self, path: str, tool: str) -> bool:
        """True if a rule of the user's allows *path*, an absolute one outside the workspace, to *tool*."""

    def unsaved(self, path: str) -> Unsaved | None:
        """Returns the unsaved content of the file *path*, absolute and resolved, in an editor; None if not known."""

    def lost(self, error: AgentnbError) -> None:
        """The agent went away; nothing more comes."""


class Unsaved(Protocol):
    """A file as it stands in an editor, with changes that are not saved."""

    @property
    def editor(self) -> str: ...

    def over(self, saved: str) -> str:
        """Returns *saved* with the unsaved changes applied. Called on a thread of its own."""


class ChangedFile(NamedTuple):
    change: PathChange
    before: bytes | None
    after: bytes | None
    is_sensitive: bool


class Tap(Protocol):
    """Receives a copy of the bytes of one agent's connection, in both directions."""

    def sent(self, data: bytes) -> None:
        """We have written *data*."""

    def received(self, data: bytes) -> None:
        """The agent has written *data*."""

    def served(self, params: dict[str, Any]) -> Callable[[Any, dict[str, Any] | None], None]:
        """The agent sent a request outside this connection: an ``mcp/message`` with *params*."""

    @property
    def takes_files(self) -> bool:
        """True if the tap wants to know which files a turn changed."""

    def changed_files(self, session_id: str, files: Sequence[ChangedFile], is_own: Callable[[str], bool]) -> None:
        """A turn has changed *files*; called on any thread."""

    def ended(self) -> None:
        """The agent is gone, unasked."""


CHUNK = 256 * 1024
FULL = 1024 * 1024
"""Bytes that may wait for a slow reader before it counts as full."""
_FINISH_SECONDS = 5.0


class Output:
    """Writes to stdout on a thread of its own, so that a reader that stalls only holds up what is written to it."""

    def __init__(self, on_full: Callable[[bool], None] = lambda _: None, *, name: str = "agentnb-write") -> None:
        self._on_full = on_full
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._is_full = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, daemon=True, name=name)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queue *data* to be written as soon as possible."""
        with self._lock:
            self._waiting += len(data)
            if becomes := self._waiting > FULL and not self._is_full:
                self._is_full = True
        self._queue.put(data)
        if becomes:
            self._on_full(True)

    def finish(self) -> None:
        """Wait until all is written or nobody reads it, for five seconds at most."""
        self._queue.put(None)
        self._thread.join(_FINISH_SECONDS)

    def _write_all(self) -> None:
        while (data := self._queue.get()) is not None:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(1, view) :]
                except OSError:
                    return
            with self._lock:
                self._waiting -= len(data)
                if drained := self._is_full and self._waiting <= FULL // 4:
                    self._is_full = False
            if drained:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._on_full, False)


def read_input(take: Callable[[bytes], None], *, name: str = "agentnb-read") -> None:
    """Read stdin on a thread of its own until it ends."""
    loop = asyncio.get_running_loop()

    def read_all() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(0, CHUNK)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(take, data)

    threading.Thread(target=read_all, daemon=True, name=name).start()


def watch_reader(gone: Callable[[], None]) -> None:
    """Call *gone* once nobody can read stdout any more; watches on a thread of its own."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        poll = select.poll()
        poll.register(1, 0)
        poll.poll()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(gone)

    if hasattr(select, "poll"):
        threading.Thread(target=wait, daemon=True, name="agentnb-watch").start()


if TYPE_CHECKING:
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

    Lost = Callable[[AgentnbError], Coroutine[Any, Any, None]]

PATIENCE = 2.5
"""Seconds that a stopped agent gets to exit by itself."""
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
        tap: Tap | None,
        spawn: Spawn,
    ) -> None:
        self.spec = spec
        self.tap = tap
        """The recorder of the connection; None if it is not recorded."""
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
        feed = self.connection.feed if self.tap is None else self._feed
        try:
            self._process = await self._spawn(self.spec, cwd, env, on_output=feed, on_end=self._ended)
            self.failures.process = self._process
            AGENT_SPAWNED.tell(agent=self.spec.name, pid=self.pid)
        finally:
            self._spawned.set()  # `_finish` waits for this, even if the start failed

    @property
    def process(self) -> SpawnedAgent | None:
        """The agent's own process; None before it runs."""
        return self._process.agent if self._process is not None else None

    @property
    def confined(self) -> str:
        """Returns a one-line description of its confinement; '' if it is not confined."""
        return self.process.confined if self.process is not None else ""

    @property
    def closed(self) -> bool:
        """True if the agent is stopped, dead, or no longer reading."""
        return self.connection.closed

    @property
    def pid(self) -> int:
        """The process id, which is also its process group's."""
        return self.process.pid if self.process is not None else 0

    async def wait_closed(self) -> None:
        """Wait until the agent, everything it started, and all our tasks for it have ended."""
        await self._gone.wait()
        own = asyncio.current_task()
        await asyncio.gather(*(task for task in self._tasks if task is not own), return_exceptions=True)

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        timeout: float | None = None,
        heard: Callable[[Any], None] | None = None,
    ) -> Any:
        """Ask it something and wait; *heard* gets the result before any message that comes after it."""
        limit = self.spec.initialize_timeout if timeout is None else timeout
        try:
            return await self.connection.request(method, params, limit, heard)
        except RpcError as error:
            raise self.failures.refused(method, error) from error
        except TimeoutError as error:
            raise self.failures.no_answer(method, limit) from error

    def call(self, method: str, params: dict[str, Any], done: Done) -> int:
        """Send a request; *done* is called with ``(result, error)``, in the order in which messages arrive."""
        return self.connection.call(method, params, partial(self._answered, method, done))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.connection.notify(method, params)

    async def stop(self, patience: float = PATIENCE) -> None:
        """End the agent and everything it started."""
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
        """After it closed its stdout or ended: wait a moment for its last output and its exit code, then close."""
        await self._spawned.wait()
        if self._process is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.agent.child.exited.wait(), _EXIT_SECONDS)
            if self._process.agent.child.over:  # on a busy machine the exit code arrives later
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
                if self._stopped:
                    AGENT_STOPPED.tell(agent=self.spec.name, pid=self.pid)
                else:
                    AGENT_DIED.tell(agent=self.spec.name, pid=self.pid, error=str(reason))
            self._gone.set()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
