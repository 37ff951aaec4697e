"""Finds out in the background what every model can do; the list of models says how far that is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.plugins.local.abilities import (
    Abilities,
    find_out,
    is_unloaded,
    keep_abilities,
    kept_abilities,
    told_abilities,
)
from agentnb.plugins.local.discovery import LOOK_SECONDS
from agentnb.plugins.local.server import ServerTrouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from agentnb.plugins.local.discovery import FoundServer, Model

MOST_TRIED = 2
"""A server with more models is asked what it says of them, and none of them is tried: it might have to load each."""
TELL_SECONDS = 1.0


class AbilityLookup:
    """The models of an agent's process that are still to be asked about.

    Args:
        tell: Tells the client anew what there is to choose.
    """

    def __init__(self, tell: Callable[[], Awaitable[None]]) -> None:
        self._tell = tell
        self._waiting: dict[str, tuple[Model, bool]] = {}
        self._partly: dict[str, Abilities] = {}
        self._away: set[str] = set()
        self._done = 0
        self._task: asyncio.Task[None] | None = None

    def begin(self, servers: Iterable[FoundServer], first: Model | None) -> None:
        """Ask about all models that nothing is known of, *first* before the others; comes back at once."""
        for server in servers:
            self._away.discard(server.server.url)
            for model in server.models:
                if not is_unloaded(model) and model.key not in self._partly and kept_abilities(model) is None:
                    self._waiting[model.key] = model, len(server.models) <= MOST_TRIED
        if first is not None and first.key in self._waiting:
            self._waiting = {first.key: self._waiting.pop(first.key), **self._waiting}
        if self._waiting and (self._task is None or self._task.done()):
            self._done = 0
            self._task = asyncio.create_task(self._run())

    @property
    def progress(self) -> str:
        """How far it is, a sentence; empty where nothing is left to ask."""
        if not self._waiting:
            return ""
        return f"Finding out what models can do: {self._done} of {self._done + len(self._waiting)}."

    def about(self, model: Model) -> str:
        """What is known of *model*, for the list of models."""
        known = kept_abilities(model) or self._partly.get(model.key)
        if known is not None:
            return "Cannot use tools." if known.tools is False else str(known)
        if model.server.url in self._away:
            return "Its server does not answer."
        return "Finding out what it can do…" if model.key in self._waiting else ""

    async def _run(self) -> None:
        told = asyncio.get_running_loop().time()
        while self._waiting:
            model, may_try = next(iter(self._waiting.values()))
            await self._ask(model, may_try=may_try)
            self._waiting.pop(model.key, None)
            self._done += 1
            if self._done == 1 or not self._waiting or asyncio.get_running_loop().time() - told > TELL_SECONDS:
                told = asyncio.get_running_loop().time()
                await self._tell()

    async def _ask(self, model: Model, *, may_try: bool) -> None:
        if model.server.url in self._away:
            return
        try:
            found = await asyncio.wait_for((find_out if may_try else told_abilities)(model), LOOK_SECONDS)
        except (ServerTrouble, asyncio.TimeoutError):
            self._away.add(model.server.url)
            return
        if found.tools is None:  # its first turn tries it
            self._partly[model.key] = found
        else:
            keep_abilities(model, found)
