"""What a draft's mentions would attach, for the chips below it: size, what is cut, and on demand all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.kernel.output_text import LEFT_OUT, picture_tokens
from agentnb.state import Message, MessageEmbeddedResourceAttachment, MessageOrigin, SimpleMessageAttachment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.acp.agent import Agent
    from agentnb.state import MessageAttachment

_CHARACTERS_OF_TOKEN = 4


def previews(attached: Iterable[MessageAttachment], agent: Agent | None, label: str | None) -> list[dict[str, Any]]:
    """The attachments as a page is told of them (``previewMentions``)."""
    each = tuple(attached)
    message = Message(text="", origin=MessageOrigin(kind="user"), attachments=each)
    not_taken = frozenset(agent.not_taken(message)) if agent is not None else frozenset[str]()
    return [
        {
            "label": one.label,
            "kind": one.display_kind or "document",
            **_size(one),
            "leftOut": [str(sentence) for sentence in (one.meta or {}).get(LEFT_OUT, ())],
            "isTaken": one.label not in not_taken,
            **(_content(one) if one.label == label else {}),
        }
        for one in each
    ]


def text_tokens(text: str) -> int:
    """About how many tokens a text has: four characters each."""
    return -(-len(text) // _CHARACTERS_OF_TOKEN)


def _size(one: MessageAttachment) -> dict[str, int]:
    if isinstance(one, SimpleMessageAttachment):
        return {"tokens": text_tokens(one.model_representation or "")}
    if isinstance(one, MessageEmbeddedResourceAttachment):
        return {"tokens": picture_tokens(one.data, one.content_type)}
    return {}


def _content(one: MessageAttachment) -> dict[str, str]:
    if isinstance(one, SimpleMessageAttachment):
        return {"text": one.model_representation or ""}
    if isinstance(one, MessageEmbeddedResourceAttachment):
        return {"data": one.data, "contentType": one.content_type}
    return {}
