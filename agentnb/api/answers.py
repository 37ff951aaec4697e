"""Answers to what an agent asks the user, from plain Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.state import (
    ChatInputBooleanAnswerValue,
    ChatInputNumberAnswerValue,
    ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue,
    ChatInputSingleSelectQuestion,
    ChatInputSubmitted,
    ChatInputTextAnswerValue,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.state import ChatInputAnswer, ChatInputAnswerValue, ChatInputQuestion, ChatInputRequest


def answers_from(request: ChatInputRequest, values: Mapping[str, Any]) -> dict[str, ChatInputAnswer]:
    """*values* by question id, as answers to *request*.

    Raises:
        UsageError: If a question of that id was not asked, or a value is of no kind that an answer can be.
    """
    questions = {question.id: question for question in request.questions or ()}
    if odd := sorted(set(values) - set(questions)):
        raise UsageError(f"{odd[0]!r} was not asked.", hint=f"Asked were: {', '.join(questions) or 'nothing'}.")
    return {name: ChatInputSubmitted(value=_value(questions[name], value)) for name, value in values.items()}


def _value(question: ChatInputQuestion, value: Any) -> ChatInputAnswerValue:
    match value:
        case bool():
            return ChatInputBooleanAnswerValue(value=value)
        case int() | float():
            return ChatInputNumberAnswerValue(value=value)
        case str() if isinstance(question, ChatInputSingleSelectQuestion):
            return ChatInputSelectedAnswerValue(value=value)
        case str():
            return ChatInputTextAnswerValue(value=value)
        case list() | tuple():
            return ChatInputSelectedManyAnswerValue(value=tuple(map(str, value)))
        case _:
            raise UsageError(
                f"{value!r} is no answer to {question.id!r}.", hint="Text, a number, yes or no, or a list."
            )
