"""One conversation: the host's side of a session, its two channels, its agent and what waits between them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.acp.mapper import channel_of, map_session, map_update
from agentnb.errors import AgentnbError, SessionClosed
from agentnb.host.channel import Channel
from agentnb.host.clock import now_ms
from agentnb.host.permissions import Permissions
from agentnb.host.turns import Turns
from agentnb.state import (
    AgentProcess,
    ChatResponsePart,
    ChatState,
    ErrorInfo,
    SessionCreationFailed,
    SessionReady,
    SessionState,
    SessionStatus,
    SessionSummary,
    SessionTitleChanged,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    XAgentChanged,
    reduce_chat,
    reduce_session,
)
from agentnb.state.status import ACTIVITY_MASK, with_activity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.host import Host
    from agentnb.policy.decision import Door, Mode
    from agentnb.state import Action, ActionOrigin, Envelope, Message, ToolCallState

TITLE_CHARACTERS = 48


class Conversation:
    """The host's side of one session. Everything here runs on the host's thread.

    Args:
        host: Who owns it.
        spec: The agent to talk to.
        tab_id: The tab's id (UUID v4), the last part of the session channel's URI.
        cwd: The workspace: where the agent works, and the wall round its file access.
        env: Extra environment for the agent's process.
        mode: What answers a permission request: ``"ask"``, ``"allow"`` or ``"deny"``.
        title: The tab's title; the first prompt's words where none is given.
    """

    def __init__(
        self,
        host: Host,
        spec: AgentSpec,
        *,
        tab_id: str,
        cwd: Path,
        env: Mapping[str, str],
        mode: Mode = "ask",
        title: str | None = None,
    ) -> None:
        self.host = host
        self.spec = spec
        self.tab_id = tab_id
        self.cwd = cwd
        self.env = dict(env)
        self.mode = mode
        self.agent: Agent | None = None
        self.session_id: str | None = None
        self.closed = False
        self.closing: asyncio.TimerHandle | None = None
        self._was_ready = False
        self._named = title is not None
        self._starting: asyncio.Task[Agent] | None = None
        self._watchers: list[Callable[[], None]] = []
        uri = f"{spec.name}:/{tab_id}"
        self.session = Channel(uri, _new_session(uri, spec, cwd, title), reduce_session, host.emit)
        self.chat = Channel(f"{uri}/chat", _new_chat(f"{uri}/chat", title or spec.title), reduce_chat, host.emit)
        self.permissions = Permissions(self)
        self.turns = Turns(self)

    async def attended(self) -> bool:
        """Whether somebody is there to answer a question, or comes within a moment: a view was just shown."""
        return self.host.attached() or await self.host.arrival()

    @property
    def summary(self) -> SessionSummary:
        """What the root channel says of this session."""
        summary = self.session.state.summary
        return SessionSummary(
            resource=summary.resource,
            provider=summary.provider,
            title=summary.title,
            status=with_activity(summary.status, self.chat.state.status & ACTIVITY_MASK),
            created_at=summary.created_at,
            modified_at=summary.modified_at,
            working_directory=summary.working_directory,
        )

    def dispatch(self, action: Action, origin: ActionOrigin | None = None) -> Envelope:
        """Accept *action* on the channel that it belongs to; the only way that this session's state changes."""
        channel: Channel[Any] = self.chat if channel_of(action) == "chat" else self.session
        envelope = channel.accept(action, origin)
        self.host.summarize(self)
        self.notify()
        return envelope

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call *watcher* after every change; returns what ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def notify(self) -> None:
        """Tell every watcher that something changed."""
        for watcher in tuple(self._watchers):
            watcher()

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None) -> bool:
        """Start or queue a turn; False for one that is already known, which is left as it is (AHP: idempotent)."""
        if self.closed:
            message_ = f"The session {self.session.state.summary.title!r} is closed."
            raise SessionClosed(message_, hint="Start another with agentnb.start().")
        if self._knows(turn_id):
            return False
        self._name_after(message.text)
        self.turns.prompt(turn_id, message, origin)
        return True

    async def ready(self) -> Agent:
        """The agent, launched and with a session of ours; launches it where there is none.

        Raises:
            AgentError: If it cannot be launched, wants a login, or refuses a session.
        """
        if self.agent is not None and self.session_id is not None:
            return self.agent
        if self._starting is None or self._starting.done():
            self._starting = self.host.loop.spawn(self._start())
        return await asyncio.shield(self._starting)

    async def close(self) -> None:
        """End the running turn, free the agent's session, and stop the agent if nobody else uses it."""
        if self.closed:
            return
        self.closed = True
        for waiting in self.chat.state.queued_messages or ():
            self.turns.cancel(waiting.id)
        if (active := self.chat.state.active_turn) is not None:
            self.turns.cancel(active.id)
        await self._leave()
        self.host.forget(self)

    async def restart(self) -> None:
        """Stop the agent's process and start it anew; the transcript stays."""
        if self.agent is not None:
            await self.agent.stop()
        await self.ready()

    # --- what the agent says (acp.listener) ---

    def updates(self, updates: list[dict[str, Any]]) -> None:
        """Take the agent's updates, in order (ACP ``session/update``)."""
        for update in updates:
            for action in map_update(update, self.chat.state, self.turns.speaking, now_ms()):
                if isinstance(action, SessionTitleChanged):
                    self._named = True
                self.dispatch(action)

    async def permission(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer the agent's permission request."""
        return await self.permissions.request(params)

    async def authorize(self, door: Door) -> None:
        """Let the agent through one of our doors, or raise PermissionDenied."""
        await self.permissions.authorize(door)

    def terminal(self, action: Action) -> None:
        """Take what one of our terminals did."""
        self.dispatch(action)

    def lost(self, error: AgentnbError) -> None:
        """The agent's process is gone: say so, keep the transcript, start anew at the next prompt.

        A prompt that it had not answered has failed already (its answer was the error).
        """
        self.agent = None
        self.session_id = None
        self.dispatch(XAgentChanged(agent_process=AgentProcess(state="stopped", message=str(error)), time=now_ms()))
        self.permissions.cancel_all()

    # --- inside ---

    def tool_call(self, call_id: str) -> ToolCallState | None:
        """The tool call *call_id* of the running turn."""
        active = self.chat.state.active_turn
        for part in active.response_parts if active is not None else ():
            if isinstance(part, ToolCallResponsePart) and part.tool_call.tool_call_id == call_id:
                return part.tool_call
        return None

    async def _start(self) -> Agent:
        self.dispatch(XAgentChanged(agent_process=AgentProcess(state="starting"), time=now_ms()))
        try:
            agent = await self.host.agents.acquire(self)
            new = await agent.new_session(str(self.cwd), (), self)
        except AgentnbError as error:
            self._start_failed(error)
            raise
        self.agent, self.session_id = agent, new.session_id
        running = AgentProcess(name=agent.name, version=agent.version, state="running")
        for action in (*map_session(new.raw), SessionReady(time=now_ms())):
            self.dispatch(action)
        self.dispatch(XAgentChanged(agent_process=running, time=now_ms()))
        self._say_what_is_forgotten()
        return agent

    def _say_what_is_forgotten(self) -> None:
        """A second start is a new session to the agent: the transcript stays, its memory does not."""
        chat = self.chat.state
        if self._was_ready and chat.turns and chat.active_turn is not None:
            text = f"{self.spec.title} was started again and does not remember what was said before."
            notice = SystemNotificationResponsePart(content=text)
            self.dispatch(ChatResponsePart(turn_id=chat.active_turn.id, part=notice, time=now_ms()))
        self._was_ready = True

    def _start_failed(self, error: AgentnbError) -> None:
        failed = AgentProcess(state="failed", message=str(error))
        info = ErrorInfo(error_type=type(error).__name__, message=str(error))
        self.dispatch(XAgentChanged(agent_process=failed, time=now_ms()))
        self.dispatch(SessionCreationFailed(error=info, time=now_ms()))

    def learn(self, answer: dict[str, Any]) -> None:
        """Take what the agent says of its modes and options when it answers (ACP ``configOptions``)."""
        for action in map_session(answer, now_ms()):
            self.dispatch(action)

    async def _leave(self) -> None:
        agent, session_id = self.agent, self.session_id
        self.agent = self.session_id = None
        if agent is not None and session_id is not None:
            await agent.close_session(session_id)
        await self.host.agents.release(self)

    def _knows(self, turn_id: str) -> bool:
        chat = self.chat.state
        active = chat.active_turn is not None and chat.active_turn.id == turn_id
        queued = any(waiting.id == turn_id for waiting in chat.queued_messages or ())
        return active or queued or any(turn.id == turn_id for turn in chat.turns)

    def _name_after(self, text: str) -> None:
        if self._named or not text.strip():
            return
        self._named = True
        words = " ".join(text.split())
        title = words if len(words) <= TITLE_CHARACTERS else f"{words[: TITLE_CHARACTERS - 1].rstrip()}…"
        self.dispatch(SessionTitleChanged(title=title, time=now_ms()))


def _new_session(uri: str, spec: AgentSpec, cwd: Path, title: str | None) -> SessionState:
    now = now_ms()
    summary = SessionSummary(
        resource=uri,
        provider=spec.name,
        title=title or spec.title,
        status=SessionStatus.IDLE | SessionStatus.IS_READ,
        created_at=now,
        modified_at=now,
        working_directory=cwd.as_uri(),
    )
    return SessionState(summary=summary, lifecycle="creating", active_clients=(), chats=())


def _new_chat(uri: str, title: str) -> ChatState:
    epoch = "1970-01-01T00:00:00.000Z"
    return ChatState(resource=uri, title=title, status=SessionStatus.IDLE, modified_at=epoch, turns=())
