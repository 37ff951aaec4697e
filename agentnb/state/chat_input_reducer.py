"""Reduces questions to the user and their answers.

A question that is put while a turn runs is a part of its answer, and stays there. One that is put while none runs, such
as for a login, waits in `ChatState.input_requests`: AHP has no place for it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentnb.state.change import changed, same, upsert, without
from agentnb.state.chat_actions import ChatInputAnswerChanged, ChatInputCompleted, ChatInputRequested
from agentnb.state.chat_input_state import ChatInputRequest, ChatInputResponseKind
from agentnb.state.chat_part_reducer import with_parts
from agentnb.state.chat_part_state import InputRequestResponsePart
from agentnb.state.chat_state import ChatState
from agentnb.state.chat_status import derived_status, modified_at
from agentnb.state.parts import Parts
from agentnb.state.reducers import reduces
from agentnb.state.status import SessionStatus, with_flag


def waiting_requests(state: ChatState) -> tuple[ChatInputRequest, ...]:
    """The questions that wait for the user."""
    turn = state.active_turn
    parts = turn.response_parts if turn is not None and Parts.of(turn.response_parts).waiting else ()
    return (
        *(part.request for part in parts if isinstance(part, InputRequestResponsePart) and part.response is None),
        *(state.input_requests or ()),
    )


def _waiting_request(state: ChatState, request_id: str) -> ChatInputRequest | None:
    return next((request for request in waiting_requests(state) if request.id == request_id), None)


@reduces(ChatInputRequested)
def requested(state: ChatState, action: ChatInputRequested) -> ChatState:
    """A request waits. Asked again without answers, it keeps those it had."""
    request, known = action.request, _waiting_request(state, action.request.id)
    if known is not None and request.answers is None:
        request = replace(request, answers=known.answers)
    state = _put(state, request)
    status = with_flag(derived_status(state), SessionStatus.IS_READ, on=False)
    return changed(state, status=status, modified_at=modified_at(state, action))


@reduces(ChatInputAnswerChanged)
def answer_changed(state: ChatState, action: ChatInputAnswerChanged) -> ChatState:
    """One answer, set or withdrawn."""
    known = _waiting_request(state, action.request_id)
    if known is None:
        return state
    answers = dict(known.answers or {})
    if action.answer is None:
        answers.pop(action.question_id, None)
    else:
        answers[action.question_id] = action.answer
    request = changed(known, answers=answers or None)
    return state if request is known else replace(_put(state, request), modified_at=modified_at(state, action))


@reduces(ChatInputCompleted)
def completed(state: ChatState, action: ChatInputCompleted) -> ChatState:
    """A request is settled."""
    known = _waiting_request(state, action.request_id)
    if known is None:
        return state
    answers = {**(known.answers or {}), **(action.answers or {})}
    state = _put(state, replace(known, answers=answers or None), action.response)
    return changed(state, status=derived_status(state), modified_at=modified_at(state, action))


def _put(state: ChatState, request: ChatInputRequest, response: ChatInputResponseKind | None = None) -> ChatState:
    """The chat with *request* where it waits, or where a new one is to wait."""
    turn, outside = state.active_turn, state.input_requests or ()
    if turn is None or any(other.id == request.id for other in outside):
        kept = upsert(outside, request, "id") if response is None else without(outside, "id", request.id)
        return changed(state, input_requests=kept or None)
    parts, part = Parts.of(turn.response_parts), InputRequestResponsePart(request=request, response=response)
    at = parts.find_request(request.id)
    if at < 0:
        return with_parts(state, turn, parts.appended(part))
    return state if same(parts[at], part) else with_parts(state, turn, parts.put(at, part))
