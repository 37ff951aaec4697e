"""What a draft's mentions would attach, for the chips below it: size, what is cut, and on demand all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from agentnb.kernel.output_text import LEFT_OUT, picture_tokens
from agentnb.state import Message, MessageEmbeddedResourceAttachment, MessageOrigin, SimpleMessageAttachment
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.acp.agent import Agent
    from agentnb.state import MessageAttachment

_CHARACTERS_OF_TOKEN = 4


class MentionPreview(Wire, frozen=True, kw_only=True):
    """One attachment that a draft's mention would give.

    Attributes:
        label: What names it.
        kind: `image`, `document`, `symbol` or `directory`.
        left_out: What is cut or left out, a sentence each.
        is_taken: Whether the agent takes it, as far as that is known.
        tokens: About how many tokens it has; absent for a file, which the agent reads itself.
        text: Its text, where it is told with its content.
        data: A picture in base64, where it is told with its content.
        content_type: The picture's media type.
    """

    label: str
    kind: str
    left_out: tuple[str, ...]
    is_taken: bool
    tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    text: str | None = None
    data: str | None = None
    content_type: str | None = None


def previews(
    attached: Iterable[MessageAttachment], agent: Agent | None, label: str | None
) -> tuple[MentionPreview, ...]:
    """The attachments as a page is told of them (``previewMentions``)."""
    each = tuple(attached)
    message = Message(text="", origin=MessageOrigin(kind="user"), attachments=each)
    not_taken = frozenset(agent.not_taken(message)) if agent is not None else frozenset[str]()
    return tuple(_preview(one, is_taken=one.label not in not_taken, is_open=one.label == label) for one in each)


def text_tokens(text: str) -> int:
    """About how many tokens a text has: four characters each."""
    return -(-len(text) // _CHARACTERS_OF_TOKEN)


def _preview(one: MessageAttachment, *, is_taken: bool, is_open: bool) -> MentionPreview:
    preview = MentionPreview(
        label=one.label,
        kind=one.display_kind or "document",
        left_out=tuple(str(sentence) for sentence in (one.meta or {}).get(LEFT_OUT, ())),
        is_taken=is_taken,
    )
    if isinstance(one, SimpleMessageAttachment):
        text = one.model_representation or ""
        return replace(preview, tokens=text_tokens(text), text=text if is_open else None)
    if isinstance(one, MessageEmbeddedResourceAttachment):
        tokens = picture_tokens(one.data, one.content_type)
        preview = replace(preview, tokens=tokens)
        return replace(preview, data=one.data, content_type=one.content_type) if is_open else preview
    return preview
