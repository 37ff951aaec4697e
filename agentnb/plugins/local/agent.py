"""The local agent as an ACP agent: what it adds to the methods that all of agentnb's own agents share."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.agent import AcpAgent, slash_command
from agentnb.plugins.acp_agent.content import words
from agentnb.plugins.acp_agent.reply import AcpReply
from agentnb.plugins.acp_agent.updates import update
from agentnb.plugins.local.model_selection import ModelChoice
from agentnb.plugins.local.session import LocalSession

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agentnb.plugins.acp_agent.client import AcpClient
    from agentnb.plugins.acp_agent.client_requests import NewSession
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.session import SessionStore
    from agentnb.plugins.local.settings import LocalSettings

MOST_SESSIONS = 200
"""The most conversations that are kept; a new one replaces the oldest."""


class LocalAgent(AcpAgent[LocalSession]):
    """The agent that uses a model on the user's server."""

    name = "local"
    title = "Local model"
    session_class = LocalSession
    commands: tuple[dict[str, Any], ...] = (
        slash_command("check", "Reports which servers and models were found, and what is wrong."),
        slash_command("chat", "Continues without tools."),
        slash_command("tools", "Uses tools again."),
        slash_command("pull", "Downloads a model to Ollama.", "MODEL, such as qwen3:4b"),
    )

    def __init__(self, store: SessionStore, client: AcpClient, *, version: str, settings: LocalSettings) -> None:
        super().__init__(store, client, version=version)
        self._selection = ModelChoice(settings, self._tell_options)

    async def new_session(self, params: NewSession) -> dict[str, Any]:
        """ACP `session/new`."""
        for record in self._store.records()[:-MOST_SESSIONS]:
            if record["session_id"] not in self._sessions:
                self._store.delete(record["session_id"])
        return await super().new_session(params)

    async def prepare(self) -> None:
        """Look for servers, which may have new models."""
        await self._selection.look()

    async def _tell_options(self) -> None:
        """Send the client the config options of its sessions, now that more is known about the models."""
        with contextlib.suppress(ConnectionError):  # the client left meanwhile
            for session in [*self._sessions.values()]:
                if options := self.options(session):
                    message = update("config_option_update", config_options=options)
                    await self._client.update(session.session_id, message)

    def options(self, session: LocalSession) -> list[dict[str, Any]]:
        """Returns the config options of *session*: its model."""
        return self._selection.options(session)

    def opened(self, session: LocalSession) -> dict[str, Any]:
        """Returns the answer to a request that opened *session*; it says if no model answers, and why."""
        answer = super().opened(session)
        if self._selection.model_of(session) is None:
            answer["_meta"] = {"agentnb": {"problem": self._selection.problem(session)}}
        return answer

    async def set_option(self, session: LocalSession, option_id: str, value: str | bool) -> None:
        self._selection.choose(session, option_id, value)
        await self._selection.learn(session)

    # -- turns --------------------------------------------------------------------------------------------------------

    def answer(self, session: LocalSession, prompt: list[ContentBlock]) -> tuple[AcpReply, Coroutine[Any, Any, None]]:
        """Returns the answer to *prompt* in *session*, and the coroutine that makes it."""
        reply = AcpReply(
            client=self._client,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            capabilities=self._capabilities,
        )
        return reply, self._answer(reply, session, prompt)

    async def _answer(self, reply: AcpReply, session: LocalSession, prompt: list[ContentBlock]) -> None:
        from agentnb.plugins.local import commands
        from agentnb.plugins.local.turn import run_turn

        command, _, rest = words(prompt).partition(" ")
        if command == "/check":
            await commands.check(self._selection, reply, session)
        elif command in {"/chat", "/tools"}:
            await commands.use_tools(reply, session, wanted=command == "/tools")
        elif command == "/pull":
            await commands.pull(self._selection, reply, session, rest.strip())
        else:
            await run_turn(self._selection, reply, session, prompt)
