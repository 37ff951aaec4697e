"""eliza as an ACP agent: what it adds to the methods that all of agentnb's own agents share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.agent import AcpAgent, slash_command, taking
from agentnb.plugins.acp_agent.client_requests import Authenticate, SetMode
from agentnb.plugins.acp_agent.content import words
from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.eliza.commands.every_command import Misuse, find, listed
from agentnb.plugins.eliza.research import research, research_server
from agentnb.plugins.eliza.session import ElizaSession, Reply, attachments
from agentnb.plugins.eliza.settings import UnknownSetting
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from agentnb.plugins.acp_agent.client import AcpClient, Method
    from agentnb.plugins.acp_agent.client_requests import Initialize, NewSession
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.session import SessionStore


async def answer(reply: Reply, text: str) -> None:
    """Carry out a prompt: a command, or else conversation."""
    try:
        if (server := research_server(reply)) is not None:
            await research(reply, server, text)
            return
        named = find(text)
        if named is None:
            await _converse(reply, text)
            return
        command, rest = named
        try:
            await command.run(reply, rest)
        except (Misuse, UnknownSetting) as misuse:
            raise Trouble(f"{misuse} Usage: `{command.usage}`, for example `{command.example}`.") from None
    except Trouble as trouble:
        await reply.say(str(trouble))


async def _converse(reply: Reply, text: str) -> None:
    from agentnb.plugins.eliza.tour import answer_of  # imported here: costs start-up time

    plain = reply.session.settings.mode_id == "plain"
    if not plain and (toured := answer_of(text)) is not None:
        await toured(reply)
        return
    if reply.attachments:
        names = ", ".join(f"`{item.name}` ({item.detail})" for item in reply.attachments)
        await reply.say(f"I was given: {names}.\n\n")
    if plain:
        if reply.session.settings["thoughts"]:
            await reply.think("I am to give back what I was told.")
        await reply.say(text or "(nothing)")
        return
    answer = reply.session.doctor.answer(text)
    if reply.session.settings["thoughts"]:
        await reply.think(answer.reason)
    await reply.say(answer.text)


AUTHENTICATION_REQUIRED = -32000
LOGIN = {"id": "couch", "name": "Lie down on the couch", "description": "No account, no key: just say so."}


class Eliza(AcpAgent[ElizaSession]):
    name = "eliza"
    title = "ELIZA"
    session_class = ElizaSession

    def __init__(self, store: SessionStore, client: AcpClient, *, version: str, wants_login: bool) -> None:
        super().__init__(store, client, version=version)
        self.commands: tuple[dict[str, Any], ...] = tuple(
            slash_command(each.name, each.summary, each.hint) for each in listed()
        )
        self._wants_login = wants_login
        self._login_offered = wants_login

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            **super().methods,
            "authenticate": taking(Authenticate, self.authenticate),
            "logout": self.logout,
            "session/set_mode": taking(SetMode, self.set_mode),
            "_eliza/echo": self.echo,
        }

    async def initialize(self, params: Initialize) -> dict[str, Any]:
        answer = await super().initialize(params)
        capabilities = answer["agentCapabilities"]
        capabilities["promptCapabilities"] = {"image": True, "audio": True, "embeddedContext": True}
        if self._login_offered:
            capabilities["auth"] = {"logout": {}}
            answer["authMethods"] = [LOGIN]
        return answer

    async def authenticate(self, params: Authenticate) -> dict[str, Any]:
        """ACP `authenticate`: accepts everybody."""
        if not self._login_offered or params.method_id != LOGIN["id"]:
            raise RpcError(INVALID_PARAMS, f"There is no login method `{params.method_id}`.")
        self._wants_login = False
        return {}

    async def logout(self, _: object) -> dict[str, Any]:
        """ACP `logout`: new sessions require a login again."""
        if not self._login_offered:
            raise RpcError(METHOD_NOT_FOUND, "This agent needs no login, so there is nothing to sign out of.")
        self._wants_login = True
        return {}

    async def echo(self, params: object) -> dict[str, Any]:
        """Extension method `_eliza/echo`: returns its parameters."""
        return {"echo": params if isinstance(params, dict) else {}}

    async def new_session(self, params: NewSession) -> dict[str, Any]:
        if self._wants_login:
            raise RpcError(AUTHENTICATION_REQUIRED, "Authentication required: lie down on the couch first.")
        return await super().new_session(params)

    async def set_mode(self, params: SetMode) -> dict[str, Any]:
        session = self._session(params.session_id)
        try:
            session.settings.set_mode(params.mode_id)
        except UnknownSetting as unknown:
            raise RpcError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return {}

    def opened(self, session: ElizaSession) -> dict[str, Any]:
        return {"modes": session.settings.modes(), **super().opened(session)}

    def options(self, session: ElizaSession) -> list[dict[str, Any]]:
        return session.settings.options(switches=self._capabilities.knows_switches)

    async def set_option(self, session: ElizaSession, option_id: str, value: str | bool) -> None:
        session.settings.set_option(option_id, value)

    def answer(self, session: ElizaSession, prompt: list[ContentBlock]) -> tuple[Reply, Coroutine[Any, Any, None]]:
        reply = Reply(
            client=self._client,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            attachments=attachments(prompt),
            capabilities=self._capabilities,
        )
        return reply, answer(reply, words(prompt))
