"""The agent of one session: started when needed, restarted when it died, its old session taken up again."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec.structs import replace

from agentnb.acp.opening import OpenRequest
from agentnb.agent.confinement import how_to_confine
from agentnb.agent.refused_access import MOST_REFUSED, kept_from, remedy_of
from agentnb.clock import now_ms
from agentnb.errors import (
    AgentDied,
    AgentError,
    AgentnbError,
    AgentRefused,
    AgentStartFailed,
    AuthenticationRequired,
    NotOffered,
    PolicyError,
    SessionError,
)
from agentnb.events.kinds import AGENT_RESTARTED, SESSION_FAILED, SESSION_READY
from agentnb.host.agents.session_choices import Choice, chosen, differing, model_choice
from agentnb.host.site_checks import allowed_model, why_not_model
from agentnb.host.turns.transcript import with_transcript
from agentnb.plugin_registry import plugins
from agentnb.state import (
    AgentProcess,
    ErrorInfo,
    SessionCreationFailed,
    SessionReady,
    XAgentChanged,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.state.session_state import model_id, model_options

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.listener import SessionListener
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.acp.opening import SessionOpened
    from agentnb.agent.mcp import McpServer
    from agentnb.host.agents.agent_pool import AgentPool
    from agentnb.host.agents.login import Login
    from agentnb.host.agents.plugin_tools import PluginTools
    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.asking import AskMode
    from agentnb.host.session_options import Configuration
    from agentnb.state import Message

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


class AgentLifecycle:
    """The agent of one session."""

    def __init__(
        self,
        channels: SessionChannels,
        configuration: Configuration,
        *,
        pool: AgentPool,
        loop: HostLoop,
        login: Login,
        listener: SessionListener,
        kernel_tools: ToolServer | None,
        asking: AskMode,
        plugin_tools: PluginTools | None = None,
        opened: Callable[[], object] = lambda: None,
    ) -> None:
        self.agent: Agent | None = None
        self.session_id: str | None = None
        self.former: str | None = None
        self.outcome: Reopened = "new"
        self.barred: SessionError | None = None
        self.closed = False
        self.model: str = configuration.model
        self.was_ready: bool = False
        self._channels = channels
        self._configuration = configuration
        self._pool = pool
        self._loop = loop
        self._login = login
        self._listener = listener
        self._kernel_tools = kernel_tools
        self._asking = asking
        self._plugin_tools = plugin_tools
        self._opened = opened
        self.needs_transcript: bool = False
        self._chosen: tuple[Choice, ...] = ()
        self._copied: str | None = None
        self._insists = False
        self._was_cut = False
        self._fruitless = 0
        self._starting: asyncio.Task[Agent] | None = None
        self._notices: list[str] = [*configuration.notes]
        self.refused: list[str] = []
        self._untold: list[str] = []

    async def ready(self) -> Agent:
        """The agent, launched and with a session of ours; launches it where there is none."""
        if self.barred is not None:
            raise SessionError(self.barred.message, hint=self.barred.hint)
        self._pool.demand_allowed(self._configuration)
        if self.agent is not None and self.session_id is not None:
            return self.agent
        if self._starting is None or self._starting.done():
            self._starting = self._loop.spawn(self._start())
            self._starting.add_done_callback(_known)
        return await asyncio.shield(self._starting)

    async def reopen(self, session_id: str, *, insist: bool = False) -> Reopened:
        """Take up the agent's session *session_id*, as after a restart of the kernel.

        A session that shows turns already is resumed, else loaded, and what is replayed is dropped; an empty one is
        loaded, and what is replayed is shown.
        """
        if self.session_id != session_id:
            await self.leave(stop=False)
            self.former, self._insists = session_id, insist
        try:
            await self.ready()
        finally:
            self._insists = False
        return self.outcome

    async def copy(self, other: AgentLifecycle) -> None:
        """Begin as a copy of *other*'s session (ACP ``session/fork``)."""
        await other.ready()
        self._copied, self._notices = other.session_id, [*other._notices]
        await self.ready()

    def had(self, session_id: str | None) -> None:
        """There was a session before this one, of an earlier kernel: the next start takes it up where it can."""
        self.former, self.was_ready = session_id, True

    async def begin_anew(self) -> None:
        """The transcript was cut: the next start opens a new session, with the mode and the options of this one."""
        if self._starting is not None and not self._starting.done():
            await asyncio.wait([self._starting])
        self._chosen = chosen(self._channels.session.state)
        await self.leave(stop=False)
        self.former, self.needs_transcript, self._was_cut = None, True, True

    def with_transcript(self, message: Message) -> Message:
        """*message* with the transcript, where the agent's session does not have it."""
        turns = self._channels.chat.state.turns
        return with_transcript(message, turns) if self.needs_transcript and turns else message

    async def restart(self) -> None:
        """End the agent's process and start it anew; its session is taken up again where it can be."""
        self._pool.history(self._configuration).lives()
        await self._pool.stop(self._configuration)
        await self.ready()

    def lost(self, error: AgentnbError) -> None:
        """The process is gone: keep what it takes to go on, and start it again unless it was meant to end."""
        agent = self.agent
        self.former = self.session_id or self.former
        self.agent = self.session_id = None
        self._tell("stopped", str(error))
        if agent is None or agent.stopped or self.closed:
            return
        self._pool.died(self._configuration, agent)
        if not self._pool.history(self._configuration).hopeless:
            self._loop.spawn(self._again())

    async def make_ask(self) -> None:
        """Set the running agent to ask, as when the permissions change or it leaves its mode; tell the clients."""
        agent, session_id = self.agent, self.session_id
        if agent is not None and session_id is not None:
            await self._asking.apply(agent, session_id)
            self.show_asking()

    def show_asking(self) -> None:
        """Tell the clients where it has changed whether the running agent asks."""
        process = self._channels.session.state.agent_process
        if process is not None and process.state == "running" and process.acts_unasked != self._acts_unasked():
            self._tell("running", process.message)

    def _acts_unasked(self) -> str | None:
        problem = self._asking.problem
        return None if problem is None else f"{problem} {what_holds(self.agent.confined if self.agent else '')}"

    async def leave(self, *, stop: bool = True) -> None:
        """Free the agent's session, and with *stop* the agent too if nobody else uses it."""
        if stop and self._starting is not None:  # nobody waits for it any more
            self._starting.cancel()
        agent, session_id = self.agent, self.session_id
        if self.closed:  # the log may be written later
            self.former = session_id or self.former
        self.agent = self.session_id = None
        if agent is not None and session_id is not None:
            await agent.close_session(session_id)
        if stop:
            await self._pool.release(self._configuration, self._channels.tab_id)

    def say(self, turn_id: str) -> None:
        """Put into turn *turn_id* what the user has to know of how the agent came to it."""
        notices, self._notices = self._notices, []
        for words in notices:
            self._channels.say(turn_id, words)

    async def _again(self) -> None:
        """Start it again unasked, ever more slowly, until it lives or is hopeless."""
        history = self._pool.history(self._configuration)
        while self.agent is None and not self.closed and not history.hopeless:
            try:
                await self.ready()
            except (AgentStartFailed, AgentDied):
                continue
            except AgentnbError:
                return

    async def _start(self) -> Agent:
        taken_up = self.former is not None
        wait = self._pool.history(self._configuration).seconds
        self._tell("starting", f"It restarts in {wait:g} s." if wait else None)
        try:
            agent = await self._pool.acquire(self._configuration, self._channels.tab_id)
            try:
                new = await self._open_or_log_in(agent)
            except AgentDied as error:
                self._pool.died(self._configuration, agent)
                _add_refusals(error, agent)
                raise
            except AgentRefused as error:
                _add_refusals(error, agent)
                raise
        except AgentnbError as error:
            self._failed(error)
            raise
        self.agent, self.session_id, self.former, self._copied = agent, new.session_id, None, None
        self._remember_choices(taken_up=taken_up)
        for action in new.actions:
            self._channels.dispatch(action)
        await self._choose_again(agent, new.session_id)
        await self._choose_allowed_model(agent, new.session_id)
        await self._asking.apply(agent, new.session_id)
        self._channels.dispatch(SessionReady(time=now_ms()))
        self._tell_ready(new.session_id)
        if agent.confined and not self.was_ready and not self._configuration.is_unasked:
            self.note(f"{self._configuration.spec.title} {agent.confined}.")
        if agent.spec.url is not None and not self.was_ready:
            self.note(f"{self._configuration.spec.title} runs at {agent.spec.url}. {self.how_to_confine}")
        if (problem := self._asking.problem) is not None:
            self.note(f"{problem} {what_holds(agent.confined)}")
        for broken in plugins().new_problems():
            self.note(broken.message)
        self.was_ready = True
        self._tell("running", " ".join(self._notices) or None)
        self._opened()
        return agent

    def _remember_choices(self, *, taken_up: bool) -> None:
        if self.outcome == "new" and (self.was_ready or taken_up) and not self.needs_transcript:
            self._replace_session()
        elif self.was_ready and self.model:  # taken up again, it may have the agent's own model
            self._chosen = chosen(self._channels.session.state)

    def _replace_session(self) -> None:
        """The agent's new session stands for one that it no longer has."""
        self._chosen = self._chosen or chosen(self._channels.session.state)
        if self._channels.chat.state.turns:
            self.needs_transcript = True
            self.note(f"{self._configuration.spec.title} restarted and was given the conversation so far.")

    async def _choose_again(self, agent: Agent, session_id: str) -> None:
        """Choose the model of `start`, then the mode and the options that the session before had, as far as it can."""
        if self.model and not self.was_ready:
            await self._choose_model(agent, session_id, self.model)
        wanted, self._chosen = self._chosen, ()
        for action in differing(wanted, self._channels.session.state):
            with contextlib.suppress(AgentnbError):
                await self.choose(agent, session_id, action)
                self._channels.dispatch(action)

    async def _choose_model(self, agent: Agent, session_id: str, model: str) -> None:
        """Choose *model*; a session that cannot have it fails to start."""
        try:
            if (why := why_not_model(self._channels.agent, model)) is not None:
                raise PolicyError(why)
            action = model_choice(model, self._channels.session.state, self._configuration.spec.title)
            await self.choose(agent, session_id, action)
        except AgentnbError as error:
            await self.leave(stop=False)
            self._failed(error)
            raise
        self._channels.dispatch(action)

    async def choose(self, agent: Agent, session_id: str, action: XModeChanged | XConfigOptionChosen) -> None:
        """Ask *agent* for another mode or option; a model must be one that the site allows."""
        if isinstance(action, XModeChanged):
            await agent.set_mode(session_id, action.mode_id)
            return
        is_model = action.config_id in {each.get("id") for each in model_options(self._channels.session.state)}
        if is_model and (why := why_not_model(self._channels.agent, str(action.value))) is not None:
            raise PolicyError(why)
        for each in await agent.set_config_option(session_id, action.config_id, action.value):
            self._channels.dispatch(each)

    async def _choose_allowed_model(self, agent: Agent, session_id: str) -> None:
        """Choose another model where the site does not allow the one that the agent begins with."""
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
                self._channels.dispatch(action)
                self.note(f"{why} {model} is used.")

    def demand_model(self) -> None:
        """Raise where the site does not allow the model that is chosen."""
        chosen = model_id(self._channels.session.state)
        if chosen and (why := why_not_model(self._channels.agent, chosen)) is not None:
            raise PolicyError(why, hint="Choose another model.")

    def _tell_ready(self, session_id: str) -> None:
        name, tab = self._configuration.spec.name, self._channels.tab_id
        was_cut, self._was_cut = self._was_cut, False
        if self.was_ready and not was_cut:
            deaths = self._pool.history(self._configuration).deaths
            AGENT_RESTARTED.tell(agent=name, tab=tab, deaths=deaths)
        SESSION_READY.tell(tab=tab, agent=name, session=session_id, how=self.outcome)

    async def _open_or_log_in(self, agent: Agent) -> SessionOpened:
        try:
            return await self._open(agent)
        except AuthenticationRequired as wanted:
            await self._login.ask(agent, wanted)
        return await self._open(agent)

    async def _open(self, agent: Agent) -> SessionOpened:
        request = await self._request(agent)
        if self._copied is not None:
            self.outcome = "forked"
            return await self._ask(agent, replace(request, way="fork", former=self._copied, history=False))
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
                self.note(
                    f"{agent.name} does not support MCP servers, so it gets no tools from them or from components."
                )
            servers = []
        elif self._kernel_tools is not None:
            try:
                servers.append(await self._kernel_tools.serve(agent, {server.name for server in servers}))
            except NotOffered as error:
                self.note(f"{agent.name} has no access to the kernel. {error}")
        if configuration.spec.takes_mcp and self._plugin_tools is not None:
            try:
                servers += await self._plugin_tools.serve(agent, {server.name for server in servers})
            except NotOffered as error:
                self.note(f"{agent.name} gets no tools of plug-ins. {error}")
        return OpenRequest(
            cwd=str(configuration.cwd),
            mcp_servers=tuple(servers),
            directories=tuple(str(folder) for folder in configuration.directories),
            path={**os.environ, **configuration.spec.env, **configuration.env}.get("PATH"),
        )

    async def _ask(self, agent: Agent, request: OpenRequest) -> SessionOpened:
        opened = await agent.open_session(request, self._listener)
        if opened.unreachable:
            self.note(f"{agent.name} cannot reach these MCP servers: {', '.join(opened.unreachable)}.")
        for name, command in opened.missing:
            self.note(f"The MCP server {name} cannot start: there is no command {command!r}.")
        if opened.refused_directories:
            directories = ", ".join(opened.refused_directories)
            self.note(f"{agent.name} does not support additional folders: {directories} are left out.")
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
        if self._insists:
            agent.capabilities.demand(*WAYS)
            raise refusal or AgentError(f"{agent.name} did not open the session {request.former!r}.")
        return None

    def worked(self) -> None:
        """The agent has answered a prompt: its earlier deaths count no more, and its session has the transcript."""
        self.needs_transcript = False
        self._pool.history(self._configuration).lives()

    def note(self, words: str) -> None:
        """Keep a word for the user, for the next :meth:`say`."""
        if words not in self._notices:
            self._notices.append(words)

    def look_for_refusals(self, text: str) -> None:
        """Note which accesses the confinement of the agent has refused; one sentence names all, at the turn's end."""
        agent = self.agent
        if agent is None or agent.process is None or not agent.confined:
            return
        for path, what in agent.process.refused_accesses(text):
            refused = f"{what} {path}"
            if refused in self.refused or len(self.refused) >= MOST_REFUSED:
                continue
            self.refused.append(refused)
            self._untold.append(refused)
        title, turn_id = self._configuration.spec.title, self._channels.speaking
        if not text and self._untold and turn_id is not None:
            untold, self._untold = self._untold, []
            self._channels.say(turn_id, f"{title} is confined and was denied {', '.join(untold)}. {remedy_of(untold)}")

    @property
    def how_to_confine(self) -> str:
        """Returns what to say where the agent is not confined."""
        process = self.agent.process if self.agent is not None else None
        return process.unconfined if process is not None else how_to_confine(self._configuration.spec.confinement)

    def _failed(self, error: AgentnbError) -> None:
        self._tell("failed", str(error))
        SESSION_FAILED.tell(tab=self._channels.tab_id, agent=self._configuration.spec.name, error=str(error))
        info = ErrorInfo(error_type=type(error).__name__, message=str(error))
        self._channels.dispatch(SessionCreationFailed(error=info, time=now_ms()))

    def _tell(self, state: Literal["starting", "running", "stopped", "failed"], message: str | None) -> None:
        agent = self.agent if state == "running" else None
        process = AgentProcess(
            name=agent.name if agent is not None else None,
            version=agent.version if agent is not None else None,
            state=state,
            message=message,
            steering=True if agent is not None and agent.steers else None,
            fork=True if agent is not None and agent.capabilities.offers("fork") else None,
            confined=agent.confined or None if agent is not None else None,
            unconfined=self.how_to_confine if agent is not None and not agent.confined else None,
            acts_unasked=self._acts_unasked() if agent is not None else None,
        )
        self._channels.dispatch(XAgentChanged(agent_process=process, time=now_ms()))


def what_holds(confined: str) -> str:
    """Returns what limits an agent that does not ask."""
    undo = "changes of files can be undone after the turn."
    return f"It {confined}, and {undo}" if confined else f"It is not confined; {undo}"


def _add_refusals(error: AgentnbError, agent: Agent) -> None:
    """Say in *error*, with which the start of *agent* ended, what its confinement had refused it, if anything."""
    process = agent.process
    if process is not None and (kept := kept_from(process.refused_accesses(process.stderr_tail))):
        error.args = (f"{error} {kept}",)
        error.hint = " ".join(filter(None, (error.hint, kept)))


def _known(start: asyncio.Task[Agent]) -> None:
    """How a start ended is in the state, whether or not somebody waits for it."""
    if not start.cancelled():
        start.exception()
