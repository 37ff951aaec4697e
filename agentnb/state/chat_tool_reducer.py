"""Reduces parts and tool calls of a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import asdict, replace

from agentnb.state import chat_actions as actions
from agentnb.state.action import Action
from agentnb.state.change import changed, iso_time, same
from agentnb.state.chat_actions import (
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    XPartRemoved,
    XPlanSet,
    XUserMessageDelta,
)
from agentnb.state.chat_part_state import (
    InputRequestResponsePart,
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    ToolCallResponsePart,
    UserMessageResponsePart,
)
from agentnb.state.chat_state import ActiveTurn, ChatState
from agentnb.state.chat_tool_state import (
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallDetails,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStreamingState,
)
from agentnb.state.parts import Parts
from agentnb.state.reducers import reduces
from agentnb.state.wire import JsonObject, SessionStatus, with_activity

A = TypeVar("A", bound=actions.ToolCallAction)
Update: TypeAlias = Callable[[ToolCallState, A], ToolCallState]


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


def running_turn(state: ChatState, turn_id: str) -> ActiveTurn | None:
    """The running turn, when it is the one that is named."""
    turn = state.active_turn
    return turn if turn is not None and turn.id == turn_id else None


def with_parts(state: ChatState, turn: ActiveTurn, parts: Parts) -> ChatState:
    return replace(state, active_turn=replace(turn, response_parts=parts))


@reduces(ChatResponsePart)
def response_part(state: ChatState, action: ChatResponsePart) -> ChatState:
    turn = running_turn(state, action.turn_id)
    if turn is None:
        return state
    state = with_parts(state, turn, Parts.of(turn.response_parts).appended(action.part))
    waits = isinstance(action.part, (ToolCallResponsePart, InputRequestResponsePart))
    return with_derived_status(state) if waits else state


@reduces(ChatDelta)
def delta(state: ChatState, action: ChatDelta) -> ChatState:
    return _grown(state, action, MarkdownResponsePart)


@reduces(ChatReasoning)
def reasoning(state: ChatState, action: ChatReasoning) -> ChatState:
    return _grown(state, action, ReasoningResponsePart)


@reduces(XUserMessageDelta)
def user_message_delta(state: ChatState, action: XUserMessageDelta) -> ChatState:
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


def _updates(kind: type[A]) -> Callable[[Update[A]], Update[A]]:
    """Reduce the action *kind* by the function below, which returns the tool call as the action leaves it."""

    def registered(update: Update[A]) -> Update[A]:
        @reduces(kind)
        def reducer(state: ChatState, action: A) -> ChatState:
            return _updated(state, action, update)

        return update

    return registered


def _updated(state: ChatState, action: A, update: Update[A]) -> ChatState:
    turn = running_turn(state, action.turn_id)
    if turn is None:
        return state
    parts = Parts.of(turn.response_parts)
    at = parts.find(action.tool_call_id)
    part = parts[at] if at >= 0 else None
    if not isinstance(part, ToolCallResponsePart):
        return state
    call = update(part.tool_call, action)
    if call is part.tool_call:
        return state
    state = with_parts(state, turn, parts.put(at, ToolCallResponsePart(tool_call=call)))
    return state if type(call) is type(part.tool_call) else with_derived_status(state)


def _base(call: ToolCallState, meta: JsonObject | None = None) -> dict[str, Any]:
    """Returns what every state carries on from the one before."""
    return {
        "tool_call_id": call.tool_call_id,
        "tool_name": call.tool_name,
        "display_name": call.display_name,
        "contributor": call.contributor,
        "meta": call.meta if meta is None else meta,
        "details": call.details,
    }


def cancelled(
    call: ToolCallState, *, reason: str, meta: JsonObject | None = None, **fields: Any
) -> ToolCallCancelledState:
    return ToolCallCancelledState(
        **_base(call, meta),
        invocation_message="" if call.invocation_message is None else call.invocation_message,
        tool_input=None if isinstance(call, ToolCallStreamingState) else call.tool_input,
        reason=reason,
        **fields,
    )


@reduces(actions.ChatToolCallStart)
def start(state: ChatState, action: actions.ChatToolCallStart) -> ChatState:
    """A tool call begins. One that has begun before is left alone."""
    turn = running_turn(state, action.turn_id)
    parts = Parts.of(turn.response_parts if turn is not None else ())
    if turn is None or parts.find(action.tool_call_id) >= 0:
        return state
    call = ToolCallStreamingState(
        tool_call_id=action.tool_call_id,
        tool_name=action.tool_name,
        display_name=action.display_name,
        contributor=action.contributor,
        meta=action.meta,
        details=action.details,
    )
    return with_parts(state, turn, parts.appended(ToolCallResponsePart(tool_call=call)))


@_updates(actions.ChatToolCallDelta)
def input_delta(call: ToolCallState, action: actions.ChatToolCallDelta) -> ToolCallState:
    if not isinstance(call, ToolCallStreamingState):
        return call
    return changed(
        call,
        meta=call.meta if action.meta is None else action.meta,
        partial_input=(call.partial_input or "") + action.content,
        invocation_message=action.invocation_message or call.invocation_message,
    )


@_updates(actions.ChatToolCallReady)
def ready(call: ToolCallState, action: actions.ChatToolCallReady) -> ToolCallState:
    if not isinstance(call, (ToolCallStreamingState, ToolCallRunningState)):
        return call
    if action.confirmed:
        return _running(call, action, action.confirmed)
    return ToolCallPendingConfirmationState(
        **_base(call, action.meta),
        invocation_message=action.invocation_message,
        tool_input=action.tool_input,
        confirmation_title=action.confirmation_title,
        edits=action.edits,
        editable=action.editable,
        options=action.options,
        risk=action.risk,
    )


def _running(call: ToolCallState, action: actions.ChatToolCallReady, confirmed: str) -> ToolCallState:
    running = ToolCallRunningState(
        **_base(call, action.meta),
        invocation_message=action.invocation_message,
        tool_input=action.tool_input,
        confirmed=confirmed,
    )
    return call if same(call, running) else running


@_updates(actions.ChatToolCallConfirmed)
def confirmed(call: ToolCallState, action: actions.ChatToolCallConfirmed) -> ToolCallState:
    if not isinstance(call, ToolCallPendingConfirmationState):
        return call
    option = next((each for each in call.options or () if each.id == action.selected_option_id), None)
    if not action.approved:
        return cancelled(
            call,
            reason=action.reason or "denied",
            meta=action.meta,
            reason_message=action.reason_message,
            user_suggestion=action.user_suggestion,
            selected_option=option,
            answered_by=action.answered_by,
        )
    return ToolCallRunningState(
        **_base(call, action.meta),
        invocation_message=call.invocation_message,
        tool_input=call.tool_input if action.edited_tool_input is None else action.edited_tool_input,
        confirmed=action.confirmed or "user-action",
        selected_option=option,
        answered_by=action.answered_by,
    )


@_updates(actions.ChatToolCallComplete)
def complete(call: ToolCallState, action: actions.ChatToolCallComplete) -> ToolCallState:
    if not isinstance(call, (ToolCallRunningState, ToolCallPendingConfirmationState)):
        return call
    kind = ToolCallPendingResultConfirmationState if action.requires_result_confirmation else ToolCallCompletedState
    return kind(
        **_base(call, action.meta),
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        confirmed=call.confirmed if isinstance(call, ToolCallRunningState) else "not-needed",
        selected_option=call.selected_option if isinstance(call, ToolCallRunningState) else None,
        answered_by=call.answered_by if isinstance(call, ToolCallRunningState) else None,
        **asdict(action.result),
    )


@_updates(actions.ChatToolCallResultConfirmed)
def result_confirmed(call: ToolCallState, action: actions.ChatToolCallResultConfirmed) -> ToolCallState:
    if not isinstance(call, ToolCallPendingResultConfirmationState):
        return call
    if not action.approved:
        fields = {"selected_option": call.selected_option, "answered_by": call.answered_by}
        return cancelled(call, reason="result-denied", meta=action.meta, **fields)
    return replace(ToolCallCompletedState(**asdict(call)), meta=call.meta if action.meta is None else action.meta)


@_updates(actions.ChatToolCallContentChanged)
def content_changed(call: ToolCallState, action: actions.ChatToolCallContentChanged) -> ToolCallState:
    if not isinstance(call, ToolCallRunningState):
        return call
    meta = call.meta if action.meta is None else action.meta
    return changed(call, meta=meta, content=action.content)


@_updates(actions.XToolCallDetailsChanged)
def details_changed(call: ToolCallState, action: actions.XToolCallDetailsChanged) -> ToolCallState:
    return changed(
        call,
        meta=call.meta if action.meta is None else action.meta,
        display_name=call.display_name if action.display_name is None else action.display_name,
        details=_merged(call.details, action.details),
    )


def _merged(old: ToolCallDetails | None, new: ToolCallDetails) -> ToolCallDetails:
    if old is None:
        return new
    return changed(old, **{name: value for name, value in asdict(new).items() if value is not None})
