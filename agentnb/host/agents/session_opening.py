"""Opening the session of an agent: a new one, a copy, or an old one that is taken up again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec.structs import replace

from agentnb.acp.opening import OpenRequest
from agentnb.errors import AgentError, AgentRefused, AuthenticationRequired, NotOffered

if TYPE_CHECKING:
    from collections.abc import Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.listener import SessionListener
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.acp.opening import SessionOpened
    from agentnb.agent.mcp import McpServer
    from agentnb.host.agents.login import Login
    from agentnb.host.agents.plugin_tools import PluginTools
    from agentnb.host.channels import SessionChannels
    from agentnb.host.session_options import Configuration

WAYS: tuple[Literal["resume", "load"], ...] = ("resume", "load")
FRUITLESS = 2
"""After how many failures to take up an old session (not refusals) a new one is opened."""

Reopened = Literal["resumed", "loaded", "new", "forked"]
"""How an old session was taken up: without replay, with one, not at all, or as a copy."""


class ToolServer(Protocol):
    """Serves a session's agent tools of ours, by MCP."""

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The MCP server; see :meth:`agentnb.host.agents.kernel_tools.KernelTools.serve`."""
        ...


class AgentNotices:
    """What the user has to know of how the agent came to its next turn."""

    def __init__(self, channels: SessionChannels, configuration: Configuration) -> None:
        self.words: list[str] = [*configuration.notes]
        self._channels = channels

    def note(self, words: str) -> None:
        """Keep a word for the user, for the next :meth:`say`."""
        if words not in self.words:
            self.words.append(words)

    def say(self, turn_id: str) -> None:
        """Put them into turn *turn_id*."""
        notices, self.words = self.words, []
        for words in notices:
            self._channels.say(turn_id, words)


class SessionOpening:
    """Opens the session of one conversation with its agent.

    Attributes:
        former: The agent's id of the session that is taken up next, if there is one.
        copied: The agent's id of the session that is copied.
        outcome: How the last one was opened.
        insists: Whether a new session does not do where the old one cannot be taken up.
        was_ready: Whether there was a session before.
    """

    def __init__(
        self,
        channels: SessionChannels,
        configuration: Configuration,
        *,
        login: Login,
        listener: SessionListener,
        kernel_tools: ToolServer | None,
        plugin_tools: PluginTools | None = None,
    ) -> None:
        self.former: str | None = None
        self.copied: str | None = None
        self.outcome: Reopened = "new"
        self.insists = False
        self.was_ready: bool = False
        self.notices: AgentNotices = AgentNotices(channels, configuration)
        self._channels = channels
        self._configuration = configuration
        self._login = login
        self._listener = listener
        self._kernel_tools = kernel_tools
        self._plugin_tools = plugin_tools
        self._fruitless = 0

    def had(self, session_id: str | None) -> None:
        """There was a session before this one, of an earlier kernel: the next start takes it up where it can."""
        self.former, self.was_ready = session_id, True

    async def open(self, agent: Agent) -> SessionOpened:
        """Open the session, once more after a login where *agent* wants one."""
        try:
            return await self._open(agent)
        except AuthenticationRequired as wanted:
            await self._login.ask(agent, wanted)
        return await self._open(agent)

    async def _open(self, agent: Agent) -> SessionOpened:
        request = await self._request(agent)
        if self.copied is not None:
            self.outcome = "forked"
            return await self._ask(agent, replace(request, way="fork", former=self.copied, history=False))
        if self.former is not None:
            old = await self._open_old(agent, replace(request, former=self.former))
            if old is not None:
                return old
        self.outcome = "new"
        return await self._ask(agent, request)

    async def _request(self, agent: Agent) -> OpenRequest:
        """Returns what is asked of *agent* for a new session."""
        configuration = self._configuration
        servers: list[McpServer | ServedMcpServer] = [*configuration.components]
        if not configuration.spec.takes_mcp:
            if servers or configuration.chain or self._kernel_tools is not None:
                self.notices.note(
                    f"{agent.name} does not support MCP servers, so it gets no tools from them or from components."
                )
            servers = []
        elif self._kernel_tools is not None:
            try:
                servers.append(await self._kernel_tools.serve(agent, {server.name for server in servers}))
            except NotOffered as error:
                self.notices.note(f"{agent.name} has no access to the kernel. {error}")
        if configuration.spec.takes_mcp and self._plugin_tools is not None:
            try:
                servers += await self._plugin_tools.serve(agent, {server.name for server in servers})
            except NotOffered as error:
                self.notices.note(f"{agent.name} gets no tools of plug-ins. {error}")
        return OpenRequest(
            cwd=str(configuration.cwd),
            mcp_servers=tuple(servers),
            directories=tuple(str(folder) for folder in configuration.directories),
            path={**os.environ, **configuration.spec.env, **configuration.env}.get("PATH"),
        )

    async def _ask(self, agent: Agent, request: OpenRequest) -> SessionOpened:
        opened = await agent.open_session(request, self._listener)
        if opened.unreachable:
            self.notices.note(f"{agent.name} cannot reach these MCP servers: {', '.join(opened.unreachable)}.")
        for name, command in opened.missing:
            self.notices.note(f"The MCP server {name} cannot start: there is no command {command!r}.")
        if opened.refused_directories:
            directories = ", ".join(opened.refused_directories)
            self.notices.note(f"{agent.name} does not support additional folders: {directories} are left out.")
        return opened

    async def _open_old(self, agent: Agent, request: OpenRequest) -> SessionOpened | None:
        """The old session, in the best way that the agent has; None where it has none or no longer knows it."""
        chat = self._channels.chat.state
        has_turns = bool(chat.turns or chat.active_turn)
        refusal: AgentRefused | None = None
        for way in (way for way in (WAYS if has_turns else WAYS[::-1]) if agent.capabilities.offers(way)):
            try:
                old = await self._ask(agent, replace(request, way=way, history=not has_turns))
            except AuthenticationRequired:
                raise
            except AgentRefused as error:
                refusal = error
                continue
            except AgentError:
                self._fruitless += 1
                if self._fruitless >= FRUITLESS:  # better an agent that has forgotten than none
                    self.former, self.was_ready = None, True
                raise
            self._fruitless = 0
            self.outcome = "resumed" if way == "resume" else "loaded"
            return old
        if self.insists:
            agent.capabilities.demand(*WAYS)
            raise refusal or AgentError(f"{agent.name} did not open the session {request.former!r}.")
        return None
