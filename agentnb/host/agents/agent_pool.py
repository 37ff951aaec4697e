"""Agent processes, shared: one for all sessions of equal configuration (:mod:`agentnb.host.session_options`)."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from agentnb.acp.agent import Agent
from agentnb.acp.peer import PATIENCE
from agentnb.agent.process import SpawnedAgent
from agentnb.configuration.named_things import demand_launcher
from agentnb.errors import AgentError, AgentNotFound, AuthenticationRequired, PolicyError
from agentnb.host.agents.tools import allow_reading, tool_session
from agentnb.host.session_options import demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.peer import Spawn
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.environment import Environment
    from agentnb.host.loop import HostLoop
    from agentnb.host.session_options import Configuration


WARM = "warm"
WARM_SECONDS = 600.0
"""Seconds that an agent that was started early waits for its first session."""
FIRST = 0.5
CAP = 30.0
TRIES = 5


class Backoff:
    """The deaths of one agent in a row, and the wait that follows from them."""

    def __init__(self, *, first: float = FIRST, cap: float = CAP, tries: int = TRIES) -> None:
        self.deaths: int = 0
        self._first = first
        self._cap = cap
        self._tries = tries

    @property
    def seconds(self) -> float:
        if self.deaths <= 1:
            return 0.0
        return min(self._cap, self._first * float(1 << min(self.deaths - 2, 30)))

    @property
    def hopeless(self) -> bool:
        """True if it died so often that it is only started again when someone needs it."""
        return self.deaths >= self._tries

    def died(self) -> None:
        self.deaths += 1

    def lives(self) -> None:
        """The agent has done its work, or the user restarts it: reset the count of deaths."""
        self.deaths = 0


class AgentPool:
    def __init__(self, loop: HostLoop, environment: Environment, *, warm_seconds: float = WARM_SECONDS) -> None:
        self.backoff: Callable[[], Backoff] = Backoff
        self.start_timeout: float | None = None
        self.stop_patience = PATIENCE
        self.host: object = None
        self._loop = loop
        self._environment = environment
        self._warm_seconds = warm_seconds
        self._launches: dict[str, asyncio.Task[Agent]] = {}
        self._stops: set[asyncio.Task[None]] = set()
        self._users: dict[str, set[str]] = {}
        self._early: dict[str, Configuration] = {}
        self._backoffs: dict[str, Backoff] = {}
        self._closed = False
        self._alive: dict[Agent, Configuration] = {}
        self._dead: WeakSet[Agent] = WeakSet()

    async def acquire(self, configuration: Configuration, tab_id: str) -> Agent:
        """Returns the agent of *configuration* for the tab *tab_id*; launches it if it does not run."""
        if configuration.key not in self._launches:
            self._take_early(configuration)
        users = self._users.setdefault(configuration.key, set())
        users.discard(WARM)
        users.add(tab_id)
        return await asyncio.shield(self._launched(configuration))

    def _take_early(self, configuration: Configuration) -> None:
        """Give *configuration* a process that was started early for the same one with other kernel tools."""
        wanted = configuration.without_kernel.key
        for key, early in [*self._early.items()]:
            is_free = self._users.get(key) == {WARM} and key in self._launches
            if is_free and early.without_kernel.key == wanted and early.confine == configuration.confine:
                self._users.pop(key)
                self._early.pop(key)
                self._launches[configuration.key] = self._launches.pop(key)
                return

    async def release(self, configuration: Configuration, tab_id: str) -> None:
        """Note that the tab *tab_id* no longer needs its agent; the last tab to leave stops the process."""
        await self._drop(configuration.key, tab_id)

    async def stop(self, configuration: Configuration) -> None:
        """End the process of *configuration*, whoever uses it; it is launched again when needed."""
        await _stop(self._launches.get(configuration.key))

    async def borrow(self, configuration: Configuration) -> Agent:
        """Returns an agent for requests outside of any session.

        It is a running agent with the same description, folder and environment, whatever its components are. If none
        runs, one is started and stays warm for a session that may follow.
        """
        bare = configuration.bare.key
        there = (agent for agent, own in self._alive.items() if not agent.closed and own.bare.key == bare)
        return next(there, None) or await self.warm(configuration)

    def running(self, spec: AgentSpec) -> list[Agent]:
        return [agent for agent, own in self._alive.items() if own.spec == spec and not agent.closed]

    async def warm(self, configuration: Configuration) -> Agent:
        """Start an agent before anyone needs it; it is stopped again if nobody uses it in time."""
        key = configuration.key
        users = self._users.setdefault(key, set())
        first = not users
        if first:
            users.add(WARM)
            self._early[key] = configuration
        try:
            return await asyncio.shield(self._launched(configuration))
        finally:
            if first:  # its warm time begins when it has started
                self._loop.later(self._warm_seconds, lambda: self._loop.spawn(self._drop(key, WARM)))

    def begin(self, configuration: Configuration) -> None:
        """Like :meth:`warm`, but without waiting; a failure is reported to the session that needs the agent later."""
        self._loop.spawn(self._warm_quietly(configuration))

    async def _warm_quietly(self, configuration: Configuration) -> None:
        with contextlib.suppress(AgentError, PolicyError):
            await self.warm(configuration)

    def tabs(self, configuration: Configuration) -> int:
        return len(self._users.get(configuration.key, set()) - {WARM})

    def history(self, configuration: Configuration) -> Backoff:
        """Returns how often the agent of *configuration* died in a row."""
        return self._backoffs.setdefault(configuration.key, self.backoff())

    def died(self, configuration: Configuration, agent: Agent) -> None:
        """*agent* died while in use: each of its sessions reports that, but it is counted once."""
        if agent not in self._dead:
            self._dead.add(agent)
            self.history(configuration).died()

    async def stop_all(self) -> None:
        """Stop every agent, and let none start any more."""
        self._closed = True
        launches, self._launches = list(self._launches.values()), {}
        await asyncio.gather(*(_stop(launch) for launch in launches), *self._stops)
        await asyncio.gather(*(agent.wait_closed() for agent in tuple(self._alive)))

    def demand_allowed(self, configuration: Configuration) -> None:
        """Raise if the site's policy, as it is now, does not allow such an agent."""
        demand(configuration, self._environment.sources())

    def _launched(self, configuration: Configuration) -> asyncio.Task[Agent]:
        if self._closed:
            raise AgentError("The host is closed and starts no agents.", hint="Restart the kernel.")
        self.demand_allowed(configuration)
        key = configuration.key
        launch = self._launches.get(key)
        if launch is None or _is_over(launch):
            launch = self._launches[key] = self._loop.spawn(self._launch(configuration))
        return launch

    async def _launch(self, configuration: Configuration) -> Agent:
        backoff = self.history(configuration)
        await asyncio.sleep(backoff.seconds)
        try:
            launched, tap = self._environment.cassette.launching(configuration.spec, configuration.env)
            agent = await Agent.launch(
                launched,
                cwd=configuration.cwd,
                env=configuration.env,
                initialize_timeout=self.start_timeout,
                tap=tap,
                spawn=self._spawn(configuration, is_replay=launched != configuration.spec),
            )
        except (AgentNotFound, AuthenticationRequired):
            raise
        except AgentError:
            backoff.died()
            raise
        agent.patience = self.stop_patience
        self._alive[agent] = configuration
        self._loop.spawn(self._until_gone(agent))
        return agent

    def _spawn(self, configuration: Configuration, *, is_replay: bool) -> Spawn:
        """Returns the function that starts the agent: alone, or at the end of its chain of components."""
        confine = None if is_replay else configuration.confine
        if not configuration.chain or is_replay:
            return SpawnedAgent.spawn if confine is None else partial(SpawnedAgent.spawn, confine=confine)
        session = tool_session(
            allow_reading,
            self._environment,
            session="",
            folder=str(configuration.cwd),
            host=self.host,
            configuration=configuration,
        )
        return demand_launcher().spawn(configuration.chain, session, confine)

    async def _until_gone(self, agent: Agent) -> None:
        await agent.wait_closed()
        self._alive.pop(agent, None)

    async def _drop(self, key: str, user: str) -> None:
        users = self._users.get(key, set())
        if user not in users:
            return
        users.discard(user)
        self._early.pop(key, None)
        if not users:
            self._users.pop(key, None)
            stop = self._loop.spawn(_stop(self._launches.pop(key, None)))
            self._stops.add(stop)  # the host waits for these when it ends
            stop.add_done_callback(self._stops.discard)
            await asyncio.shield(stop)


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
