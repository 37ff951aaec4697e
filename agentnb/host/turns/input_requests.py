"""Input requests: questions of the agent, or of agentnb on its behalf, to the user (AHP ``chat/inputRequested``).

The agent waits for the answer, the kernel does not. The first valid answer wins; a cancelled turn answers all with
``cancel``; if nobody can answer, the agent learns that at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.questions import ElicitationAnswer
from agentnb.clock import now_ms
from agentnb.state import (
    ChatInputAnswerChanged,
    ChatInputBooleanQuestion,
    ChatInputCompleted,
    ChatInputIntegerQuestion,
    ChatInputMultiSelectQuestion,
    ChatInputNumberQuestion,
    ChatInputRequest,
    ChatInputRequested,
    ChatInputSingleSelectQuestion,
    ChatInputSkipped,
    ChatInputTextQuestion,
    waiting_requests,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from agentnb.acp.questions import ElicitationQuestion
    from agentnb.host.channels import SessionChannels
    from agentnb.state import ActionOrigin, ChatInputAnswer, ChatInputQuestion

NOBODY = "No one can answer: no front end is attached."

EARLY = 20
"""The most elicitations that are remembered because they were completed before they arrived."""


class InputRequests:
    def __init__(self, channels: SessionChannels, attended: Callable[[], Awaitable[bool]], title: str) -> None:
        self._channels = channels
        self._attended = attended
        self._title = title
        self._open: dict[str, asyncio.Future[ElicitationAnswer]] = {}
        self._elsewhere: dict[str, str] = {}
        self._done_early: deque[str] = deque(maxlen=EARLY)
        self._count = 0

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        request = ChatInputRequest(
            id=self.next_id(), message=question.message, questions=question.questions, url=question.url
        )
        if question.elicitation_id is None:
            return await self.ask(request)
        self._elsewhere[question.elicitation_id] = request.id
        try:
            return await self.ask(request)
        finally:
            self._elsewhere.pop(question.elicitation_id, None)

    async def ask(self, request: ChatInputRequest) -> ElicitationAnswer:
        """Ask the user *request* and wait; ``decline`` if nobody is there."""
        if not await self._attended():
            if (active := self._channels.chat.state.active_turn) is not None:
                words = f"{self._title} asked: {request.message or 'something'} {NOBODY}"
                self._channels.say(active.id, words)
            return ElicitationAnswer("decline")
        return await self.put(request)

    async def put(self, request: ChatInputRequest) -> ElicitationAnswer:
        """Like :meth:`ask`, but also if nobody is there yet."""
        waiting: asyncio.Future[ElicitationAnswer] = asyncio.get_running_loop().create_future()
        self._open[request.id] = waiting
        self._channels.dispatch(ChatInputRequested(request=request, time=now_ms()))
        if any(self._elsewhere.get(early) == request.id for early in self._done_early):
            self._close(request.id, "accept")
        try:
            return await waiting
        except asyncio.CancelledError:  # the agent has withdrawn the question
            self._close(request.id, "cancel")
            raise

    def change(self, action: ChatInputAnswerChanged, origin: ActionOrigin | None = None) -> str | None:
        """Take a draft or an answer to one question; returns the reason if it cannot be taken."""
        if action.request_id not in self._open:
            return "That question was answered before, or is no longer open."
        self._channels.dispatch(msgspec.structs.replace(action, time=now_ms()), origin)
        return None

    def complete(self, action: ChatInputCompleted, origin: ActionOrigin | None = None) -> str | None:
        """Take the answer to a whole request; returns the reason if it cannot be taken."""
        requests = waiting_requests(self._channels.chat.state)
        request = next((each for each in requests if each.id == action.request_id), None)
        if request is None or action.request_id not in self._open:
            return "That question was answered before, or is no longer open."
        questions = request.questions or ()
        answers = action.answers if action.answers is not None else request.answers or {}
        accepted = action.response == "accept"
        if accepted and (wrong := objection(questions, answers)):
            return wrong
        content = values_by_question(questions, answers) if accepted else {}
        self._channels.dispatch(msgspec.structs.replace(action, time=now_ms()), origin)
        self._settle(action.request_id, ElicitationAnswer(action.response, content))
        return None

    def elicited(self, elicitation_id: str) -> None:
        """The user has finished an elicitation elsewhere (ACP ``elicitation/complete``)."""
        request_id = self._elsewhere.get(elicitation_id)
        if request_id is not None and request_id in self._open:
            self._close(request_id, "accept")
        else:  # the completion arrived before the question
            self._done_early.append(elicitation_id)

    def cancel_all(self) -> None:
        """Answer every open request with ``cancel`` (the turn is over)."""
        for request_id in tuple(self._open):
            self._close(request_id, "cancel")

    def _close(self, request_id: str, response: Literal["accept", "cancel"]) -> None:
        self._channels.dispatch(ChatInputCompleted(request_id=request_id, response=response, time=now_ms()))
        self._settle(request_id, ElicitationAnswer(response))

    def _settle(self, request_id: str, answer: ElicitationAnswer) -> None:
        waiting = self._open.pop(request_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def next_id(self) -> str:
        self._count += 1
        return f"input-{self._count}"


def values_by_question(
    questions: Iterable[ChatInputQuestion], answers: Mapping[str, ChatInputAnswer]
) -> dict[str, Any]:
    """The values of an accepted form by question; skipped questions are left out."""
    known = {question.id: question for question in questions}
    values = {
        name: answer.value.value
        for name, answer in answers.items()
        if name in known and not isinstance(answer, ChatInputSkipped)
    }
    return {name: _value(known[name], value) for name, value in values.items()}


def objection(questions: Iterable[ChatInputQuestion], answers: Mapping[str, ChatInputAnswer]) -> str | None:
    """Returns why *answers* do not complete the form, a sentence; None if they do."""
    content = values_by_question(questions, answers)
    for question in questions:
        value = content.get(question.id)
        name = question.title or question.id
        if value is None and question.required:
            return f"{name!r} must be answered."
        if value is not None and (wrong := _wrong(question, value)):
            return f"{name!r} {wrong}."
    return None


def _value(question: ChatInputQuestion, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    whole = isinstance(question, ChatInputIntegerQuestion) and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _wrong(question: ChatInputQuestion, value: Any) -> str | None:
    match question:
        case ChatInputTextQuestion():
            return _outside(len(value), question, "long") if isinstance(value, str) else "must be text"
        case ChatInputBooleanQuestion():
            return None if isinstance(value, bool) else "must be yes or no"
        case ChatInputIntegerQuestion():
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            return _outside(value, question, "large") if is_whole else "must be a whole number"
        case ChatInputNumberQuestion():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return _outside(value, question, "large") if is_number else "must be a number"
        case ChatInputSingleSelectQuestion():
            return None if value in {option.id for option in question.options} else "must be one of the choices"
        case ChatInputMultiSelectQuestion():
            chosen = value if isinstance(value, list) else []
            if not isinstance(value, list) or not set(chosen) <= {option.id for option in question.options}:
                return "must be some of the choices"
            return _outside(len(chosen), question, "many")


def _outside(size: float, question: Any, word: str) -> str | None:
    if question.min is not None and size < question.min:
        return f"must be at least {question.min} {word}" if word != "large" else f"must be at least {question.min}"
    if question.max is not None and size > question.max:
        return f"must be at most {question.max} {word}" if word != "large" else f"must be at most {question.max}"
    return None
