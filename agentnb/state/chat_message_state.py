"""Messages: what starts or steers a turn, and what is attached to it."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from agentnb.state.wire import JsonObject, Wire


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
    """What all attachments have (AHP ``MessageAttachmentBase``).

    Args:
        label: What people read, such as a file's name.
        range: Where ``Message.text`` mentions it.
        display_kind: A hint: ``"image"``, ``"document"``, ``"symbol"``, ``"directory"``, ``"selection"`` …
        meta: Anything more.
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
    """Who wrote a message (AHP ``MessageOrigin``).

    Args:
        kind: A `MessageKind`, or a word that a newer peer uses.
    """

    kind: str


class Message(Wire, frozen=True, kw_only=True):
    """A message to the agent (AHP ``Message``).

    Args:
        text: What it says.
        origin: Who wrote it.
        attachments: What goes with it.
        meta: Anything more.

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
        held: Ours: whether it stays in the queue when nothing runs, because the user stopped the turn before it.
    """

    id: str
    message: Message
    held: bool | None = None
