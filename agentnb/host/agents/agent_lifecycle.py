"""The agent of one session: started when needed, restarted when it died, its old session taken up again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from agentnb.agent.confinement import MOST_REFUSED, how_to_confine, kept_from, remedy_of
from agentnb.clock import now_ms
from agentnb.errors import AgentDied, AgentnbError, AgentRefused, AgentStartFailed, SessionError
from agentnb.events.kinds import AGENT_RESTARTED, SESSION_FAILED, SESSION_READY
from agentnb.host.agents.session_opening import SessionChoices, chosen
from agentnb.plugin_registry import plugins
from agentnb.state import (
    AgentProcess,
    ErrorInfo,
    MarkdownResponsePart,
    SessionCreationFailed,
    SessionReady,
    SimpleMessageAttachment,
    ToolCallCompletedState,
    ToolCallResponsePart,
    XAgentChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.acp.agent import Agent
    from agentnb.host.agents.agent_pool import AgentPool
    from agentnb.host.agents.session_opening import AgentNotices, Reopened, SessionOpening
    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.asking import AskMode
    from agentnb.host.session_options import Configuration
    from agentnb.state import Message, Turn

LABEL = "The conversation so far"
MOST_CHARACTERS = 100_000
"""The most characters of a transcript for an agent whose session does not have it."""
LONGEST_TEXT = 20_000
LONGEST_CALL_TITLE = 200
_LEFT_OUT = "(Earlier messages are left out.)"


class AgentLifecycle:
    def __init__(
        self,
        channels: SessionChannels,
        configuration: Configuration,
        *,
        pool: AgentPool,
        loop: HostLoop,
        opening: SessionOpening,
        asking: AskMode,
        opened: Callable[[], object] = lambda: None,
    ) -> None:
        self.agent: Agent | None = None
        self.session_id: str | None = None
        self.opening = opening
        self.notices: AgentNotices = opening.notices
        self.choices: SessionChoices = SessionChoices(channels, configuration, self.notices)
        self.barred: SessionError | None = None
        self.closed = False
        self._channels = channels
        self._configuration = configuration
        self._pool = pool
        self._loop = loop
        self._asking = asking
        self._opened = opened
        self.needs_transcript: bool = False
        self._was_cut = False
        self._starting: asyncio.Task[Agent] | None = None
        self.refused: list[str] = []
        self._untold: list[str] = []

    async def ready(self) -> Agent:
        """Returns the agent with a session of ours; launches it and opens the session if needed."""
        if self.barred is not None:
            raise SessionError(self.barred.message, hint=self.barred.hint)
        self._pool.demand_allowed(self._configuration)
        if self.agent is not None and self.session_id is not None:
            return self.agent
        if self._starting is None or self._starting.done():
            self._starting = self._loop.spawn(self._start())
            # Retrieved here, so that asyncio does not complain: the state already has the outcome.
            self._starting.add_done_callback(lambda start: start.cancelled() or start.exception())
        return await asyncio.shield(self._starting)

    async def reopen(self, session_id: str, *, insist: bool = False) -> Reopened:
        """Take up the agent's session *session_id*, as after a restart of the kernel.

        If the conversation already shows turns, it is resumed, or else loaded and the replay dropped. If it is empty,
        it is loaded, and the replay shown.
        """
        if self.session_id != session_id:
            await self.leave(stop=False)
            self.opening.former, self.opening.insists = session_id, insist
        try:
            await self.ready()
        finally:
            self.opening.insists = False
        return self.opening.outcome

    async def copy(self, other: AgentLifecycle) -> None:
        """Begin as a copy of *other*'s session (ACP ``session/fork``)."""
        await other.ready()
        self.opening.copied, self.notices.words = other.session_id, [*other.notices.words]
        await self.ready()

    async def begin_anew(self) -> None:
        """The transcript was cut: the next start opens a new session, with the mode and the options of this one."""
        if self._starting is not None and not self._starting.done():
            await asyncio.wait([self._starting])
        self.choices.keep()
        await self.leave(stop=False)
        self.opening.former, self.needs_transcript, self._was_cut = None, True, True

    def with_transcript(self, message: Message) -> Message:
        """Returns *message*, with the transcript attached if the agent's session does not have it."""
        turns = self._channels.chat.state.turns
        if not (self.needs_transcript and turns):
            return message
        attachment = SimpleMessageAttachment(label=LABEL, model_representation=transcript(turns))
        return replace(message, attachments=(attachment, *(message.attachments or ())))

    async def restart(self) -> None:
        """End the agent's process and start it again, taking up its session if possible."""
        self._pool.history(self._configuration).lives()
        await self._pool.stop(self._configuration)
        await self.ready()

    def lost(self, error: AgentnbError) -> None:
        """The process is gone: keep what is needed to continue, and start it again unless it was meant to end."""
        agent = self.agent
        self.opening.former = self.session_id or self.opening.former
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
        """Tell the clients if the running agent now acts without asking, or no longer does."""
        process = self._channels.session.state.agent_process
        if process is not None and process.state == "running" and process.acts_unasked != self.acts_unasked:
            self._tell("running", process.message)

    @property
    def acts_unasked(self) -> str | None:
        """Returns why the agent may act without asking, and what limits it then; None if it asks."""
        if (problem := self._asking.problem) is None:
            return None
        confined, undo = self.agent.confined if self.agent else "", "changes of files can be undone after the turn."
        return f"{problem} It {confined}, and {undo}" if confined else f"{problem} It is not confined; {undo}"

    async def leave(self, *, stop: bool = True) -> None:
        """Free the agent's session, and with *stop* the agent too if nobody else uses it."""
        if stop and self._starting is not None:  # no one waits for the agent anymore
            self._starting.cancel()
        agent, session_id = self.agent, self.session_id
        if self.closed:  # the log may be written after this
            self.opening.former = session_id or self.opening.former
        self.agent = self.session_id = None
        if agent is not None and session_id is not None:
            await agent.close_session(session_id)
        if stop:
            await self._pool.release(self._configuration, self._channels.tab_id)

    async def _again(self) -> None:
        """Start the agent again without being asked, with growing delays, until it runs or is hopeless."""
        history = self._pool.history(self._configuration)
        while self.agent is None and not self.closed and not history.hopeless:
            try:
                await self.ready()
            except (AgentStartFailed, AgentDied):
                continue
            except AgentnbError:
                return

    async def _start(self) -> Agent:
        taken_up = self.opening.former is not None
        wait = self._pool.history(self._configuration).seconds
        self._tell("starting", f"It restarts in {wait:g} s." if wait else None)
        try:
            agent = await self._pool.acquire(self._configuration, self._channels.tab_id)
            try:
                new = await self.opening.open(agent)
            except (AgentDied, AgentRefused) as error:
                if isinstance(error, AgentDied):
                    self._pool.died(self._configuration, agent)
                _add_refusals(error, agent)
                raise
        except AgentnbError as error:
            self._failed(error)
            raise
        self.agent, self.session_id = agent, new.session_id
        self.opening.former = self.opening.copied = None
        self._remember_choices(taken_up=taken_up)
        for action in new.actions:
            self._channels.dispatch(action)
        try:
            await self.choices.choose_again(agent, new.session_id, is_first=not self.opening.was_ready)
        except AgentnbError as error:
            await self.leave(stop=False)
            self._failed(error)
            raise
        await self._asking.apply(agent, new.session_id)
        self._channels.dispatch(SessionReady(time=now_ms()))
        self._tell_ready(new.session_id)
        if agent.confined and not self.opening.was_ready and not self._configuration.is_unasked:
            self.notices.note(f"{self._configuration.spec.title} {agent.confined}.")
        if agent.spec.url is not None and not self.opening.was_ready:
            self.notices.note(f"{self._configuration.spec.title} runs at {agent.spec.url}. {self.how_to_confine}")
        if (unasked := self.acts_unasked) is not None:
            self.notices.note(unasked)
        for broken in plugins().new_problems():
            self.notices.note(broken.message)
        self.opening.was_ready = True
        self._tell("running", " ".join(self.notices.words) or None)
        self._opened()
        return agent

    def _remember_choices(self, *, taken_up: bool) -> None:
        """Keep the mode and the options if a new session replaces one that the agent no longer has."""
        if self.opening.outcome == "new" and (self.opening.was_ready or taken_up) and not self.needs_transcript:
            self.choices.kept = self.choices.kept or chosen(self._channels.session.state)
            if self._channels.chat.state.turns:
                self.needs_transcript = True
                self.notices.note(f"{self._configuration.spec.title} restarted and was given the conversation so far.")
        elif self.opening.was_ready and self.choices.model:  # a resumed session may have the agent's default model
            self.choices.keep()

    def _tell_ready(self, session_id: str) -> None:
        name, tab = self._configuration.spec.name, self._channels.tab_id
        was_cut, self._was_cut = self._was_cut, False
        if self.opening.was_ready and not was_cut:
            deaths = self._pool.history(self._configuration).deaths
            AGENT_RESTARTED.tell(agent=name, tab=tab, deaths=deaths)
        SESSION_READY.tell(tab=tab, agent=name, session=session_id, how=self.opening.outcome)

    def worked(self) -> None:
        """The agent has answered a prompt: reset its count of deaths; its session now has the transcript."""
        self.needs_transcript = False
        self._pool.history(self._configuration).lives()

    def look_for_refusals(self, text: str) -> None:
        """Note which accesses the agent's confinement refused; at the end of the turn one sentence names them all."""
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
        """Returns what to tell the user if the agent is not confined."""
        process = self.agent.process if self.agent is not None else None
        return process.unconfined if process is not None else how_to_confine(self._configuration.spec.confinement)

    def _failed(self, error: AgentnbError) -> None:
        self._tell("failed", str(error))
        SESSION_FAILED.tell(tab=self._channels.tab_id, agent=self._configuration.spec.name, error=str(error))
        info = ErrorInfo(error_type=type(error).__name__, message=str(error))
        self._channels.dispatch(SessionCreationFailed(error=info, time=now_ms()))

    def _tell(self, state: Literal["starting", "running", "stopped", "failed"], message: str | None) -> None:
        process = AgentProcess(state=state, message=message)
        if state == "running" and (agent := self.agent) is not None:
            process = replace(
                process,
                name=agent.name,
                version=agent.version,
                steering=agent.steers or None,
                fork=agent.capabilities.offers("fork") or None,
                confined=agent.confined or None,
                unconfined=None if agent.confined else self.how_to_confine,
                acts_unasked=self.acts_unasked,
            )
        self._channels.dispatch(XAgentChanged(agent_process=process, time=now_ms()))


def transcript(turns: Sequence[Turn]) -> str:
    """The turns as text; only the latest ones if not all fit."""
    texts: list[str] = []
    left = MOST_CHARACTERS
    for turn in reversed(turns):
        text = "\n\n".join(_of_turn(turn))
        left -= len(text)
        if left < 0 and texts:
            return "\n\n".join((_LEFT_OUT, *reversed(texts)))
        texts.append(text)
    return "\n\n".join(reversed(texts))


def _of_turn(turn: Turn) -> Iterator[str]:
    yield f"User: {_shortened(turn.message.text, LONGEST_TEXT)}"
    for part in turn.response_parts:
        if isinstance(part, MarkdownResponsePart):
            yield f"Assistant: {_shortened(part.content, LONGEST_TEXT)}"
        elif isinstance(part, ToolCallResponsePart):
            call = part.tool_call
            has_failed = isinstance(call, ToolCallCompletedState) and not call.success
            title = _shortened(call.display_name or call.tool_name, LONGEST_CALL_TITLE)
            yield f"[{'Failed tool' if has_failed else 'Tool'} call: {title}]"
    if turn.state != "complete":
        yield f"[The turn ended: {turn.state}.]"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _add_refusals(error: AgentnbError, agent: Agent) -> None:
    """Add to *error*, with which the start of *agent* failed, what its confinement refused, if anything."""
    process = agent.process
    if process is not None and (kept := kept_from(process.refused_accesses(process.stderr_tail))):
        error.args = (f"{error} {kept}",)
        error.hint = " ".join(filter(None, (error.hint, kept)))
