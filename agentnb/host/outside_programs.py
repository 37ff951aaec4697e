"""Programs from elsewhere, and the notebook itself, treated as agents: each has a conversation, a name and a log."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, TypeVar

from agentnb.agent.catalog import AgentSpec
from agentnb.clock import now_ms
from agentnb.errors import PermissionDenied
from agentnb.host.conversation import Conversation
from agentnb.ids import new_id
from agentnb.state import AgentProcess, Message, MessageKind, MessageOrigin, SessionReady, XAgentChanged

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Awaitable

    from agentnb.errors import SessionError
    from agentnb.host.conversation import SessionOwner
    from agentnb.host.session_options import SessionOptions

T = TypeVar("T")
C = TypeVar("C", bound=Conversation)

NOTEBOOK = "notebook-"
"""What the agent's name begins with where the notebook itself did something that can be undone."""
ANSWER_SECONDS = 300.0
"""How long a card waits for the user's answer."""
IDLE_SECONDS = 20.0
"""After how long without a call or a change a turn ends."""


def client_spec(prefix: str, name: str, *, title: str, about: str, command: tuple[str, ...]) -> AgentSpec:
    """A program that is connected, as an agent."""
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "program"
    return AgentSpec(name=f"{prefix}{word}", title=title, about=about, command=command)


def open_for(kind: type[C], host: SessionOwner, options: SessionOptions, read_only: SessionError, *, title: str) -> C:
    """A new conversation of a program; *read_only*: why it takes no prompts."""
    configured = options.configuration(host.environment)
    conversation = kind(host, configured, tab_id=new_id(), title=title)
    host.adopt(conversation)
    conversation.restored(None, read_only)
    return conversation


def show_running(conversation: Conversation, version: str | None = None) -> None:
    """Show that the program is connected, and why it takes no messages."""
    why = None if conversation.barred is None else str(conversation.barred)
    running = AgentProcess(name=conversation.spec.title, version=version, state="running", message=why)
    conversation.dispatch(SessionReady(time=now_ms()))
    conversation.dispatch(XAgentChanged(agent_process=running, time=now_ms()))


async def answered_within(seconds: float, answer: Awaitable[T], title: str, retry: str) -> T:
    """The user's *answer* to a card; denied where it takes too long."""
    try:
        return await asyncio.wait_for(answer, seconds)
    except asyncio.TimeoutError:
        message = f"{title}: no one answered the card in the notebook's chat for {seconds:g} s."
        hint = f"Nothing was done. Ask the user to answer it, then {retry} again."
        raise PermissionDenied(message, hint=hint) from None


class UnpromptedTurns:
    """The turns of one conversation whose agent is a program that takes no prompts. On the host's thread."""

    def __init__(self, conversation: Conversation, words: str) -> None:
        self.running: int = 0
        self._conversation = conversation
        self._words = words
        self._beginning = asyncio.Lock()
        self._idle: TimerHandle | None = None

    async def enter(self) -> str:
        """A call begins, in the running turn or in a new one; returns the turn's id. :meth:`leave` ends the call."""
        self.running += 1
        self.stop_waiting()
        async with self._beginning:
            active = self._conversation.chat.state.active_turn
            if active is not None:
                return active.id
            turn_id = new_id()
            origin = MessageOrigin(kind=MessageKind.SYSTEM_NOTIFICATION.value)
            await self._conversation.turns.begin_unprompted(turn_id, Message(text=self._words, origin=origin))
            return turn_id

    def leave(self, idle_seconds: float | None) -> None:
        """A call has ended; the turn ends *idle_seconds* after the last one, or with None it is not ended here."""
        self.running -= 1
        if not self.running and idle_seconds is not None:
            self._idle = self._conversation.host.loop.later(idle_seconds, self._complete)

    def stop_waiting(self) -> None:
        """The running turn is not ended for want of calls."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _complete(self) -> None:
        self._idle = None
        active = self._conversation.chat.state.active_turn
        if active is not None and not self._conversation.closed:
            self._conversation.turns.complete(active.id)
