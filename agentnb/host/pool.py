"""Agent processes, shared: one for all sessions of equal configuration (agent, command, folder, environment)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.acp.agent import Agent
from agentnb.cassette.switch import SWITCH

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.host.loop import HostLoop

Configuration = tuple[str, tuple[str, ...], str, tuple[tuple[str, str], ...]]
Key = tuple[str, tuple[str, ...], str, tuple[tuple[str, str], ...], int]


class AgentPool:
    """The agents in use and who uses them.

    Args:
        loop: The host's loop, that launches run on.
    """

    def __init__(self, loop: HostLoop) -> None:
        self._loop = loop
        self._launches: dict[Key, asyncio.Task[Agent]] = {}
        self._users: dict[Key, set[str]] = {}
        self._keys: dict[str, Key] = {}

    async def acquire(self, conversation: Conversation) -> Agent:
        """The agent for *conversation*'s configuration, launched if it does not run.

        Raises:
            AgentError: If it cannot be launched.
        """
        key = self._keys[conversation.tab_id] = (*_key(conversation), SWITCH.turned)
        launch = self._launches.get(key)
        if launch is None or _is_over(launch):
            spec, tap = SWITCH.launching(conversation.spec, conversation.env)
            launch = self._loop.spawn(Agent.launch(spec, cwd=conversation.cwd, env=conversation.env, tap=tap))
            self._launches[key] = launch
        self._users.setdefault(key, set()).add(conversation.tab_id)
        return await asyncio.shield(launch)

    async def release(self, conversation: Conversation) -> None:
        """Say that *conversation* needs its agent no more; the last one stops the process."""
        key = self._keys.pop(conversation.tab_id, None)
        if key is None:
            return
        users = self._users.get(key, set())
        users.discard(conversation.tab_id)
        if not users:
            self._users.pop(key, None)
            launch = self._launches.pop(key, None)
            await _stop(launch)

    async def stop_all(self) -> None:
        """Stop every agent."""
        launches, self._launches = list(self._launches.values()), {}
        await asyncio.gather(*(_stop(launch) for launch in launches))


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


def _key(conversation: Conversation) -> Configuration:
    spec = conversation.spec
    return spec.name, tuple(spec.command), str(conversation.cwd), tuple(sorted(conversation.env.items()))
