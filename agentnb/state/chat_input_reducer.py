"""Reduces questions to the user and their answers."""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state.change import changed, put, without
from agentnb.state.chat_actions import ChatInputAnswerChanged, ChatInputCompleted, ChatInputRequested
from agentnb.state.chat_input_state import ChatInputRequest
from agentnb.state.chat_state import ChatState
from agentnb.state.chat_status import derived_status, modified_at
from agentnb.state.reducers import reduces
from agentnb.state.status import SessionStatus, with_flag


@reduces(ChatInputRequested)
def requested(state: ChatState, action: ChatInputRequested) -> ChatState:
    """A request waits. Asked again without answers, it keeps those it had."""
    requests = state.input_requests or ()
    request = action.request
    at = _find(requests, request.id)
    if at < 0:
        at = len(requests)
    elif request.answers is None:
        request = replace(request, answers=requests[at].answers)
    state = changed(state, input_requests=put(requests, at, request))
    status = with_flag(derived_status(state), SessionStatus.IS_READ, on=False)
    return changed(state, status=status, modified_at=modified_at(state, action))


@reduces(ChatInputAnswerChanged)
def answer_changed(state: ChatState, action: ChatInputAnswerChanged) -> ChatState:
    """One answer, set or withdrawn."""
    requests = state.input_requests or ()
    at = _find(requests, action.request_id)
    if at < 0:
        return state
    answers = dict(requests[at].answers or {})
    if action.answer is None:
        answers.pop(action.question_id, None)
    else:
        answers[action.question_id] = action.answer
    request = changed(requests[at], answers=answers or None)
    if request is requests[at]:
        return state
    return replace(state, input_requests=put(requests, at, request), modified_at=modified_at(state, action))


@reduces(ChatInputCompleted)
def completed(state: ChatState, action: ChatInputCompleted) -> ChatState:
    """A request is settled and goes away."""
    requests = state.input_requests or ()
    rest = without(requests, "id", action.request_id)
    if rest is requests:
        return state
    state = replace(state, input_requests=rest or None, modified_at=modified_at(state, action))
    return changed(state, status=derived_status(state))


def _find(requests: tuple[ChatInputRequest, ...], request_id: str) -> int:
    return next((i for i, request in enumerate(requests) if request.id == request_id), -1)
