"""Input requests: questions that the agent puts to the user (AHP ``ChatInputRequest``, ACP elicitation)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agentnb.state.wire import Number, Wire


class ChatInputOption(Wire, frozen=True, kw_only=True):
    """One choice of a select question (AHP ``ChatInputOption``)."""

    id: str
    label: str
    description: str | None = None
    recommended: bool | None = None


class ChatInputQuestionBase(Wire, frozen=True, kw_only=True, tag_field="kind"):
    """What all questions have (AHP ``ChatInputQuestionBase``)."""

    id: str
    title: str | None = None
    message: str
    required: bool | None = None


class ChatInputTextQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="text"):
    """Asks for text (AHP ``ChatInputTextQuestion``).

    Args:
        format: A hint such as ``"email"``.
        min: The least number of characters.
        max: The greatest number of characters.
        default_value: What stands there at first.
    """

    format: str | None = None
    min: Number | None = None
    max: Number | None = None
    default_value: str | None = None


class ChatInputNumberQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="number"):
    """Asks for a number (AHP ``ChatInputNumberQuestion``)."""

    min: Number | None = None
    max: Number | None = None
    default_value: Number | None = None


class ChatInputIntegerQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="integer"):
    """Asks for a whole number (AHP ``ChatInputNumberQuestion`` of kind ``integer``)."""

    min: Number | None = None
    max: Number | None = None
    default_value: Number | None = None


class ChatInputBooleanQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="boolean"):
    """Asks yes or no (AHP ``ChatInputBooleanQuestion``)."""

    default_value: bool | None = None


class ChatInputSingleSelectQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="single-select"):
    """Asks to choose one (AHP ``ChatInputSingleSelectQuestion``)."""

    options: tuple[ChatInputOption, ...]
    allow_freeform_input: bool | None = None


class ChatInputMultiSelectQuestion(ChatInputQuestionBase, frozen=True, kw_only=True, tag="multi-select"):
    """Asks to choose some (AHP ``ChatInputMultiSelectQuestion``).

    Args:
        options: The choices.
        allow_freeform_input: Whether other words are welcome too.
        min: The least number of choices.
        max: The greatest number of choices.
    """

    options: tuple[ChatInputOption, ...]
    allow_freeform_input: bool | None = None
    min: Number | None = None
    max: Number | None = None


ChatInputQuestion: TypeAlias = (
    ChatInputTextQuestion
    | ChatInputNumberQuestion
    | ChatInputIntegerQuestion
    | ChatInputBooleanQuestion
    | ChatInputSingleSelectQuestion
    | ChatInputMultiSelectQuestion
)


class ChatInputTextAnswerValue(Wire, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """A text (AHP ``ChatInputTextAnswerValue``)."""

    value: str


class ChatInputNumberAnswerValue(Wire, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    """A number (AHP ``ChatInputNumberAnswerValue``)."""

    value: Number


class ChatInputBooleanAnswerValue(Wire, frozen=True, kw_only=True, tag_field="kind", tag="boolean"):
    """Yes or no (AHP ``ChatInputBooleanAnswerValue``)."""

    value: bool


class ChatInputSelectedAnswerValue(Wire, frozen=True, kw_only=True, tag_field="kind", tag="selected"):
    """One choice's id (AHP ``ChatInputSelectedAnswerValue``)."""

    value: str
    freeform_values: tuple[str, ...] | None = None


class ChatInputSelectedManyAnswerValue(Wire, frozen=True, kw_only=True, tag_field="kind", tag="selected-many"):
    """Some choices' ids (AHP ``ChatInputSelectedManyAnswerValue``)."""

    value: tuple[str, ...]
    freeform_values: tuple[str, ...] | None = None


ChatInputAnswerValue: TypeAlias = (
    ChatInputTextAnswerValue
    | ChatInputNumberAnswerValue
    | ChatInputBooleanAnswerValue
    | ChatInputSelectedAnswerValue
    | ChatInputSelectedManyAnswerValue
)


class ChatInputDraft(Wire, frozen=True, kw_only=True, tag_field="state", tag="draft"):
    """An answer not yet given (AHP ``ChatInputAnswered`` in state ``draft``)."""

    value: ChatInputAnswerValue


class ChatInputSubmitted(Wire, frozen=True, kw_only=True, tag_field="state", tag="submitted"):
    """An answer given (AHP ``ChatInputAnswered`` in state ``submitted``)."""

    value: ChatInputAnswerValue


class ChatInputSkipped(Wire, frozen=True, kw_only=True, tag_field="state", tag="skipped"):
    """A question passed over (AHP ``ChatInputSkipped``)."""

    freeform_values: tuple[str, ...] | None = None


ChatInputAnswer: TypeAlias = ChatInputDraft | ChatInputSubmitted | ChatInputSkipped
"""A draft, an answer or a skip (AHP ``ChatInputAnswer``)."""

ChatInputResponseKind: TypeAlias = Literal["accept", "decline", "cancel"]


class ChatInputRequest(Wire, frozen=True, kw_only=True):
    """A request for input that waits (AHP ``ChatInputRequest``).

    Args:
        id: Its id.
        message: What it is about.
        url: A page to visit, for requests that are answered elsewhere.
        questions: What is asked.
        answers: What has been answered so far, by question id.
    """

    id: str
    message: str | None = None
    url: str | None = None
    questions: tuple[ChatInputQuestion, ...] | None = None
    answers: dict[str, ChatInputAnswer] | None = None
