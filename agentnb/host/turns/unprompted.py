"""Turns that no prompt began: what a program from elsewhere does in one go is one turn, which can be undone as one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.ids import new_id
from agentnb.state import Message, MessageKind, MessageOrigin

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from agentnb.host.conversation import Conversation


class UnpromptedTurns:
    """The turns of one conversation whose agent is a program that takes no prompts. On the host's thread."""

    def __init__(self, conversation: Conversation, words: str) -> None:
        self.running = 0
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
