"""The models that were found, and which of them a session uses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.updates import select, update
from agentnb.plugins.local.abilities import (
    Abilities,
    find_out,
    is_unloaded,
    keep_abilities,
    kept_abilities,
    look_up,
    told_abilities,
)
from agentnb.plugins.local.discovery import LOOK_SECONDS, find_servers
from agentnb.plugins.local.server import ServerTrouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from agentnb.plugins.acp_agent.reply import AcpReply
    from agentnb.plugins.local.discovery import FoundModels, FoundServer, Model
    from agentnb.plugins.local.server import ModelServer
    from agentnb.plugins.local.session import LocalSession
    from agentnb.plugins.local.settings import LocalSettings


MOST_TRIED = 2
"""The most models of a server that is tested with a request; with more, it is only queried, since it may load each."""
TELL_SECONDS = 1.0


class AbilityLookup:
    """Finds out the abilities of the models of an agent's process, if they are not known.

    Args:
        tell: Sends the client the current choices again.
    """

    def __init__(self, tell: Callable[[], Awaitable[None]]) -> None:
        self._tell = tell
        self._waiting: dict[str, tuple[Model, bool]] = {}
        self._partly: dict[str, Abilities] = {}
        self._away: set[str] = set()
        self._done = 0
        self._task: asyncio.Task[None] | None = None

    def begin(self, servers: Iterable[FoundServer], first: Model | None) -> None:
        """Query all models whose abilities are unknown, *first* before the others; returns at once."""
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
        """The progress as a sentence; '' if nothing is left to ask."""
        if not self._waiting:
            return ""
        return f"Finding out what models can do: {self._done} of {self._done + len(self._waiting)}."

    def about(self, model: Model) -> str:
        known = kept_abilities(model) or self._partly.get(model.key)
        if known is not None:
            return "Cannot use tools." if known.tools is False else str(known)
        if model.server.url in self._away:
            return "Its server does not answer."
        return "Finding out what it can do…" if model.key in self._waiting else ""

    async def _run(self) -> None:
        last_update = asyncio.get_running_loop().time()
        while self._waiting:
            model, may_try = next(iter(self._waiting.values()))
            await self._ask(model, may_try=may_try)
            self._waiting.pop(model.key, None)
            self._done += 1
            if self._done == 1 or not self._waiting or asyncio.get_running_loop().time() - last_update > TELL_SECONDS:
                last_update = asyncio.get_running_loop().time()
                await self._tell()

    async def _ask(self, model: Model, *, may_try: bool) -> None:
        if model.server.url in self._away:
            return
        try:
            abilities = await asyncio.wait_for((find_out if may_try else told_abilities)(model), LOOK_SECONDS)
        except (ServerTrouble, asyncio.TimeoutError):
            self._away.add(model.server.url)
            return
        if abilities.tools is None:  # the model's first turn tests tool calls
            self._partly[model.key] = abilities
        else:
            keep_abilities(model, abilities)


MODEL = "model"


class ModelChoice:
    """The models of an agent's process.

    Args:
        settings: The settings for servers and model.
        tell: Sends the client the current choices of its sessions again.
    """

    def __init__(self, settings: LocalSettings, tell: Callable[[], Awaitable[None]]) -> None:
        self.settings = settings
        self._lookup = AbilityLookup(tell)
        self._servers: dict[str, ModelServer] = {}
        self._discovered: FoundModels | None = None
        self._looking = asyncio.Lock()

    async def look(self) -> FoundModels:
        """Look for servers and models, and begin to find out their abilities."""
        async with self._looking:
            self._discovered = await find_servers(self.settings, self._servers)
            self._lookup.begin(self._discovered.servers, self._model_called(None))
            return self._discovered

    async def learn(self, session: LocalSession) -> None:
        """Find out whether the model of *session* uses tools, if its server reports it."""
        model = self.model_of(session)
        if model is not None:
            await look_up(model)

    def model_of(self, session: LocalSession) -> Model | None:
        """Returns the model that *session* uses, of those that were found; None if there is none."""
        return self._model_called(session.model)

    def _model_called(self, chosen: str | None) -> Model | None:
        offered = self._offered()
        wanted = chosen or self.settings.model
        if wanted is None:
            return next(iter(offered.values()), None)
        names = {wanted, f"{wanted}:latest"}  # Ollama's default tag
        named = (model for value, model in offered.items() if value == wanted or model.model_id in names)
        return next(named, None)

    @property
    def names(self) -> list[str]:
        return [*self._offered()]

    def problem(self, session: LocalSession) -> str:
        """Returns why :meth:`model_of` finds no model for *session*, and what to do."""
        problem = self._discovered.problem() if self._discovered is not None else None
        if problem is not None:
            return " ".join(problem)
        there = ", ".join(self._offered())
        return f"The model {session.model or self.settings.model} is not available. Choose one of these: {there}."

    def options(self, session: LocalSession) -> list[dict[str, Any]]:
        offered = self._offered()
        model = self.model_of(session) or next(iter(offered.values()), None)
        if model is None or self._discovered is None:
            return []
        current = next(value for value, each in offered.items() if each is model)
        groups = [
            {
                "group": server.server.place,
                "name": f"{server.kind} ({server.server.place})",
                "options": [
                    {"value": value, "name": each.model_id, "description": self._lookup.about(each)}
                    for value, each in offered.items()
                    if each.server is server.server
                ],
            }
            for server in self._discovered.servers
            if server.models
        ]
        options = groups if len(groups) > 1 else groups[0]["options"]
        about = f"The model that answers. {self._lookup.progress}".strip()
        return [select(MODEL, "Model", about, current, options, category=MODEL, meta=_warning(model))]

    def choose(self, session: LocalSession, option_id: str, value: str | bool) -> None:
        if option_id != MODEL:
            raise ValueError(f"There is no option `{option_id}`; there is `{MODEL}`.")
        offered = self._offered()
        if not isinstance(value, str) or value not in offered:
            raise ValueError(f"There is no model `{value}`; there are {', '.join(f'`{each}`' for each in offered)}.")
        session.model = value

    def _offered(self) -> dict[str, Model]:
        """Returns every model by its value in the selector."""
        models = self._discovered.models if self._discovered is not None else []
        names = [model.model_id for model in models]
        offered: dict[str, Model] = {}
        for model in models:
            unique = names.count(model.model_id) == 1
            offered.setdefault(model.model_id if unique else f"{model.model_id} @ {model.server.place}", model)
        return offered

    async def tell(self, reply: AcpReply, session: LocalSession) -> None:
        if options := self.options(session):
            await reply.tell(update("config_option_update", config_options=options))


def _warning(model: Model) -> dict[str, Any] | None:
    """Returns the warning to show above a conversation with *model* before it fails; None if there is none."""
    known = kept_abilities(model)
    if known is None or known.tools is not False:
        return None
    warning = f"{model.model_id} cannot use tools: it answers in text only. Choose a model with tools to change files."
    return {"agentnb": {"warning": warning}}
