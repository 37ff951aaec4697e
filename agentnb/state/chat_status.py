"""A chat's status, derived from what it is doing."""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state.action import Action
from agentnb.state.change import iso_time
from agentnb.state.chat_state import ChatState
from agentnb.state.parts import Parts
from agentnb.state.status import SessionStatus, with_activity


def derived_status(state: ChatState) -> int:
    """The status that follows from the chat's turn, its questions and its tool calls; flags are kept."""
    turn = state.active_turn
    if state.input_requests or (turn is not None and Parts.of(turn.response_parts).waiting):
        activity = SessionStatus.INPUT_NEEDED
    elif turn is not None:
        activity = SessionStatus.IN_PROGRESS
    else:
        activity = SessionStatus.IDLE
    return with_activity(state.status, activity)


def with_derived_status(state: ChatState) -> ChatState:
    """The chat with the status that follows from it; the same object when it has it."""
    status = derived_status(state)
    return state if status == state.status else replace(state, status=status)


def modified_at(state: ChatState, action: Action) -> str:
    """When the chat was last modified, once this action is applied."""
    return state.modified_at if action.time is None else iso_time(action.time)
