"""Reduces a chat channel: `ChatState` and an action to `ChatState`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from agentnb.state import chat_actions as actions
from agentnb.state import chat_input_reducer as inputs
from agentnb.state import chat_part_reducer as parts
from agentnb.state import chat_pending_reducer as pending
from agentnb.state import chat_terminal_reducer as terminals
from agentnb.state import chat_tool_actions as tool_actions
from agentnb.state import chat_tool_reducer as tools
from agentnb.state import chat_turn_actions as turn_actions
from agentnb.state import chat_turn_reducer as turns
from agentnb.state.action import Action
from agentnb.state.change import put
from agentnb.state.chat_state import ActiveTurn, ChatState, Turn

Reducer: TypeAlias = Callable[[ChatState, Any], ChatState]

TURN_REDUCERS: dict[type[Action], Reducer] = {
    turn_actions.ChatDelta: parts.delta,
    turn_actions.ChatReasoning: parts.reasoning,
    turn_actions.ChatResponsePart: parts.response_part,
    turn_actions.ChatUsage: turns.usage,
    tool_actions.ChatToolCallStart: tools.start,
    tool_actions.ChatToolCallDelta: tools.delta,
    tool_actions.ChatToolCallReady: tools.ready,
    tool_actions.ChatToolCallConfirmed: tools.confirmed,
    tool_actions.ChatToolCallComplete: tools.complete,
    tool_actions.ChatToolCallResultConfirmed: tools.result_confirmed,
    tool_actions.ChatToolCallContentChanged: tools.content_changed,
    tool_actions.XToolCallDetailsChanged: tools.details_changed,
    turn_actions.XPlanSet: parts.plan_set,
    turn_actions.XPartRemoved: parts.part_removed,
    turn_actions.XUserMessageDelta: parts.user_message_delta,
}
"""What changes the content of one turn. These also come late, see `XLate`."""


def _late(state: ChatState, action: actions.XLate) -> ChatState:
    """The inner action on a finished turn, as if that turn still ran; nothing else is touched."""
    reducer = TURN_REDUCERS.get(type(action.action))
    at = next((i for i in range(len(state.turns) - 1, -1, -1) if state.turns[i].id == action.turn_id), None)
    if reducer is None or at is None:
        return state
    old = state.turns[at]
    turn = _content_changed(state, old, reducer, action.action)
    return state if turn is old else replace(state, turns=put(state.turns, at, turn))


def _content_changed(state: ChatState, turn: Turn, reducer: Reducer, action: Action) -> Turn:
    active = ActiveTurn(id=turn.id, message=turn.message, response_parts=turn.response_parts, usage=turn.usage)
    after = reducer(replace(state, active_turn=active), action).active_turn
    if after is None or after is active:
        return turn
    return replace(turn, response_parts=after.response_parts, usage=after.usage)


REDUCERS: dict[type[Action], Reducer] = {
    **TURN_REDUCERS,
    turn_actions.ChatTurnStarted: turns.turn_started,
    turn_actions.ChatTurnComplete: turns.turn_complete,
    turn_actions.ChatTurnCancelled: turns.turn_cancelled,
    turn_actions.ChatError: turns.turn_failed,
    turn_actions.ChatTruncated: turns.truncated,
    actions.ChatPendingMessageSet: pending.message_set,
    actions.ChatPendingMessageRemoved: pending.message_removed,
    actions.ChatQueuedMessagesReordered: pending.messages_reordered,
    actions.ChatInputRequested: inputs.requested,
    actions.ChatInputAnswerChanged: inputs.answer_changed,
    actions.ChatInputCompleted: inputs.completed,
    actions.XLate: _late,
    actions.XTerminalOpened: terminals.opened,
    actions.XTerminalData: terminals.data,
    actions.XTerminalExited: terminals.exited,
}


def reduce_chat(state: ChatState, action: Action) -> ChatState:
    """A chat after an action.

    Args:
        state: The chat before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The chat after; the very same object when nothing has changed.

    Example:
        >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
        >>> reduce_chat(chat, turn_actions.ChatTurnComplete(turn_id="none")) is chat
        True
    """
    reducer = REDUCERS.get(type(action))
    return state if reducer is None else reducer(state, action)
