"""The agent as ACP sees it: what it has of its own beside the methods of every agent of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.agent import PROTOCOL_VERSION, AcpAgent
from agentnb.plugins.acp_agent.reply import Reply
from agentnb.plugins.acp_agent.updates import AvailableCommand, CommandInput
from agentnb.plugins.local.model_selection import ModelSelection
from agentnb.plugins.local.prompt import words
from agentnb.plugins.local.session import Session

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from agentnb.plugins.acp_agent.client import Client
    from agentnb.plugins.acp_agent.config_options import ConfigOption
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.store import Record, Store
    from agentnb.plugins.local.settings import Settings

MOST_SESSIONS = 200
"""How many conversations are kept; with a new one the oldest is deleted."""
COMMANDS = (
    AvailableCommand(name="check", description="Says which servers and models were found, and what is wrong."),
    AvailableCommand(name="chat", description="Goes on without tools."),
    AvailableCommand(name="tools", description="Uses tools again."),
    AvailableCommand(
        name="pull", description="Downloads a model to Ollama.", input=CommandInput(hint="MODEL, as qwen3:4b")
    ),
)


class LocalAgent(AcpAgent[Session]):
    """The agent that a model on a server of the user's works for."""

    def __init__(self, store: Store, client: Client, *, version: str, settings: Settings) -> None:
        super().__init__(store, client, version=version)
        self._selection = ModelSelection(settings)

    def introduction(self) -> dict[str, Any]:
        """The answer to `initialize`."""
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"acp": True},
                "sessionCapabilities": {"list": {}, "delete": {}, "fork": {}, "resume": {}, "close": {}},
            },
            "authMethods": [],
            "agentInfo": {"name": "local", "title": "Local model", "version": self._version},
        }

    def make_session(self, session_id: str, cwd: Path) -> Session:
        """A new session."""
        for record in self._store.records()[:-MOST_SESSIONS]:
            if record["session_id"] not in self._sessions:
                self._store.delete(record["session_id"])
        return Session(session_id, cwd)

    def restore_session(self, record: Record) -> Session:
        """The session that gave *record*."""
        return Session.restore(record)

    def commands(self) -> list[AvailableCommand]:
        """Its slash commands."""
        return [*COMMANDS]

    def modes(self, session: Session) -> None:
        """It has no modes."""

    async def prepare(self) -> None:
        """Look for servers: there may be new models."""
        await self._selection.look()
        await self._selection.learn()

    def options(self, session: Session) -> list[ConfigOption]:
        """The config options of *session*: its model."""
        return self._selection.options(session)

    def problem(self, session: Session) -> str | None:
        """Why no model answers in *session*."""
        return None if self._selection.model_of(session) is not None else self._selection.problem(session)

    async def set_option(self, session: Session, option_id: str, value: str | bool) -> None:
        """Choose the model of *session*."""
        self._selection.choose(session, option_id, value)
        await self._selection.learn(session)

    # -- turns --------------------------------------------------------------------------------------------------------

    def answer(self, session: Session, prompt: list[ContentBlock]) -> tuple[Reply, Coroutine[Any, Any, None]]:
        """The answer to *prompt* in *session*, and what makes it."""
        reply = Reply(
            client=self._client,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            capabilities=self._capabilities,
        )
        return reply, self._answer(reply, session, prompt)

    async def _answer(self, reply: Reply, session: Session, prompt: list[ContentBlock]) -> None:
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
