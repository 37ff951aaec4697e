"""Messages, their attachments, and what an agent asks the user."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

import msgspec

from agentnb.state.wire import JsonObject, Number, Wire


class TextPosition(Wire, frozen=True, kw_only=True):
    """A place in a text, both counted from zero (AHP ``TextPosition``)."""

    line: int
    character: int


class TextRange(Wire, frozen=True, kw_only=True):
    """From one place up to another (AHP ``TextRange``)."""

    start: TextPosition
    end: TextPosition


class TextSelection(Wire, frozen=True, kw_only=True):
    """A part of a text resource (AHP ``TextSelection``)."""

    range: TextRange


class MessageAttachmentBase(Wire, frozen=True, kw_only=True, tag_field="type"):
    """The fields that all attachments have (AHP ``MessageAttachmentBase``).

    Args:
        label: The text for people, such as a file's name.
        range: The place in ``Message.text`` that mentions it.
        display_kind: A hint: ``"image"``, ``"document"``, ``"symbol"``, ``"directory"``, ``"selection"`` …
        meta: Additional data.
    """

    label: str
    range: TextRange | None = None
    display_kind: str | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class SimpleMessageAttachment(MessageAttachmentBase, frozen=True, kw_only=True, tag="simple"):
    """Text that goes to the model beside the message (AHP ``SimpleMessageAttachment``)."""

    model_representation: str | None = None


class MessageEmbeddedResourceAttachment(MessageAttachmentBase, frozen=True, kw_only=True, tag="embeddedResource"):
    """Bytes carried along in base64 (AHP ``MessageEmbeddedResourceAttachment``)."""

    data: str
    content_type: str
    selection: TextSelection | None = None


class MessageResourceAttachment(MessageAttachmentBase, frozen=True, kw_only=True, tag="resource"):
    """A resource named by URI (AHP ``MessageResourceAttachment``)."""

    uri: str
    size_hint: int | None = None
    content_type: str | None = None
    selection: TextSelection | None = None


class MessageAnnotationsAttachment(MessageAttachmentBase, frozen=True, kw_only=True, tag="annotations"):
    """Annotations of a session (AHP ``MessageAnnotationsAttachment``)."""

    resource: str
    annotation_ids: tuple[str, ...] | None = None


MessageAttachment: TypeAlias = (
    SimpleMessageAttachment
    | MessageEmbeddedResourceAttachment
    | MessageResourceAttachment
    | MessageAnnotationsAttachment
)


class MessageKind(str, Enum):
    """Who wrote a message (AHP ``MessageKind``)."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    SYSTEM_NOTIFICATION = "systemNotification"


class MessageOrigin(Wire, frozen=True, kw_only=True):
    """The author of a message (AHP ``MessageOrigin``).

    Args:
        kind: A `MessageKind`, or another word from a newer peer.
    """

    kind: str


class Message(Wire, frozen=True, kw_only=True):
    """A message to the agent (AHP ``Message``).

    Args:
        text: Its text.
        origin: Its author.
        attachments: Its attachments.
        meta: Additional data.

    Example:
        >>> Message(text="Hello", origin=MessageOrigin(kind="user")).text
        'Hello'
    """

    text: str
    origin: MessageOrigin
    attachments: tuple[MessageAttachment, ...] | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class PendingMessageKind(str, Enum):
    """What a waiting message will do: go into the running turn, or start one (AHP ``PendingMessageKind``)."""

    STEERING = "steering"
    QUEUED = "queued"


class PendingMessage(Wire, frozen=True, kw_only=True):
    """A message that waits (AHP ``PendingMessage``).

    Args:
        id: Its id.
        message: The message.
        held: Ours: True if it stays in the queue when no turn runs, because the user stopped the turn before it.
    """

    id: str
    message: Message
    held: bool | None = None


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
        min: The minimum number of characters.
        max: The maximum number of characters.
        default_value: The initial text.
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
    """Asks to choose several options (AHP ``ChatInputMultiSelectQuestion``).

    Args:
        options: The choices.
        allow_freeform_input: True if the user may also enter their own text.
        min: The minimum number of choices.
        max: The maximum number of choices.
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
    """A request for input that waits for an answer (AHP ``ChatInputRequest``).

    Args:
        id: Its id.
        message: The subject of the request.
        url: A page to visit, for requests that are answered elsewhere.
        questions: The questions.
        answers: The answers so far, by question id.
    """

    id: str
    message: str | None = None
    url: str | None = None
    questions: tuple[ChatInputQuestion, ...] | None = None
    answers: dict[str, ChatInputAnswer] | None = None
