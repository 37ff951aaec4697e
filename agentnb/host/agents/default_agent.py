"""The agent of a conversation for which nobody chooses one: for the page and the magics, in one place."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from agentnb.agent.catalog import TOUR, find
from agentnb.clock import now_ms
from agentnb.credentials import logger
from agentnb.errors import AgentnbError
from agentnb.host.channels import AGENT
from agentnb.plugin_registry import plugins
from agentnb.site_policy import site_policy
from agentnb.state import AgentInfo, RootConfigChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from logging import Logger

    from agentnb.configuration.sources import Sources
    from agentnb.host.history.recorder import SessionRecorder
    from agentnb.host.host import Host
    from agentnb.log.store import Which
    from agentnb.ports import AgentReadiness

log: Logger = logger("agentnb.host")

_BUILT_IN = (TOUR, "local")
"""Always installed: the tour is no agent to work with, and the other needs a model server."""
_LOOKED_AT = 20
_READY_SECONDS = 5.0


class DefaultAgent:
    """Finds one host's default agent and tells the pages. Call it on the host's thread."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._used_before: list[str] = []
        self._used_here: list[str] = []
        self._reading: asyncio.Task[None] | None = None
        self._not_ready: set[str] = set()

    async def find(self) -> str:
        """The name of the default agent; empty where there is none."""
        if self._host.recorder is not None:
            self._reading = self._reading or self._host.loop.spawn(self._read(self._host.recorder))
            await asyncio.shield(self._reading)
        await self._find_not_ready()
        self._publish()
        return self.name

    @property
    def name(self) -> str:
        """As :meth:`find`, as far as the log was read."""
        return self._chosen(self._host.environment.sources())

    def show(self) -> None:
        """Tell the pages, at once or as soon as the log was read."""
        if self._host.recorder is None or (self._reading is not None and self._reading.done()):
            self._publish()
        else:
            self._host.loop.spawn(self.find())

    def used(self, name: str) -> None:
        """A message goes to this agent."""
        self._not_ready.discard(name)
        self._used_here.insert(0, name)
        del self._used_here[_LOOKED_AT:]
        self.show()

    async def _read(self, recorder: SessionRecorder) -> None:
        try:
            self._used_before = await asyncio.to_thread(_used, recorder)
        except AgentnbError as error:
            log.warning("The agent used last is not known: %s", error)

    async def _find_not_ready(self) -> None:
        """Look whether the agent that would be chosen could work, where another one would be chosen instead."""
        self._not_ready = set()
        name = self.name
        self._not_ready = {name}
        has_other = self.name != name
        self._not_ready = set()
        if has_other and await self._problem(name):
            self._not_ready = {name}

    async def _problem(self, name: str) -> str:
        """Why the agent could not work now, as plug-ins say; empty where none says so."""
        for plugin, readiness in plugins().offers("readiness"):
            if readiness.name == name:
                env = {**os.environ, **find(name).env, **self._host.environment.default_variables(name)}
                try:
                    return await asyncio.wait_for(_asked(plugin.name, readiness, env), _READY_SECONDS)
                except (asyncio.TimeoutError, AgentnbError) as error:
                    log.warning("Whether %s could work is not known: %s", name, str(error) or "it took too long")
        return ""

    def _publish(self) -> None:
        name, config = self.name, self._host.root.state.config
        if config is not None and config.values.get(AGENT) != name:
            self._host.root.accept(RootConfigChanged(config={AGENT: name}, time=now_ms()))

    def _chosen(self, sources: Sources) -> str:
        chosen, listed = sources["agent"].value, {info.provider for info in self._host.root.state.agents}
        if chosen and (chosen in listed or site_policy().why_not("agents", chosen) is None):
            return str(chosen)
        return next(self._candidates(), "")

    def _candidates(self) -> Iterator[str]:
        """The agents that were used, latest first, then the real ones; installed, and not failed here.

        One that npx or uvx downloads, the tour, and one that could not work now are the default only where they were
        used and no real one is installed.
        """
        listed = [info for info in self._host.root.state.agents if not info.hidden]
        failed = {
            each.spec.name for each in self._host.conversations.values() if each.session.state.lifecycle == "failed"
        }
        installed = {info.provider for info in listed if not info.missing} - failed
        downloaded = {info.provider for info in listed if info.missing and info.runner} - failed
        used = (*self._used_here, *self._used_before)
        real = [name for name in real_agents(listed) if name in installed]
        usable = installed - {TOUR} - self._not_ready if real else installed | downloaded
        yield from (name for name in used if name in usable)
        yield from real


async def _asked(plugin: str, readiness: AgentReadiness, env: dict[str, str]) -> str:
    with plugins().guard(plugin, "readiness"):
        return await readiness.problem(env)


def _used(recorder: SessionRecorder) -> list[str]:
    """The agents of the kept conversations, those of this notebook first, each time the latest first."""
    every: Which = {"limit": _LOOKED_AT}
    return [each.agent for which in (every | recorder.here(), every) for each in recorder.store.sessions(**which)]


def real_agents(infos: Iterable[AgentInfo]) -> Iterator[str]:
    """The names of those that are installed and do the work of an agent."""
    return (info.provider for info in infos if not info.missing and info.provider not in _BUILT_IN)
