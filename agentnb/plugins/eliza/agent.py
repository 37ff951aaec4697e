"""eliza as ACP sees it: what it has of its own beside the methods of every agent of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.agent import AcpAgent, taking
from agentnb.plugins.acp_agent.client_requests import Authenticate, SetMode
from agentnb.plugins.acp_agent.updates import AvailableCommand, CommandInput
from agentnb.plugins.eliza import attachment
from agentnb.plugins.eliza.answer import answer
from agentnb.plugins.eliza.commands.every_command import listed
from agentnb.plugins.eliza.introduction import LOGIN, introduction
from agentnb.plugins.eliza.reply import Reply
from agentnb.plugins.eliza.session import Session
from agentnb.plugins.eliza.settings import UnknownSetting
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from agentnb.plugins.acp_agent.client import Client, Method
    from agentnb.plugins.acp_agent.client_requests import NewSession, OpenedSession
    from agentnb.plugins.acp_agent.config_options import ConfigOption, Modes
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.store import Record, Store
    from agentnb.plugins.eliza.commands.every_command import Command

AUTHENTICATION_REQUIRED = -32000


class Eliza(AcpAgent[Session]):
    """The built-in agent."""

    def __init__(self, store: Store, client: Client, *, version: str, wants_login: bool) -> None:
        super().__init__(store, client, version=version)
        self._wants_login = wants_login
        self._login_offered = wants_login

    @property
    def methods(self) -> Mapping[str, Method]:
        """What answers requests, by their method."""
        return {
            **super().methods,
            "authenticate": taking(Authenticate, self.authenticate),
            "logout": self.logout,
            "session/set_mode": taking(SetMode, self.set_mode),
            "_eliza/echo": self.echo,
        }

    def introduction(self) -> dict[str, Any]:
        """The answer to `initialize`."""
        return introduction(self._version, login=self._login_offered)

    async def authenticate(self, params: Authenticate) -> dict[str, Any]:
        """ACP `authenticate`: believes everybody."""
        if not self._login_offered or params.method_id != LOGIN["id"]:
            raise RpcError(INVALID_PARAMS, f"There is no login method `{params.method_id}`.")
        self._wants_login = False
        return {}

    async def logout(self, _: object) -> dict[str, Any]:
        """ACP `logout`: new sessions want a login again."""
        if not self._login_offered:
            raise RpcError(METHOD_NOT_FOUND, "Nobody has to log in here, so nobody can log out.")
        self._wants_login = True
        return {}

    async def echo(self, params: object) -> dict[str, Any]:
        """The extension method `_eliza/echo` gives back what it got."""
        return {"echo": params if isinstance(params, dict) else {}}

    async def new_session(self, params: NewSession) -> OpenedSession:
        """ACP `session/new`."""
        if self._wants_login:
            raise RpcError(AUTHENTICATION_REQUIRED, "Authentication required: lie down on the couch first.")
        return await super().new_session(params)

    async def set_mode(self, params: SetMode) -> dict[str, Any]:
        """ACP `session/set_mode`."""
        session = self._session(params.session_id)
        try:
            session.settings.set_mode(params.mode_id)
        except UnknownSetting as unknown:
            raise RpcError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return {}

    def make_session(self, session_id: str, cwd: Path) -> Session:
        """A new session."""
        return Session(session_id, cwd)

    def restore_session(self, record: Record) -> Session:
        """The session that gave *record*."""
        return Session.restore(record)

    def commands(self) -> list[AvailableCommand]:
        """Its slash commands."""
        return [_available(command) for command in listed()]

    def modes(self, session: Session) -> Modes:
        """The modes of *session*."""
        return session.settings.modes()

    def options(self, session: Session) -> list[ConfigOption]:
        """The config options of *session*."""
        return session.settings.options(switches=self._capabilities.knows_switches)

    async def set_option(self, session: Session, option_id: str, value: str | bool) -> None:
        """Change an option of *session*."""
        session.settings.set_option(option_id, value)

    def answer(self, session: Session, prompt: list[ContentBlock]) -> tuple[Reply, Coroutine[Any, Any, None]]:
        """The answer to *prompt* in *session*, and what makes it."""
        reply = Reply(
            client=self._client,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            attachments=attachment.attachments(prompt),
            capabilities=self._capabilities,
        )
        return reply, answer(reply, attachment.words(prompt))


def _available(command: Command) -> AvailableCommand:
    hint = CommandInput(hint=command.hint) if command.hint else None
    return AvailableCommand(name=command.name, description=command.summary, input=hint)
