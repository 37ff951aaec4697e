"""The prompts of a session that wait until the running turn is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.events.kinds import TURN_QUEUED
from agentnb.state import (
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    PendingMessageKind,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.channels import SessionChannels
    from agentnb.host.turns.mention_resolution import MentionResolution
    from agentnb.state import ActionOrigin, Message


class MessageQueue:
    """The waiting prompts of one session.

    Attributes:
        mentions: Resolves what they mention.
        awaited: The ids of those that code waits for.
    """

    mentions: MentionResolution

    def __init__(self, channels: SessionChannels, lifecycle: AgentLifecycle, begin: Callable[..., None]) -> None:
        self.awaited: list[str] = []
        self._channels = channels
        self._lifecycle = lifecycle
        self._begin = begin

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None, *, look: bool = False) -> None:
        """Start a turn with *message*, or queue it behind the running one."""
        chat = self._channels.chat.state
        look = look and self.mentions.wanted(message)
        waiting = any(not each.held for each in chat.queued_messages or ())
        if chat.active_turn is None and not waiting and not look:
            self._begin(turn_id, message, origin=origin)
        else:
            self._queue(turn_id, message, origin)
            TURN_QUEUED.tell(tab=self._channels.tab_id, turn=turn_id, _text=message.text)
            if look:
                self.mentions.begin(turn_id)
            self.pump()  # what a restored session has waiting runs first

    def edit(self, message_id: str, message: Message, origin: ActionOrigin | None = None) -> bool:
        """Change a message that waits; its mentions are resolved again."""
        waiting = self._channels.queued(message_id)
        if waiting is None:
            return False
        own = self.mentions.own(message_id, waiting)
        self.mentions.take(message_id)
        self._queue(message_id, replace(message, attachments=own or None), origin)
        if self.mentions.wanted(message):
            self.mentions.begin(message_id)
        self.pump()
        return True

    def put_first(self, message_id: str, message: Message, origin: ActionOrigin | None) -> None:
        """Make *message* the next one, whether it waits already or not."""
        if self._channels.queued(message_id) is None:
            self.prompt(message_id, message, origin)
        if self._channels.queued(message_id) is not None:
            first = ChatQueuedMessagesReordered(order=(message_id,), held=False, time=now_ms())
            self._channels.dispatch(first, origin)

    def pump(self) -> None:
        """Start the first waiting prompt that is not held, where nothing runs."""
        chat = self._channels.chat.state
        if chat.active_turn is not None or self._lifecycle.closed:
            return
        first = next((each for each in chat.queued_messages or () if not each.held), None)
        if first is not None and not self.mentions.going(first.id):
            self._begin(first.id, first.message, queued_id=first.id)

    def reorder(self, action: ChatQueuedMessagesReordered, origin: ActionOrigin | None = None) -> None:
        """Bring the queue into another order; what is no longer held starts where nothing runs."""
        self._channels.dispatch(replace(action, time=now_ms()), origin)
        self.pump()

    def continue_queue(self) -> None:
        """Hold the waiting prompts no longer, and start the first where nothing runs."""
        held = tuple(each.id for each in self._channels.chat.state.queued_messages or () if each.held)
        if held:
            self.reorder(ChatQueuedMessagesReordered(order=held, held=False))

    def remove(self, message_id: str, origin: ActionOrigin | None = None) -> bool:
        """Take a message that waits out of the queue."""
        if self._channels.queued(message_id) is None:
            return False
        self.mentions.take(message_id)
        removed = ChatPendingMessageRemoved(kind=PendingMessageKind.QUEUED, id=message_id, time=now_ms())
        self._channels.dispatch(removed, origin)
        self.pump()
        return True

    def _queue(self, message_id: str, message: Message, origin: ActionOrigin | None) -> None:
        queued = ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=message_id, message=message, time=now_ms())
        self._channels.dispatch(queued, origin)
