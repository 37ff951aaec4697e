"""Opens an agent's session, logs in if it must, and applies the choices that were made for it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from agentnb.acp.opening import OpenRequest
from agentnb.clock import now_ms
from agentnb.errors import (
    AgentError,
    AgentnbError,
    AgentRefused,
    AuthenticationRequired,
    NotOffered,
    PolicyError,
    UsageError,
)
from agentnb.host.session_options import allowed_model, why_not_model
from agentnb.state import (
    ChatInputOption,
    ChatInputRequest,
    ChatInputSingleSelectQuestion,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.state.session_state import model_id, model_options, option_choices, option_value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.failure import LoginWay
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.acp.opening import SessionOpened
    from agentnb.acp.peer import SessionListener
    from agentnb.agent.mcp import McpServer
    from agentnb.host.agents.tools import PluginTools
    from agentnb.host.channels import SessionChannels
    from agentnb.host.session_options import Configuration
    from agentnb.host.turns.input_requests import InputRequests
    from agentnb.state import Action, ActionOrigin, SessionState


QUIET_SECONDS = 1.0
"""Seconds that a login may take before a card shows that agentnb waits for it: many logins need no user."""

WAY = "way"


class Login:
    def __init__(self, inputs: InputRequests, attended: Callable[[], Awaitable[bool]]) -> None:
        self._inputs = inputs
        self._attended = attended

    async def ask(self, agent: Agent, wanted: AuthenticationRequired) -> None:
        """Let the user choose a way to log in, and take it."""
        ways = agent.login_ways
        if not await self._attended():
            raise wanted
        answer = await self._inputs.ask(self._request(agent, ways))
        if answer.response != "accept":
            raise wanted
        way = next((way for way in ways if way.id == answer.values.get(WAY)), ways[0] if len(ways) == 1 else None)
        if way is not None and way.kind == "variables":
            variables = ", ".join(way.variables)
            message = f"{agent.spec.title} wants {variables} in its environment."
            raise AuthenticationRequired(message, hint="Set it before the kernel starts, or in agentnb.start(env=…).")
        if way is not None and way.kind == "agent":
            await self._wait_for(agent, way, wanted)

    async def _wait_for(self, agent: Agent, way: LoginWay, wanted: AuthenticationRequired) -> None:
        """Have the agent log in; a person needs time in a browser or a terminal, and can cancel."""
        login = asyncio.ensure_future(agent.authenticate(way.id, math.inf))
        tasks: list[asyncio.Future[Any]] = [login]
        try:
            await asyncio.wait(tasks, timeout=QUIET_SECONDS)
            if login.done():
                return login.result()
            card = asyncio.ensure_future(self._inputs.put(self._waiting(agent, way)))
            tasks.append(card)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if login.done():
                return login.result()
            if card.result().response != "accept":
                raise wanted
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _waiting(self, agent: Agent, way: LoginWay) -> ChatInputRequest:
        what = f"{agent.spec.title} is waiting for you to sign in ({way.name}); there is no time limit."
        message = f"{what} It continues by itself once it notices that you are done."
        return ChatInputRequest(id=self._inputs.next_id(), message=message)

    def _request(self, agent: Agent, ways: tuple[LoginWay, ...]) -> ChatInputRequest:
        title = agent.spec.title
        typed = f" Type `{agent.spec.login}` in a terminal, then continue." if agent.spec.login and not ways else ""
        options = tuple(ChatInputOption(id=way.id, label=way.name, description=_about(way)) for way in ways)
        question = ChatInputSingleSelectQuestion(
            id=WAY, title="Sign in", message="Choose one of them.", required=len(options) > 1, options=options
        )
        return ChatInputRequest(
            id=self._inputs.next_id(),
            message=f"Sign in to {title} to continue.{typed}",
            questions=(question,) if options else None,
        )


async def log_in_with(agent: Agent, method: str | None) -> None:
    """Log in with the method *method* (id or name), or with the only one there is, without asking."""
    ways = agent.login_ways
    if not ways:
        raise UsageError(f"{agent.spec.title} offers no login.", hint="Send a prompt: the agent may need no login.")
    names = ", ".join(repr(way.id) for way in ways) or "none"
    chosen = [way for way in ways if method in (way.id, way.name)] if method is not None else list(ways)
    if len(chosen) != 1:
        raise UsageError(f"{agent.spec.title} has these ways to log in: {names}.", hint="Specify one of them.")
    if chosen[0].kind != "agent":
        raise UsageError(f"To log in, {chosen[0].what_to_do}.", hint="Then prompt again.")
    await agent.authenticate(chosen[0].id, math.inf)


def _about(way: LoginWay) -> str | None:
    if way.kind == "agent":
        return way.description
    do = way.what_to_do
    return f"{do[0].upper()}{do[1:]}, then continue." if do else way.description


WAYS: tuple[Literal["resume", "load"], ...] = ("resume", "load")
FRUITLESS = 2
"""Failures to reopen an old session (not refusals) after which a new one is opened."""

Reopened = Literal["resumed", "loaded", "new", "forked"]
"""The way an old session was reopened: without replay, with one, not at all, or as a copy."""


class ToolServer(Protocol):
    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """Returns the MCP server; see :meth:`agentnb.host.agents.tools.ToolsForAgent.serve`."""
        ...


class AgentNotices:
    """Notices to the user about how the agent came to be ready for its next turn."""

    def __init__(self, channels: SessionChannels, configuration: Configuration) -> None:
        self.words: list[str] = [*configuration.notes]
        self._channels = channels

    def note(self, words: str) -> None:
        """Keep a notice for the user until the next :meth:`say`."""
        if words not in self.words:
            self.words.append(words)

    def say(self, turn_id: str) -> None:
        notices, self.words = self.words, []
        for words in notices:
            self._channels.say(turn_id, words)


class SessionOpening:
    """Opens the session of one conversation with its agent."""

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
        self.former: str | None = None  # the agent's id of the session to take up next
        self.copied: str | None = None  # the agent's id of the session to copy
        self.outcome: Reopened = "new"
        self.insists = False  # opening must fail, not create a new session, when the old one cannot be taken up
        self.was_ready: bool = False  # the conversation had a session before
        self.notices: AgentNotices = AgentNotices(channels, configuration)
        self._channels = channels
        self._configuration = configuration
        self._login = login
        self._listener = listener
        self._kernel_tools = kernel_tools
        self._plugin_tools = plugin_tools
        self._fruitless = 0

    def had(self, session_id: str | None) -> None:
        """An earlier kernel had a session: the next start takes it up if it can."""
        self.former, self.was_ready = session_id, True

    async def open(self, agent: Agent) -> SessionOpened:
        """Open the session; if *agent* wants a login, open it again after that."""
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
        """Returns the old session, opened in the best way the agent supports; None if it has none or forgot it."""
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
                if self._fruitless >= FRUITLESS:  # better an agent without memory than none
                    self.former, self.was_ready = None, True
                raise
            self._fruitless = 0
            self.outcome = "resumed" if way == "resume" else "loaded"
            return old
        if self.insists:
            agent.capabilities.demand(*WAYS)
            raise refusal or AgentError(f"{agent.name} did not open the session {request.former!r}.")
        return None


Choice: TypeAlias = XModeChanged | XConfigOptionChosen
MOST_NAMED = 20
"""The most models of an agent that an error names."""


def chosen(session: SessionState) -> tuple[Choice, ...]:
    """Returns the mode and the options of *session*, as the actions with which a user chooses them."""
    options = [
        XConfigOptionChosen(config_id=str(option.get("id")), value=value)
        for option in session.config_options or ()
        if isinstance(value := option_value(option), str | bool)
    ]
    return (*([] if session.modes is None else [XModeChanged(mode_id=session.modes.current_mode_id)]), *options)


def differing(wanted: tuple[Choice, ...], session: SessionState) -> list[Choice]:
    """Returns those of *wanted* that *session* offers but has set differently."""
    now, offered = chosen(session), {str(option.get("id")) for option in session.config_options or ()}
    modes = set() if session.modes is None else {mode.id for mode in session.modes.available_modes}
    return [
        replace(each, time=now_ms())
        for each in wanted
        if each not in now and (each.mode_id in modes if isinstance(each, XModeChanged) else each.config_id in offered)
    ]


def model_choice(model: str, session: SessionState, agent: str) -> XConfigOptionChosen:
    """Returns the action that chooses *model*, an id or a name, in *session* with the agent called *agent*.

    Raises:
        NotOffered: If the agent does not offer it; the message names the models that it offers.
    """
    options = model_options(session)
    offered = [(option, each) for option in options for each in option_choices(option.get("options"))]
    for key in ("value", "name"):
        for option, each in offered:
            if str(each.get(key)).casefold() == model.casefold():
                return XConfigOptionChosen(config_id=str(option.get("id")), value=str(each["value"]), time=now_ms())
    if not offered:
        raise NotOffered(f"{agent} has no choice of models, and {model!r} was asked for.", hint="Leave out model=.")
    ids = list(dict.fromkeys(str(each["value"]) for _, each in offered))
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    message = f"{agent} does not offer the model {model!r}."
    raise NotOffered(message, hint=f"Choose one of these with model=: {', '.join(ids[:MOST_NAMED])}{more}.")


class SessionChoices:
    """Chooses the mode, the model and the options of one session with its agent."""

    def __init__(self, channels: SessionChannels, configuration: Configuration, notices: AgentNotices) -> None:
        self.model: str = configuration.model  # what `start` asks for; '' if it asks for none
        self.kept: tuple[Choice, ...] = ()  # what the next session gets, too
        self._channels = channels
        self._title = configuration.spec.title
        self._notices = notices

    def keep(self) -> None:
        """Keep the current mode and options for the next session."""
        self.kept = chosen(self._channels.session.state)

    async def choose_again(self, agent: Agent, session_id: str, *, is_first: bool) -> None:
        """Choose the model of `start`, or raise, then the mode and options of the previous session, where possible."""
        if self.model and is_first:
            if (why := why_not_model(self._channels.agent, self.model)) is not None:
                raise PolicyError(why)
            action = model_choice(self.model, self._channels.session.state, self._title)
            await self.choose(agent, session_id, action)
        wanted, self.kept = self.kept, ()
        for each in differing(wanted, self._channels.session.state):
            with contextlib.suppress(AgentnbError):
                await self.choose(agent, session_id, each)
        await self._choose_allowed_model(agent, session_id)

    async def choose(self, agent: Agent, session_id: str, action: Choice, origin: ActionOrigin | None = None) -> None:
        """Ask *agent* for another mode or option; the state changes once it accepts. The site must allow a model."""

        def heard(options: tuple[Action, ...]) -> None:
            for each in options:
                self._channels.dispatch(each)
            self._channels.dispatch(replace(action, time=now_ms()), origin)

        if isinstance(action, XModeChanged):
            await agent.set_mode(session_id, action.mode_id, heard)
            return
        is_model = action.config_id in {each.get("id") for each in model_options(self._channels.session.state)}
        if is_model and (why := why_not_model(self._channels.agent, str(action.value))) is not None:
            raise PolicyError(why)
        await agent.set_config_option(session_id, action.config_id, action.value, heard)

    async def _choose_allowed_model(self, agent: Agent, session_id: str) -> None:
        """Choose another model if the site does not allow the one that the agent starts with."""
        state = self._channels.session.state
        why = why_not_model(self._channels.agent, model_id(state)) if model_id(state) else None
        if why is None:
            return
        for option in model_options(state):
            if (model := allowed_model(self._channels.agent, option)) is None:
                continue
            action = XConfigOptionChosen(config_id=str(option.get("id")), value=model, time=now_ms())
            with contextlib.suppress(AgentnbError):
                await self.choose(agent, session_id, action)
                self._notices.note(f"{why} {model} is used.")

    def demand_model(self) -> None:
        """Raise if the site does not allow the chosen model."""
        model = model_id(self._channels.session.state)
        if model and (why := why_not_model(self._channels.agent, model)) is not None:
            raise PolicyError(why, hint="Choose another model.")
