"""Reduces what starts, ends and counts a turn."""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state.change import changed, put, without
from agentnb.state.chat_part_state import ResponsePart, ToolCallResponsePart
from agentnb.state.chat_pending_reducer import held
from agentnb.state.chat_state import ActiveTurn, ChatState, Turn, TurnState
from agentnb.state.chat_status import derived_status, modified_at, with_derived_status
from agentnb.state.chat_tool_reducer import cancelled
from agentnb.state.chat_tool_state import ToolCallCancelledState, ToolCallCompletedState
from agentnb.state.chat_turn_actions import (
    ChatError,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    XPromptSuggestionsChanged,
    XTurnChanges,
)
from agentnb.state.chat_turns import find_turn, finished_turn_index
from agentnb.state.parts import Parts
from agentnb.state.reducers import reduces
from agentnb.state.status import SessionStatus, with_activity, with_flag


@reduces(ChatTurnStarted)
def turn_started(state: ChatState, action: ChatTurnStarted) -> ChatState:
    """A turn begins, and what the agent suggested for it is over. One that has begun before is left alone."""
    if find_turn(state, action.turn_id) is not None:
        return state
    turn = ActiveTurn(id=action.turn_id, message=action.message, response_parts=(), started_at=action.started_at)
    state = _without_pending(replace(state, active_turn=turn), action.queued_message_id)
    status = with_flag(derived_status(state), SessionStatus.IS_READ, on=False)
    return replace(state, status=status, modified_at=modified_at(state, action), prompt_suggestions=None)


def _without_pending(state: ChatState, message_id: str | None) -> ChatState:
    if message_id is None:
        return state
    steering = state.steering_message
    if steering is not None and steering.id == message_id:
        steering = None
    queued = without(state.queued_messages or (), "id", message_id) or None
    return changed(state, steering_message=steering, queued_messages=queued)


@reduces(ChatTurnComplete)
def turn_complete(state: ChatState, action: ChatTurnComplete) -> ChatState:
    """The turn is over."""
    return _end(state, action, "complete")


@reduces(ChatTurnCancelled)
def turn_cancelled(state: ChatState, action: ChatTurnCancelled) -> ChatState:
    """The turn was broken off; the queue is held where the action says so."""
    ended = _end(state, action, "cancelled")
    if ended is state or not action.hold_queue:
        return ended
    return changed(ended, queued_messages=held(ended.queued_messages))


@reduces(ChatError)
def turn_failed(state: ChatState, action: ChatError) -> ChatState:
    """The turn failed."""
    return _end(state, action, "error")


def _end(state: ChatState, action: ChatTurnComplete | ChatTurnCancelled | ChatError, how: TurnState) -> ChatState:
    active = state.active_turn
    if active is None or active.id != action.turn_id:
        return state
    parts = _settled(Parts.of(active.response_parts))
    turn = Turn(
        id=active.id,
        started_at=active.started_at,
        duration=action.duration,
        message=active.message,
        response_parts=parts.appended(action.part) if isinstance(action, ChatError) else parts,
        usage=active.usage,
        state=how,
        stop_reason=action.stop_reason,
    )
    state = replace(
        state,
        turns=(*state.turns, turn),
        active_turn=None,
        input_requests=None,
        modified_at=modified_at(state, action),
    )
    if how == "error":
        return replace(state, status=with_activity(state.status, SessionStatus.ERROR))
    return with_derived_status(state)


def _settled(parts: Parts) -> Parts:
    """The parts with every tool call at an end: what still ran is cancelled."""
    return Parts(map(_settled_part, parts)) if parts.begun or parts.waiting else parts


def _settled_part(part: ResponsePart) -> ResponsePart:
    if not isinstance(part, ToolCallResponsePart):
        return part
    if isinstance(part.tool_call, (ToolCallCompletedState, ToolCallCancelledState)):
        return part
    return ToolCallResponsePart(tool_call=cancelled(part.tool_call, reason="skipped"))


@reduces(ChatUsage)
def usage(state: ChatState, action: ChatUsage) -> ChatState:
    """Tokens that the running turn has used."""
    active = state.active_turn
    if active is None or active.id != action.turn_id:
        return state
    return changed(state, active_turn=changed(active, usage=action.usage))


@reduces(ChatTruncated)
def truncated(state: ChatState, action: ChatTruncated) -> ChatState:
    """The history ends with the turn that is named; with none, it is empty."""
    keep = 0
    if action.turn_id is not None:
        keep = next((i for i, turn in enumerate(state.turns, 1) if turn.id == action.turn_id), 0)
        if not keep:
            return state
    state = changed(
        state,
        turns=state.turns[:keep],
        active_turn=None,
        input_requests=None,
        prompt_suggestions=None,
        modified_at=modified_at(state, action),
    )
    return with_derived_status(state)


@reduces(XTurnChanges)
def turn_changes(state: ChatState, action: XTurnChanges) -> ChatState:
    """Returns what a finished turn changed. A turn that is not among the finished ones is left alone."""
    at = finished_turn_index(state, action.turn_id)
    if at is None:
        return state
    old = state.turns[at]
    turn = changed(old, changes=action.changes)
    return state if turn is old else changed(state, turns=put(state.turns, at, turn))


@reduces(XPromptSuggestionsChanged)
def prompt_suggestions_changed(state: ChatState, action: XPromptSuggestionsChanged) -> ChatState:
    """Returns what the agent expects the user to send next."""
    return changed(state, prompt_suggestions=action.suggestions or None)
