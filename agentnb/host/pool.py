"""Agent processes, shared: one for all sessions of equal configuration (:mod:`agentnb.host.configuration`).

An agent can be started before anyone needs it (:meth:`AgentPool.warm`); one that keeps dying is started again ever more
slowly (:mod:`agentnb.host.backoff`).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from agentnb.acp.agent import Agent
from agentnb.cassette.switch import SWITCH
from agentnb.errors import AgentError, AgentNotFound, AuthenticationRequired
from agentnb.host.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.configuration import Configuration
    from agentnb.host.conversation import Conversation
    from agentnb.host.loop import HostLoop

WARM = "warm"
WARM_SECONDS = 600.0
"""How long an agent that was started early waits for its first session."""


class AgentPool:
    """The agents in use and who uses them.

    Args:
        loop: The host's loop, that launches run on.
        warm_seconds: How long an agent that was started early waits for its first session.

    Attributes:
        backoff: Makes what says how long to wait after a death.
        start_timeout: The longest wait for the first answer of an agent, in seconds; None for its spec's.
    """

    def __init__(self, loop: HostLoop, *, warm_seconds: float = WARM_SECONDS) -> None:
        self.backoff: Callable[[], Backoff] = Backoff
        self.start_timeout: float | None = None
        self._loop = loop
        self._warm_seconds = warm_seconds
        self._launches: dict[bytes, asyncio.Task[Agent]] = {}
        self._users: dict[bytes, set[str]] = {}
        self._backoffs: dict[bytes, Backoff] = {}
        self._closed = False
        self._alive: set[Agent] = set()
        self._configured: WeakKeyDictionary[Agent, Configuration] = WeakKeyDictionary()
        self._dead: WeakSet[Agent] = WeakSet()

    async def acquire(self, conversation: Conversation) -> Agent:
        """The agent for *conversation*'s configuration, launched if it does not run.

        Raises:
            AgentError: If it cannot be launched.
        """
        users = self._users.setdefault(conversation.configuration.key, set())
        users.discard(WARM)
        users.add(conversation.tab_id)
        return await asyncio.shield(self._launched(conversation.configuration))

    async def release(self, conversation: Conversation) -> None:
        """Say that *conversation* needs its agent no more; the last one stops the process."""
        await self._drop(conversation.configuration.key, conversation.tab_id)

    async def stop(self, conversation: Conversation) -> None:
        """End the process of *conversation*'s configuration, whoever uses it; it is launched again when needed."""
        await _stop(self._launches.get(conversation.configuration.key))

    async def borrow(self, configuration: Configuration) -> Agent:
        """An agent to ask something outside of any session.

        It is one that runs with the same description, folder and environment, whatever its components are; else it is
        started, and warm for the session that may follow.

        Raises:
            AgentError: If it cannot be launched.
        """
        bare = configuration.bare.key
        there = (agent for agent in self._alive if not agent.closed and self._configured[agent].bare.key == bare)
        return next(there, None) or await self.warm(configuration)

    def running(self, spec: AgentSpec) -> list[Agent]:
        """The processes of the agent *spec* that run now, whatever else they were started with."""
        return [agent for agent in self._alive if self._configured[agent].spec == spec and not agent.closed]

    async def warm(self, configuration: Configuration) -> Agent:
        """Start an agent before anyone needs it; nobody's in time, it is stopped again.

        Raises:
            AgentError: If it cannot be launched.
        """
        key = configuration.key
        users = self._users.setdefault(key, set())
        first = not users
        if first:
            users.add(WARM)
        try:
            return await asyncio.shield(self._launched(configuration))
        finally:
            if first:  # its time begins when it is up
                self._loop.later(self._warm_seconds, lambda: self._loop.spawn(self._drop(key, WARM)))

    def begin(self, configuration: Configuration) -> None:
        """As :meth:`warm`, without waiting; a failure is told to the session that comes to need the agent."""
        self._loop.spawn(self._warm_quietly(configuration))

    async def _warm_quietly(self, configuration: Configuration) -> None:
        with contextlib.suppress(AgentError):
            await self.warm(configuration)

    def tabs(self, conversation: Conversation) -> int:
        """How many conversations share *conversation*'s agent."""
        return len(self._users.get(conversation.configuration.key, set()) - {WARM})

    def history(self, conversation: Conversation) -> Backoff:
        """How often *conversation*'s agent died in a row."""
        return self._backoffs.setdefault(conversation.configuration.key, self.backoff())

    def died(self, conversation: Conversation, agent: Agent) -> None:
        """*agent* died while it was in use; told by each of its sessions, counted once."""
        if agent not in self._dead:
            self._dead.add(agent)
            self.history(conversation).died()

    async def stop_all(self) -> None:
        """Stop every agent; none is started any more."""
        self._closed = True
        launches, self._launches = list(self._launches.values()), {}
        await asyncio.gather(*(_stop(launch) for launch in launches))
        await asyncio.gather(*(agent.wait_closed() for agent in tuple(self._alive)))

    def _launched(self, configuration: Configuration) -> asyncio.Task[Agent]:
        if self._closed:
            raise AgentError("The host is closed; no agent is started any more.", hint="Restart the kernel.")
        key = configuration.key
        launch = self._launches.get(key)
        if launch is None or _is_over(launch):
            launch = self._launches[key] = self._loop.spawn(self._launch(configuration))
        return launch

    async def _launch(self, configuration: Configuration) -> Agent:
        backoff = self._backoffs.setdefault(configuration.key, self.backoff())
        await asyncio.sleep(backoff.seconds)
        try:
            launched, tap = SWITCH.launching(configuration.spec, configuration.env)
            limit = self.start_timeout
            agent = await Agent.launch(
                launched, cwd=configuration.cwd, env=configuration.env, initialize_timeout=limit, tap=tap
            )
        except (AgentNotFound, AuthenticationRequired):
            raise
        except AgentError:
            backoff.died()
            raise
        self._alive.add(agent)
        self._configured[agent] = configuration
        self._loop.spawn(self._until_gone(agent))
        return agent

    async def _until_gone(self, agent: Agent) -> None:
        await agent.wait_closed()
        self._alive.discard(agent)

    async def _drop(self, key: bytes, user: str) -> None:
        users = self._users.get(key, set())
        if user not in users:
            return
        users.discard(user)
        if not users:
            self._users.pop(key, None)
            await _stop(self._launches.pop(key, None))


async def _stop(launch: asyncio.Task[Agent] | None) -> None:
    if launch is None:
        return
    if not launch.done():
        launch.cancel()
        await asyncio.wait([launch])
    if not launch.cancelled() and launch.exception() is None:
        await launch.result().stop()


def _is_over(launch: asyncio.Task[Agent]) -> bool:
    if not launch.done():
        return False
    return launch.cancelled() or launch.exception() is not None or launch.result().closed
