"""Reduces the parts of the running turn: text that grows, plans, parts that come and go."""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state.chat_part_state import (
    InputRequestResponsePart,
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    ToolCallResponsePart,
    UserMessageResponsePart,
)
from agentnb.state.chat_state import ActiveTurn, ChatState
from agentnb.state.chat_status import with_derived_status
from agentnb.state.chat_turn_actions import (
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    XPartRemoved,
    XPlanSet,
    XUserMessageDelta,
)
from agentnb.state.parts import Parts
from agentnb.state.reducers import reduces


def running_turn(state: ChatState, turn_id: str) -> ActiveTurn | None:
    """The running turn, when it is the one that is named."""
    turn = state.active_turn
    return turn if turn is not None and turn.id == turn_id else None


def with_parts(state: ChatState, turn: ActiveTurn, parts: Parts) -> ChatState:
    """The chat with these parts in its running turn."""
    return replace(state, active_turn=replace(turn, response_parts=parts))


@reduces(ChatResponsePart)
def response_part(state: ChatState, action: ChatResponsePart) -> ChatState:
    """A new part at the end."""
    turn = running_turn(state, action.turn_id)
    if turn is None:
        return state
    state = with_parts(state, turn, Parts.of(turn.response_parts).appended(action.part))
    waits = isinstance(action.part, (ToolCallResponsePart, InputRequestResponsePart))
    return with_derived_status(state) if waits else state


@reduces(ChatDelta)
def delta(state: ChatState, action: ChatDelta) -> ChatState:
    """More text in a Markdown part."""
    return _grown(state, action, MarkdownResponsePart)


@reduces(ChatReasoning)
def reasoning(state: ChatState, action: ChatReasoning) -> ChatState:
    """More text in a reasoning part."""
    return _grown(state, action, ReasoningResponsePart)


@reduces(XUserMessageDelta)
def user_message_delta(state: ChatState, action: XUserMessageDelta) -> ChatState:
    """More text in a user-message part."""
    return _grown(state, action, UserMessageResponsePart)


def _grown(
    state: ChatState,
    action: ChatDelta | ChatReasoning | XUserMessageDelta,
    kind: type[MarkdownResponsePart | ReasoningResponsePart | UserMessageResponsePart],
) -> ChatState:
    turn = running_turn(state, action.turn_id)
    if turn is None or not action.content:
        return state
    parts = Parts.of(turn.response_parts)
    at = parts.find(action.part_id)
    part = parts[at] if at >= 0 else None
    if not isinstance(part, kind):
        return state
    return with_parts(state, turn, parts.put(at, replace(part, content=part.content + action.content)))


@reduces(XPlanSet)
def plan_set(state: ChatState, action: XPlanSet) -> ChatState:
    """A plan, in the place of the one with the same part id or at the end."""
    turn = running_turn(state, action.turn_id)
    if turn is None:
        return state
    plan = PlanResponsePart(id=action.part_id, plan_id=action.plan_id, entries=action.entries)
    parts = Parts.of(turn.response_parts)
    at = parts.find(action.part_id)
    if at < 0:
        return with_parts(state, turn, parts.appended(plan))
    old = parts[at]
    if not isinstance(old, PlanResponsePart) or old == plan:
        return state
    return with_parts(state, turn, parts.put(at, plan))


@reduces(XPartRemoved)
def part_removed(state: ChatState, action: XPartRemoved) -> ChatState:
    """A part is taken back; with it goes a question that it put."""
    turn = running_turn(state, action.turn_id)
    if turn is None:
        return state
    parts = Parts.of(turn.response_parts)
    at = parts.find(action.part_id)
    if at < 0:
        return state
    return with_derived_status(with_parts(state, turn, parts.without(at)))
