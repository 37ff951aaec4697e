"""An agent's process together with its ACP connection. Every failure of either becomes one of agentnb's exceptions."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.failure import answered, refused
from agentnb.agent.catalog import root_hint
from agentnb.agent.process import SpawnedAgent
from agentnb.agent.refused_access import kept_from
from agentnb.errors import AgentDied, AgentError, AgentnbError, AgentRefused, AgentStartFailed, CassetteMismatch
from agentnb.events.kinds import AGENT_DIED, AGENT_SPAWNED, AGENT_STOPPED, CASSETTE_MISMATCHED
from agentnb.rpc import ACP, Connection
from agentnb.rpc_message import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from agentnb.acp.listener import Tap
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.process import RunningProcess
    from agentnb.agent.refused_access import RefusedAccess
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
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_RESTARTS = "The agent restarts with your next message."


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
        self._spawn = spawn
        self.started = False
        self.auth_methods: tuple[dict[str, Any], ...] = ()
        self._on_lost = on_lost
        self._process: RunningProcess | None = None
        self._spawned = asyncio.Event()
        self._gone = asyncio.Event()
        self._patience = 0.0
        self._stopped = False
        self._tasks: set[asyncio.Future[Any]] = set()
        self._connection = Connection(
            self._write,
            ACP,
            on_notifications=on_notifications,
            on_request=on_request,
            on_closed=self._closed,
            to_error=answered,
        )

    async def spawn(self, cwd: Path, env: Mapping[str, str] | None) -> None:
        """Start the process."""
        feed = self._connection.feed if self.tap is None else self._feed
        try:
            self._process = await self._spawn(self.spec, cwd, env, on_output=feed, on_end=self._ended)
            AGENT_SPAWNED.tell(agent=self.spec.name, pid=self.pid)
        finally:
            self._spawned.set()  # `_finish` waits for this, also where the start failed

    @property
    def confined(self) -> str:
        """What it is confined to, in a line; empty where it is not."""
        return self._process.agent.confined if self._process is not None else ""

    @property
    def reaches_loopback(self) -> bool:
        """Whether it can reach each port of this machine."""
        return self._process is None or self._process.agent.reaches_loopback

    def confined_command(self, command: Sequence[str]) -> list[str]:
        """The command that runs *command* with the same limits as the agent."""
        return self._process.agent.confined_command(command) if self._process is not None else list(command)

    def refused_accesses(self, text: str) -> tuple[RefusedAccess, ...]:
        """What its confinement refused, as *text*, which it or a command of it has printed, tells."""
        return self._process.agent.refused_accesses(text) if self._process is not None else ()

    @property
    def closed(self) -> bool:
        """Whether it is gone: stopped, dead, or no longer reading."""
        return self._connection.closed

    @property
    def stray(self) -> int:
        """How many lines it wrote to stdout that were not messages."""
        return self._connection.stray

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's as well."""
        return self._process.agent.pid if self._process is not None else 0

    @property
    def stderr_tail(self) -> str:
        """The last lines it wrote to stderr, without secrets."""
        return self._process.agent.stderr_tail if self._process is not None else ""

    async def wait_closed(self) -> None:
        """Wait until it, all that it started, and all work here for it have ended."""
        await self._gone.wait()
        own = asyncio.current_task()
        await asyncio.gather(*(task for task in self._tasks if task is not own), return_exceptions=True)

    async def request(self, method: str, params: dict[str, Any], timeout: float | None = None) -> Any:
        """Ask it something and wait."""
        limit = self.spec.initialize_timeout if timeout is None else timeout
        try:
            return await self._connection.request(method, params, limit)
        except RpcError as error:
            raise self._refused(method, error) from error
        except TimeoutError as error:
            raise self.no_answer(method, limit) from error

    def call(self, method: str, params: dict[str, Any], done: Done) -> int:
        """Send a request; *done* gets ``(result, error)``, called in the order in which messages arrive."""
        return self._connection.call(method, params, partial(self._answered, method, done))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self._connection.notify(method, params)

    async def stop(self, patience: float = PATIENCE) -> None:
        """End it and everything it started."""
        self._patience = patience
        self._stopped = self._stopped or not self._connection.closed
        self._connection.close(AgentDied(f"{self.spec.title} was stopped.", hint=_RESTARTS))
        if self._process is None:
            self._gone.set()
        await self.wait_closed()

    def no_answer(self, method: str, limit: float) -> AgentError:
        """The exception for a *method* that was not answered within *limit* seconds."""
        if not self.started:
            message = f"{self.spec.title} did not answer within {limit:g} s of its start."
            return AgentStartFailed(message, hint=self._try())
        return AgentError(f"{self.spec.title} did not answer {method} within {limit:g} s.", hint="Restart the agent.")

    def _refused(self, method: str, error: RpcError) -> AgentError:
        spec = self.spec
        failure = refused(spec.title, method, error, methods=self.auth_methods, login=spec.login, program=spec.command)
        message = failure.message if self._process is None else self._process.agent.redact(failure.message)
        if isinstance(failure, CassetteMismatch):
            CASSETTE_MISMATCHED.tell(error=message)
        if not isinstance(failure, AgentRefused):
            return type(failure)(message, hint=failure.hint)
        if not self.started:
            return AgentStartFailed(message, hint=self._try())
        hint = self._opening_hint() if method in _OPENING and error.code == INTERNAL_ERROR else failure.hint
        return AgentRefused(message, code=failure.code, data=failure.data, hint=hint)

    def _answered(self, method: str, done: Done, result: Any, error: Exception | None) -> None:
        if isinstance(error, RpcError):
            error = self._refused(method, error)
        done(result, error if isinstance(error, AgentnbError) or error is None else self._death())

    def _feed(self, data: bytes) -> None:
        if self.tap is not None:
            self.tap.received(data)
        self._connection.feed(data)

    def _write(self, data: bytes) -> None:
        if self.tap is not None:
            self.tap.sent(data)
        if self._process is not None:
            self._process.write(data)

    def _ended(self) -> None:
        if self.tap is not None and not self._connection.closed:
            self.tap.ended()
        self._keep(self._finish())

    async def _finish(self) -> None:
        """It closed its stdout or ended: wait a moment for its last output and its exit code, then close."""
        await self._spawned.wait()
        if self._process is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.agent.exited.wait(), _EXIT_SECONDS)
            if self._process.agent.over:  # on a busy machine its exit code arrives later
                await self._process.agent.exited.wait()
        self._connection.close(self._death())

    def _closed(self, reason: Exception | None) -> None:
        self._keep(self._clear(reason if isinstance(reason, AgentnbError) else self._death()))

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

    def _death(self) -> AgentError:
        if self._process is not None and self._process.failure is not None:  # a component of the chain ended it
            if not self.started:
                return AgentStartFailed(self._process.failure, hint="Start the session without it, or mend it.")
            return AgentDied(self._process.failure, hint=_RESTARTS)
        how = _how(self._process.agent.returncode if self._process is not None else None)
        if not self.started:
            return AgentStartFailed(f"{self.spec.title} stopped while starting ({how}).", hint=self._try())
        return AgentDied(
            f"{self.spec.title} stopped unexpectedly ({how}).",
            hint=" ".join(filter(None, [_RESTARTS, root_hint(self.spec)])) + self._last_output(),
        )

    def _try(self) -> str:
        hint = f"Run `{' '.join(self.spec.command)}` in a terminal to see why."
        return " ".join(filter(None, [self._node(), hint, *self._surroundings()])) + self._last_output()

    def _opening_hint(self) -> str:
        """What to do where it runs and opens no session: often it has started another program, which ended."""
        known = self.spec.origin != "command"
        doctor = f"`agentnb doctor {self.spec.name}` tries it alone." if known else ""
        log = 'components=["log"] writes all its messages into a file.'
        return " ".join(filter(None, [self._node(), doctor, log, *self._surroundings()])) + self._last_output()

    def _surroundings(self) -> tuple[str, str | None]:
        return self._confined_hint(), root_hint(self.spec)

    def _node(self) -> str:
        return self._process.agent.node_problem if self._process is not None else ""

    def _confined_hint(self) -> str:
        """That it was confined, which it is not in a terminal, and what that kept it from, as far as is known."""
        if not self.confined:
            return ""
        free = "There it is not confined; here it was. If that is why, start it with confine=False"
        free += ", or switch Confine agents off in the settings."
        return kept_from(self.refused_accesses(self.stderr_tail)) or free

    def _last_output(self) -> str:
        return f" Last output:\n{tail}" if (tail := self.stderr_tail) else ""

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _how(code: int | None) -> str:
    if code is None:
        return "it closed its output"
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
