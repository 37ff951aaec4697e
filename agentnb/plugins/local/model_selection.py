"""The models that were found, and which of them a session uses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.updates import select, update

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.plugins.acp_agent.reply import AcpReply
    from agentnb.plugins.local.discovery import FoundModels, Model
    from agentnb.plugins.local.server import ModelServer
    from agentnb.plugins.local.session import LocalSession
    from agentnb.plugins.local.settings import LocalSettings

MODEL = "model"


class ModelChoice:
    """The models of an agent's process.

    Args:
        settings: Which servers and model are used.
        tell: Tells the client anew what its sessions can choose.
    """

    def __init__(self, settings: LocalSettings, tell: Callable[[], Awaitable[None]]) -> None:
        from agentnb.plugins.local.ability_lookup import AbilityLookup

        self.settings = settings
        self._lookup = AbilityLookup(tell)
        self._servers: dict[str, ModelServer] = {}
        self._found: FoundModels | None = None
        self._looking = asyncio.Lock()

    async def look(self) -> FoundModels:
        """Look for servers and models, and begin to find out what they can do."""
        from agentnb.plugins.local.discovery import find_servers

        async with self._looking:
            self._found = await find_servers(self.settings, self._servers)
            self._lookup.begin(self._found.servers, self._model_called(None))
            return self._found

    async def learn(self, session: LocalSession) -> None:
        """Find out whether the model of *session* uses tools, if its server tells."""
        from agentnb.plugins.local.abilities import look_up

        model = self.model_of(session)
        if model is not None:
            await look_up(model)

    def model_of(self, session: LocalSession) -> Model | None:
        """The model that *session* uses, of those that were found; None where there is none."""
        return self._model_called(session.model)

    def _model_called(self, chosen: str | None) -> Model | None:
        offered = self._offered()
        wanted = chosen or self.settings.model
        if wanted is None:
            return next(iter(offered.values()), None)
        names = {wanted, f"{wanted}:latest"}  # as Ollama writes it
        named = (model for value, model in offered.items() if value == wanted or model.model_id in names)
        return next(named, None)

    @property
    def names(self) -> list[str]:
        """The values that the selector offers."""
        return [*self._offered()]

    def problem(self, session: LocalSession) -> str:
        """Returns why :meth:`model_of` finds no model for *session*, and what to do."""
        problem = self._found.problem() if self._found is not None else None
        if problem is not None:
            return " ".join(problem)
        there = ", ".join(self._offered())
        return f"The model {session.model or self.settings.model} is not available. Choose one of these: {there}."

    def options(self, session: LocalSession) -> list[dict[str, Any]]:
        """The config options of *session*: its model."""
        offered = self._offered()
        model = self.model_of(session) or next(iter(offered.values()), None)
        if model is None or self._found is None:
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
            for server in self._found.servers
            if server.models
        ]
        options = groups if len(groups) > 1 else groups[0]["options"]
        about = f"The model that answers. {self._lookup.progress}".strip()
        return [select(MODEL, "Model", about, current, options, category=MODEL, _meta=_warning(model))]

    def choose(self, session: LocalSession, option_id: str, value: str | bool) -> None:
        if option_id != MODEL:
            raise ValueError(f"There is no option `{option_id}`; there is `{MODEL}`.")
        offered = self._offered()
        if not isinstance(value, str) or value not in offered:
            raise ValueError(f"There is no model `{value}`; there are {', '.join(f'`{each}`' for each in offered)}.")
        session.model = value

    def _offered(self) -> dict[str, Model]:
        """Every model by its value in the selector."""
        models = self._found.models if self._found is not None else []
        names = [model.model_id for model in models]
        offered: dict[str, Model] = {}
        for model in models:
            unique = names.count(model.model_id) == 1
            offered.setdefault(model.model_id if unique else f"{model.model_id} @ {model.server.place}", model)
        return offered

    async def tell(self, reply: AcpReply, session: LocalSession) -> None:
        """Tell the client anew what *session* can choose."""
        if options := self.options(session):
            await reply.tell(update("config_option_update", config_options=options))


def _warning(model: Model) -> dict[str, Any] | None:
    """The warning above a conversation with *model*, before it fails; None where there is none."""
    from agentnb.plugins.local.abilities import kept_abilities

    known = kept_abilities(model)
    if known is None or known.tools is not False:
        return None
    warning = f"{model.model_id} cannot use tools: it answers in text only. Choose a model with tools to change files."
    return {"agentnb": {"warning": warning}}
