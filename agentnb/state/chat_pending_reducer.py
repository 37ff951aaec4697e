"""Reduces messages that wait: the one that steers, and those in the queue."""

from __future__ import annotations

from agentnb.state.change import changed, upsert, without
from agentnb.state.chat_actions import ChatPendingMessageRemoved, ChatPendingMessageSet, ChatQueuedMessagesReordered
from agentnb.state.chat_message_state import PendingMessage
from agentnb.state.chat_state import ChatState
from agentnb.state.reducers import reduces


@reduces(ChatPendingMessageSet)
def message_set(state: ChatState, action: ChatPendingMessageSet) -> ChatState:
    """A message waits, in the place of the one with the same id; it stays held if that one was."""
    message = PendingMessage(id=action.id, message=action.message)
    if action.kind == "steering":
        return changed(state, steering_message=message)
    if any(other.id == action.id and other.held for other in state.queued_messages or ()):
        message = PendingMessage(id=action.id, message=action.message, held=True)
    return changed(state, queued_messages=upsert(state.queued_messages, message, "id"))


@reduces(ChatPendingMessageRemoved)
def message_removed(state: ChatState, action: ChatPendingMessageRemoved) -> ChatState:
    """A message is taken back. A queue with nothing left is absent."""
    if action.kind == "steering":
        steering = state.steering_message
        gone = steering is not None and steering.id == action.id
        return changed(state, steering_message=None) if gone else state
    if state.queued_messages is None:
        return state
    rest = without(state.queued_messages, "id", action.id)
    return state if rest is state.queued_messages else changed(state, queued_messages=rest or None)


@reduces(ChatQueuedMessagesReordered)
def messages_reordered(state: ChatState, action: ChatQueuedMessagesReordered) -> ChatState:
    """The queue in another order; messages not named follow as they were."""
    waiting = {message.id: message for message in state.queued_messages or ()}
    if not waiting:
        return state
    named = [waiting.pop(message_id) for message_id in action.order if message_id in waiting]
    if action.held is not None:
        named = [changed(message, held=action.held or None) for message in named]
    return changed(state, queued_messages=(*named, *waiting.values()))


def held(messages: tuple[PendingMessage, ...] | None) -> tuple[PendingMessage, ...] | None:
    """The queue, held until the user continues."""
    return messages and tuple(changed(message, held=True) for message in messages)
