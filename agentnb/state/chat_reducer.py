"""Reduces a chat channel: `ChatState` and an action to `ChatState`."""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state import (  # noqa: F401 - each registers its reducers
    chat_input_reducer,
    chat_part_reducer,
    chat_pending_reducer,
    chat_terminal_reducer,
    chat_tool_reducer,
    chat_turn_reducer,
)
from agentnb.state.action import Action, TurnContentAction
from agentnb.state.change import put
from agentnb.state.chat_actions import XLate
from agentnb.state.chat_state import ActiveTurn, ChatState, Turn
from agentnb.state.chat_turns import finished_turn_index
from agentnb.state.reducers import REDUCERS, reduces


@reduces(XLate)
def _late(state: ChatState, action: XLate) -> ChatState:
    """The inner action on a finished turn, as if that turn still ran; nothing else is touched."""
    at = finished_turn_index(state, action.turn_id)
    if at is None or not isinstance(action.action, TurnContentAction):
        return state
    old = state.turns[at]
    turn = _content_changed(state, old, action.action)
    return state if turn is old else replace(state, turns=put(state.turns, at, turn))


def _content_changed(state: ChatState, turn: Turn, action: TurnContentAction) -> Turn:
    active = ActiveTurn(id=turn.id, message=turn.message, response_parts=turn.response_parts, usage=turn.usage)
    after = reduce_chat(replace(state, active_turn=active), action).active_turn
    if after is None or after is active:
        return turn
    return replace(turn, response_parts=after.response_parts, usage=after.usage)


def reduce_chat(state: ChatState, action: Action) -> ChatState:
    """A chat after an action.

    Args:
        state: The chat before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The chat after; the very same object when nothing has changed.

    Example:
        >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
        >>> reduce_chat(chat, ChatTurnComplete(turn_id="none")) is chat
        True
    """
    reducer = REDUCERS["chat"].get(type(action))
    after: ChatState = state if reducer is None else reducer(state, action)
    return after
