"""What later versions of AHP say of turns and our states do not keep: when they began, and what was asked in them.

A question is gone from our state once it is answered; from 0.6 on it stays among the parts of its turn's answer, where
it was asked. Both are recorded while a kernel is served; what was before that, nobody has been told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.ahp.version_forms import Question
from agentnb.state import (
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputRequested,
    ChatState,
    ChatTurnStarted,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import Action, ActiveTurn

MOST_TURNS = 10_000
"""Turns of which something is remembered: the latest."""


class TurnRecords:
    """Records what happens in chats. On the host's thread."""

    def __init__(self, is_told: Callable[[Any], bool]) -> None:
        self._is_told = is_told
        self._began: dict[str, int] = {}
        self._questions: dict[str, list[Question]] = {}

    def began(self, turn_id: str) -> int | None:
        """When the turn began, in milliseconds since 1970; None where it began before this looked."""
        return self._began.get(turn_id)

    def questions(self, turn_id: str) -> tuple[Question, ...]:
        """What was asked in the turn, in that order."""
        return tuple(self._questions.get(turn_id, ()))

    def look_at(self, state: ChatState) -> None:
        """Begin with a chat as it is."""
        turn = state.active_turn
        if turn is None:
            return
        if turn.started_at is not None:
            _put(self._began, turn.id, turn.started_at)
        for request in state.input_requests or ():
            self._ask(turn, request)

    def record(self, state: ChatState, action: Action) -> None:
        """Record what *action* has changed; *state* is the chat's after it."""
        turn = state.active_turn
        if turn is None:
            return
        match action:
            case ChatTurnStarted() if action.turn_id == turn.id and turn.started_at is not None:
                _put(self._began, turn.id, turn.started_at)
            case ChatInputRequested(request=request):
                self._update(turn, state, request.id)
            case ChatInputAnswerChanged(request_id=request_id):
                self._update(turn, state, request_id)
            case ChatInputCompleted():
                self._complete(turn, action)

    def _update(self, turn: ActiveTurn, state: ChatState, request_id: str) -> None:
        request = next((each for each in state.input_requests or () if each.id == request_id), None)
        if request is not None:
            self._ask(turn, request)

    def _ask(self, turn: ActiveTurn, request: Any) -> None:
        asked = self._questions.get(turn.id)
        if asked is None:
            asked = []
            _put(self._questions, turn.id, asked)
        place = _waiting(asked, request.id)
        at = sum(map(self._is_told, turn.response_parts)) if place is None else asked[place].at
        question = Question(at, {"kind": "inputRequest", "request": to_json(request)})
        if place is None:
            asked.append(question)
        else:
            asked[place] = question

    def _complete(self, turn: ActiveTurn, action: ChatInputCompleted) -> None:
        asked = self._questions.get(turn.id, [])
        place = _waiting(asked, action.request_id)
        if place is None:
            return
        request, told = dict(asked[place].part["request"]), to_json(action)
        answers = {**request.pop("answers", {}), **told.get("answers", {})}
        request |= {"answers": answers} if answers else {}
        part = {"kind": "inputRequest", "request": request, "response": told["response"]}
        asked[place] = Question(asked[place].at, part)


def _waiting(asked: list[Question], request_id: str) -> int | None:
    """The place of the question with that id that waits for an answer."""
    return next(
        (
            place
            for place, question in enumerate(asked)
            if question.part["request"]["id"] == request_id and "response" not in question.part
        ),
        None,
    )


def _put(kept: dict[str, Any], turn_id: str, value: Any) -> None:
    kept.pop(turn_id, None)
    kept[turn_id] = value
    if len(kept) > MOST_TURNS:
        kept.pop(next(iter(kept)))
