"""Reduces a chat channel: takes a `ChatState` and an action, returns a `ChatState`.

A question that the agent asks during a turn stays a part of its answer. A question asked while no turn runs, such as
for a login, waits in `ChatState.input_requests`: AHP has no place for it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from agentnb.state.action import Action, TurnContentAction
from agentnb.state.change import changed, put, same, upsert, without
from agentnb.state.chat_actions import (
    ChatError,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputRequested,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    XLate,
    XPromptSuggestionsChanged,
    XTerminalData,
    XTerminalExited,
    XTerminalOpened,
    XTurnChanges,
)
from agentnb.state.chat_message_state import ChatInputRequest, ChatInputResponseKind, PendingMessage
from agentnb.state.chat_part_state import InputRequestResponsePart, ResponsePart, ToolCallResponsePart
from agentnb.state.chat_state import ActiveTurn, ChatState, Turn, TurnState
from agentnb.state.chat_tool_reducer import (
    cancelled,
    derived_status,
    modified_at,
    running_turn,
    with_derived_status,
    with_parts,
)
from agentnb.state.chat_tool_state import ToolCallCancelledState, ToolCallCompletedState
from agentnb.state.parts import Parts
from agentnb.state.reducers import reduced, reduces
from agentnb.state.terminal import TerminalView, TerminalViews
from agentnb.state.wire import SessionStatus, with_activity, with_flag


def finished_turn_index(chat: ChatState, turn_id: str) -> int | None:
    turns = chat.turns
    return next((at for at in range(len(turns) - 1, -1, -1) if turns[at].id == turn_id), None)


def find_finished_turn(chat: ChatState, turn_id: str) -> Turn | None:
    at = finished_turn_index(chat, turn_id)
    return None if at is None else chat.turns[at]


def find_turn(chat: ChatState, turn_id: str) -> ActiveTurn | Turn | None:
    """The running or finished turn with that id; None where there is none (a queued prompt has no turn yet)."""
    if chat.active_turn is not None and chat.active_turn.id == turn_id:
        return chat.active_turn
    return find_finished_turn(chat, turn_id)


@reduces(ChatPendingMessageSet)
def message_set(state: ChatState, action: ChatPendingMessageSet) -> ChatState:
    """A message waits, in the place of the one with the same id; it stays held if that one was."""
    message = PendingMessage(id=action.id, message=action.message)
    if action.kind == "steering":
        return changed(state, steering_message=message)
    if any(other.id == action.id and other.held for other in state.queued_messages or ()):
        message = replace(message, held=True)
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


def waiting_requests(state: ChatState) -> tuple[ChatInputRequest, ...]:
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


OUTPUT_LIMIT = 65_536
"""The most characters (Unicode code points) of a terminal's output in the state: the last ones."""


@reduces(XTerminalOpened)
def opened(state: ChatState, action: XTerminalOpened) -> ChatState:
    """A terminal, in the place of the one with the same id."""
    terminals = TerminalViews.of(state.terminals).with_terminal(action.terminal)
    return state if terminals is state.terminals else replace(state, terminals=terminals)


@reduces(XTerminalData)
def data(state: ChatState, action: XTerminalData) -> ChatState:
    if not action.data:
        return state
    return _updated(state, action.terminal_id, lambda terminal: _printed(terminal, action.data))


def _printed(terminal: TerminalView, text: str) -> TerminalView:
    output = terminal.output + text
    if len(output) <= OUTPUT_LIMIT:
        return replace(terminal, output=output)
    return replace(terminal, output=output[-OUTPUT_LIMIT:], truncated=True)


@reduces(XTerminalExited)
def exited(state: ChatState, action: XTerminalExited) -> ChatState:
    return _updated(
        state,
        action.terminal_id,
        lambda terminal: changed(terminal, exited=True, exit_code=action.exit_code, signal=action.signal),
    )


def _updated(state: ChatState, terminal_id: str, update: Callable[[TerminalView], TerminalView]) -> ChatState:
    terminals = TerminalViews.of(state.terminals)
    at = terminals.find(terminal_id)
    if at < 0:
        return state
    terminal = update(terminals[at])
    return state if terminal is terminals[at] else replace(state, terminals=terminals.with_terminal(terminal))


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
    return _end(state, action, "complete")


@reduces(ChatTurnCancelled)
def turn_cancelled(state: ChatState, action: ChatTurnCancelled) -> ChatState:
    ended = _end(state, action, "cancelled")
    if ended is state or not action.hold_queue or not ended.queued_messages:
        return ended
    return changed(ended, queued_messages=tuple(changed(each, held=True) for each in ended.queued_messages))


@reduces(ChatError)
def turn_failed(state: ChatState, action: ChatError) -> ChatState:
    return _end(state, action, "error")


def _end(state: ChatState, action: ChatTurnComplete | ChatTurnCancelled | ChatError, how: TurnState) -> ChatState:
    active = running_turn(state, action.turn_id)
    if active is None:
        return state
    parts = Parts.of(active.response_parts)
    if parts.begun or parts.waiting:
        parts = Parts(map(_settled, parts))
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


def _settled(part: ResponsePart) -> ResponsePart:
    """The part; a tool call that still ran is cancelled."""
    if not isinstance(part, ToolCallResponsePart):
        return part
    if isinstance(part.tool_call, (ToolCallCompletedState, ToolCallCancelledState)):
        return part
    return ToolCallResponsePart(tool_call=cancelled(part.tool_call, reason="skipped"))


@reduces(ChatUsage)
def usage(state: ChatState, action: ChatUsage) -> ChatState:
    active = running_turn(state, action.turn_id)
    return state if active is None else changed(state, active_turn=changed(active, usage=action.usage))


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
    at = finished_turn_index(state, action.turn_id)
    if at is None:
        return state
    old = state.turns[at]
    turn = changed(old, changes=action.changes)
    return state if turn is old else changed(state, turns=put(state.turns, at, turn))


@reduces(XPromptSuggestionsChanged)
def prompt_suggestions_changed(state: ChatState, action: XPromptSuggestionsChanged) -> ChatState:
    return changed(state, prompt_suggestions=action.suggestions or None)


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
    """Returns a chat after an action.

    Example:
        >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
        >>> reduce_chat(chat, ChatTurnComplete(turn_id="none")) is chat
        True
    """
    return reduced("chat", state, action)
