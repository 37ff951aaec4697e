"""One conversation: the host's side of a session, its two channels, its agent and what waits between them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentnb.clock import now_ms
from agentnb.credentials import Credentials
from agentnb.errors import SessionClosed, SessionError
from agentnb.host.agent_events import AgentEvents
from agentnb.host.channel import Channel
from agentnb.host.inputs import Inputs
from agentnb.host.kernel_tools import KernelTools
from agentnb.host.life import Life
from agentnb.host.login import log_in_with
from agentnb.host.permissions import Permissions
from agentnb.host.settings import PERMISSIONS, settings
from agentnb.host.turns import Turns
from agentnb.state import (
    ChatState,
    Parts,
    SessionConfigChanged,
    SessionState,
    SessionStatus,
    SessionSummary,
    SessionTitleChanged,
    channel_of,
    reduce_chat,
    reduce_session,
)
from agentnb.state.status import ACTIVITY_MASK, with_activity

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.configuration import Configuration
    from agentnb.host.host import Host
    from agentnb.host.life import Reopened
    from agentnb.policy.situation import Mode
    from agentnb.state import Action, ActionOrigin, Envelope, Message, ToolCallState

TITLE_CHARACTERS = 48
NAMING = 20_000  # characters of a prompt that are looked at for a title: what is cut first shows half a key


class Conversation:
    """The host's side of one session. Everything here runs on the host's thread.

    Args:
        host: Who owns it.
        configuration: The agent to talk to, its components (MCP servers), its folders and its environment.
        tab_id: The tab's id (UUID v4), the last part of the session channel's URI.
        mode: What answers a permission request at first: ``"ask"``, ``"allow"`` or ``"deny"``; see :meth:`permit`.
        title: The tab's title; the first prompt's words where none is given.
    """

    def __init__(
        self,
        host: Host,
        configuration: Configuration,
        *,
        tab_id: str,
        mode: Mode = "ask",
        title: str | None = None,
    ) -> None:
        self.host = host
        self.configuration = configuration
        self.spec: AgentSpec = configuration.spec
        self.cwd: Path = configuration.cwd
        self.env: Mapping[str, str] = configuration.env
        self.tab_id = tab_id
        self.mode = mode
        self.closed = False
        self.barred: SessionError | None = None
        self.closing: asyncio.TimerHandle | None = None
        self.named = title is not None
        self._watchers: list[Callable[[], None]] = []
        uri = f"{self.spec.name}:/{tab_id}"
        self.session = Channel(uri, _new_session(self, uri, title), reduce_session, host.emit)
        self.chat = Channel(f"{uri}/chat", _new_chat(f"{uri}/chat", title or self.spec.title), reduce_chat, host.emit)
        self.permissions = Permissions(self)
        self.inputs = Inputs(self)
        self.life = Life(self)
        self.turns = Turns(self)
        self.events = AgentEvents(self)
        self.kernel = KernelTools(self) if configuration.kernel else None

    async def attended(self) -> bool:
        """Whether somebody is there to answer a question, or comes within a moment: a view was just shown."""
        return self.host.attached() or await self.host.arrival()

    @property
    def summary(self) -> SessionSummary:
        """What the root channel says of this session."""
        summary, activity = self.session.state.summary, self.chat.state.status & ACTIVITY_MASK
        if self.session.state.lifecycle == "creationFailed" and activity == SessionStatus.IDLE:
            activity = SessionStatus.ERROR
        return SessionSummary(
            resource=summary.resource,
            provider=summary.provider,
            title=summary.title,
            status=with_activity(summary.status, activity),
            created_at=summary.created_at,
            modified_at=summary.modified_at,
            working_directory=summary.working_directory,
        )

    def dispatch(self, action: Action, origin: ActionOrigin | None = None) -> Envelope:
        """Accept *action* on the channel that it belongs to; the only way that this session's state changes."""
        channel: Channel[Any] = self.chat if channel_of(action) == "chat" else self.session
        status = self.chat.state.status
        envelope = channel.accept(action, origin)
        if channel is self.session or self.chat.state.status != status:
            self.host.summarize(self)
        self.notify()
        return envelope

    @property
    def waits_for_user(self) -> bool:
        """Whether a question is open: then silence is the user's."""
        return bool(self.chat.state.status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED)

    def cancel_questions(self) -> None:
        """Answer every open permission and input request with cancel: the turn is over."""
        self.permissions.cancel_all()
        self.inputs.cancel_all()
        if self.kernel is not None:
            self.kernel.cancel()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call *watcher* after every change; returns what ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def notify(self) -> None:
        """Tell every watcher that something changed."""
        for watcher in tuple(self._watchers):
            watcher()

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None, *, look: bool = False) -> bool:
        """Start or queue a turn; False for one that is already known, which is left as it is (AHP: idempotent).

        With *look* what the message mentions with ``@`` is attached before it is sent.
        """
        if self.closed:
            message_ = f"The session {self.session.state.summary.title!r} is closed."
            raise SessionClosed(message_, hint="Start another with agentnb.start().")
        if self.barred is not None:
            raise SessionError(self.barred.message, hint=self.barred.hint)
        if self._knows(turn_id):
            return False
        self._name_after(message.text)
        self.turns.prompt(turn_id, message, origin, look=look)
        return True

    def permit(self, mode: Mode, origin: ActionOrigin, by: str) -> None:
        """Let *mode* answer permission requests from now on; the user decided that, and the log says so.

        Args:
            mode: ``"ask"``, ``"allow"`` or ``"deny"``. What is asked already stays open.
            origin: The client that wants it.
            by: Who that is, for the log.
        """
        if mode != self.mode:
            self.host.policy.record_mode(self, mode, by)
        self.mode = mode
        self.permissions.callback = None
        self.dispatch(SessionConfigChanged(config={PERMISSIONS: mode}, time=now_ms()), origin)

    def restored(self, agent_session: str | None) -> None:
        """This session was had in an earlier kernel; the agent knew it as *agent_session*, and may take it up."""
        self.named = True
        self.life.had(agent_session)

    @property
    def previous_session(self) -> str | None:
        """The agent's id of the session that its next start takes up, if there is one."""
        return self.life.former

    @property
    def agent(self) -> Agent | None:
        """The running agent."""
        return self.life.agent

    @property
    def session_id(self) -> str | None:
        """The agent's id of the session, while the agent runs."""
        return self.life.session_id

    async def ready(self) -> Agent:
        """The agent, launched and with a session of ours; launches it where there is none.

        Raises:
            AgentError: If it cannot be launched, wants a login, or refuses a session.
        """
        return await self.life.ready()

    async def reopen(self, session_id: str, *, insist: bool = False) -> Reopened:
        """Take up the agent's session *session_id*, as after a restart of the kernel.

        A conversation that shows turns already resumes it, else loads it and drops what is replayed; an empty one loads
        it and shows what is replayed. An agent that can do neither, or no longer knows the session, gets a new one, and
        the next turn begins by saying that it has forgotten.

        Args:
            session_id: The agent's own id of the session (:attr:`session_id` while it ran).
            insist: Whether nothing but that session will do: then a refusal is raised.

        Returns:
            ``"resumed"``, ``"loaded"`` or ``"new"``.

        Raises:
            NotOffered: With *insist*, if the agent can do neither.
            AgentError: If the agent cannot be launched, wants a login, or refuses a new session as well.
        """
        return await self.life.reopen(session_id, insist=insist)

    async def close(self) -> None:
        """End the running turn, free the agent's session, and stop the agent if nobody else uses it."""
        if self.closed:
            return
        self.closed = True
        if self.host.recorder is not None:
            self.host.recorder.closes(self)
        for waiting in self.chat.state.queued_messages or ():
            self.turns.cancel(waiting.id)
        if (active := self.chat.state.active_turn) is not None:
            self.turns.cancel(active.id)
        await self.life.leave()
        if self.kernel is not None:
            self.kernel.close()
        self.host.forget(self)

    async def login(self, method: str | None = None) -> None:
        """Log in at the agent in the way called *method*, without asking; then open the session.

        Raises:
            UsageError: If there is no such way, or none that the agent can do by itself.
            AgentError: If the agent cannot be started, or does not accept the login.
        """
        await log_in_with(await self.host.agents.acquire(self), method)
        await self.ready()

    async def restart(self) -> None:
        """Stop the agent's process and start it anew; the transcript and the queue stay, a running turn is stopped."""
        if (active := self.chat.state.active_turn) is not None:
            self.turns.cancel(active.id)
        await self.life.restart()

    # --- inside ---

    def tool_call(self, call_id: str) -> ToolCallState | None:
        """The tool call *call_id* of the running turn."""
        active = self.chat.state.active_turn
        return Parts.of(active.response_parts).tool_call(call_id) if active is not None else None

    def _knows(self, turn_id: str) -> bool:
        chat = self.chat.state
        active = chat.active_turn is not None and chat.active_turn.id == turn_id
        queued = any(waiting.id == turn_id for waiting in chat.queued_messages or ())
        return active or queued or any(turn.id == turn_id for turn in chat.turns)

    def _name_after(self, text: str) -> None:
        if self.named or not text.strip():
            return
        self.named = True
        words = " ".join(Credentials({**os.environ, **self.env}).hidden(text[:NAMING]).split())
        title = words if len(words) <= TITLE_CHARACTERS else f"{words[: TITLE_CHARACTERS - 1].rstrip()}…"
        self.dispatch(SessionTitleChanged(title=title, time=now_ms()))


def _new_session(conversation: Conversation, uri: str, title: str | None) -> SessionState:
    now, spec, cwd = now_ms(), conversation.spec, conversation.cwd
    summary = SessionSummary(
        resource=uri,
        provider=spec.name,
        title=title or spec.title,
        status=SessionStatus.IDLE | SessionStatus.IS_READ,
        created_at=now,
        modified_at=now,
        working_directory=cwd.as_uri(),
    )
    config = settings(conversation.mode)
    return SessionState(summary=summary, lifecycle="creating", active_clients=(), chats=(), config=config)


def _new_chat(uri: str, title: str) -> ChatState:
    epoch = "1970-01-01T00:00:00.000Z"
    return ChatState(resource=uri, title=title, status=SessionStatus.IDLE, modified_at=epoch, turns=())
