"""Requests of clients that may only answer questions.

They see the permission requests and the running turns, not the conversations. An answer allows or rejects once; the
user allows more in the notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.host.channels import ROOT
from agentnb.log.location import log_place
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.commands import RequestFailed
from agentnb.server.websocket.projection import to_ahp
from agentnb.state import (
    ActionOrigin,
    ChatState,
    ChatToolCallConfirmed,
    ChatTurnCancelled,
    ToolCallPendingConfirmationState,
    encode,
    to_json,
)
from agentnb.state.chat_part_state import InputRequestResponsePart, ToolCallResponsePart
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    import asyncio

    from agentnb.host.channels import Channel
    from agentnb.host.conversation import Conversation
    from agentnb.server.websocket.session_requests import RemoteAsker
    from agentnb.state import ConfirmationOption, Envelope

LARGEST = 200_000
"""The largest question, in bytes, that is sent; a client cannot read a larger one as a whole, so it cannot allow it."""
BEGINNING = 10_000
"""Characters shown of a larger question's input."""
TOGETHER_SECONDS = 0.05
"""Seconds within which changes are sent together."""


class RunningTurn(Wire, frozen=True, kw_only=True):
    """A running turn.

    Attributes:
        channel: The chat's channel.
        turn_id: The turn.
        agent: The agent's name for people.
        conversation: The conversation's title.
    """

    channel: str
    turn_id: str
    agent: str
    conversation: str


class OpenQuestion(RunningTurn, frozen=True, kw_only=True):
    """A permission request of a running turn.

    Attributes:
        call: The waiting tool call, as pages have it; without details if it is too large.
        is_whole: True if it is complete.
    """

    call: dict[str, Any]
    is_whole: bool


class OpenQuestions(Wire, frozen=True, kw_only=True):
    """The open questions and the running turns.

    Attributes:
        place: The notebook of the kernel: its path on its server.
        questions: The permission requests, by conversation, oldest first.
        turns: The running turns.
        forms: The number of other open questions, which only the notebook can answer.
    """

    place: str
    questions: tuple[OpenQuestion, ...]
    turns: tuple[RunningTurn, ...]
    forms: int


class AnswerQuestionCommand(c.Params, frozen=True, kw_only=True):
    """The answer to a permission request, for this once."""

    turn_id: c.Name
    tool_call_id: c.Name
    approved: bool


class StopTurnCommand(c.Params, frozen=True, kw_only=True):
    turn_id: c.Name


class PreviewQuestionCommand(c.Params, frozen=True, kw_only=True):
    """The permission request whose command or code is to be previewed."""

    tool_call_id: c.Name


class QuestionFeed:
    """Tells one client of the questions whenever they change. On the host's thread."""

    def __init__(self, asker: RemoteAsker) -> None:
        self._asker = asker
        self._due: asyncio.TimerHandle | None = None
        self._last: OpenQuestions | None = None
        asker.host.listen(self._on_envelope)

    def list(self) -> Any:
        """Returns what is waiting now, as JSON; later changes to it are sent as notifications."""
        self._last = self._now()
        return to_json(self._last)

    def _now(self) -> OpenQuestions:
        conversations = [
            each for each in self._asker.host.conversations.values() if self._asker.client.sees(each.session.uri)
        ]
        return OpenQuestions(
            place=log_place(),
            questions=tuple(question for each in conversations for question in _questions(each)),
            turns=tuple(turn for each in conversations for turn in _turns(each)),
            forms=sum(map(_forms, conversations)),
        )

    def close(self) -> None:
        if self._due is not None:
            self._due.cancel()
        self._asker.host.listeners.remove(self._on_envelope)

    def _on_envelope(self, channel: Channel[Any], _: Envelope) -> None:
        if self._due is None and (channel.uri == ROOT or isinstance(channel.state, ChatState)):
            self._due = self._asker.host.loop.later(TOGETHER_SECONDS, self._tell)

    def _tell(self) -> None:
        self._due = None
        if self._now() != self._last:
            self._asker.notify("x-agentnb/questionsChanged", self.list())


@c.command("x-agentnb/listQuestions", c.Params, "answer")
def list_questions(asker: RemoteAsker, _params: c.Params) -> Any:
    """The permission requests that wait, and the turns that run; later `x-agentnb/questionsChanged` tells them."""
    if not asker.questions:
        asker.questions.append(QuestionFeed(asker))
    return asker.questions[0].list()


@c.command("x-agentnb/answerQuestion", AnswerQuestionCommand, "answer")
def answer_question(asker: RemoteAsker, params: AnswerQuestionCommand) -> dict[str, Any]:
    """Allows once, or rejects once; a request without such an answer, or too large to be shown, is not allowed."""
    own = asker.channels.named(params.channel, "chat")
    call = _waiting(asker.host.find(own), params.tool_call_id)
    if params.approved and len(encode(call)) > LARGEST:
        raise RequestFailed(c.PERMISSION_DENIED, "The request is too large to be shown here. Answer in the notebook.")
    option = _once(call, approved=params.approved)
    if option is None:
        raise RequestFailed(c.PERMISSION_DENIED, "This cannot be allowed just once from here. Answer in the notebook.")
    action = ChatToolCallConfirmed(
        turn_id=params.turn_id,
        tool_call_id=params.tool_call_id,
        approved=params.approved,
        selected_option_id=option.id,
    )
    asker.service.carry_out(own, action, _origin(asker))
    return {}


@c.command("x-agentnb/stopTurn", StopTurnCommand, "answer")
def stop_turn(asker: RemoteAsker, params: StopTurnCommand) -> dict[str, Any]:
    """Stops a turn; messages that wait behind it are held."""
    own = asker.channels.named(params.channel, "chat")
    asker.service.carry_out(own, ChatTurnCancelled(turn_id=params.turn_id, hold_queue=True), _origin(asker))
    return {}


@c.command("x-agentnb/previewQuestion", PreviewQuestionCommand, "answer")
def preview_question(asker: RemoteAsker, params: PreviewQuestionCommand) -> dict[str, Any]:
    """Begins the preview of a request; what comes of it stands in its tool call's details."""
    conversation = asker.host.find(asker.channels.named(params.channel, "chat"))
    _waiting(conversation, params.tool_call_id)
    conversation.permissions.rehearse(params.tool_call_id)
    return {}


def _questions(conversation: Conversation) -> list[OpenQuestion]:
    turn = conversation.chat.state.active_turn
    if turn is None:
        return []
    calls = [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)]
    waiting = [call for call in calls if isinstance(call, ToolCallPendingConfirmationState)]
    return [_question(conversation, turn.id, call) for call in waiting]


def _question(conversation: Conversation, turn_id: str, call: ToolCallPendingConfirmationState) -> OpenQuestion:
    is_whole = len(encode(call)) <= LARGEST
    if not is_whole:
        tool_input = None if call.tool_input is None else call.tool_input[:BEGINNING]
        call = msgspec.structs.replace(call, details=None, meta=None, edits=None, tool_input=tool_input)
    return OpenQuestion(**_whose(conversation, turn_id), call=to_json(call), is_whole=is_whole)


def _turns(conversation: Conversation) -> list[RunningTurn]:
    turn = conversation.chat.state.active_turn
    return [] if turn is None else [RunningTurn(**_whose(conversation, turn.id))]


def _whose(conversation: Conversation, turn_id: str) -> dict[str, str]:
    return {
        "channel": to_ahp(conversation.chat.uri),
        "turn_id": turn_id,
        "agent": conversation.spec.title,
        "conversation": conversation.chat.state.title,
    }


def _forms(conversation: Conversation) -> int:
    state = conversation.chat.state
    parts = () if state.active_turn is None else state.active_turn.response_parts
    inside = sum(isinstance(each, InputRequestResponsePart) and each.response is None for each in parts)
    return inside + len(state.input_requests or ())


def _waiting(conversation: Conversation, call_id: str) -> ToolCallPendingConfirmationState:
    call = conversation.tool_call(call_id)
    if not isinstance(call, ToolCallPendingConfirmationState):
        raise RequestFailed(c.CONFLICT, "That question was answered before, or is no longer open.")
    return call


def _once(call: ToolCallPendingConfirmationState, *, approved: bool) -> ConfirmationOption | None:
    kind, wanted = ("approve", "allow_once") if approved else ("deny", "reject_once")
    own = [each for each in call.options or () if each.kind == kind and not each.group]
    return next((each for each in own if each.option_kind == wanted), None)


def _origin(asker: RemoteAsker) -> ActionOrigin:
    return ActionOrigin(client_id=asker.client.client_id, client_seq=0)
