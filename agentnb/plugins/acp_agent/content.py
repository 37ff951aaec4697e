"""The content blocks of ACP: words, pictures, sounds, and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.plugins.acp_agent.schema import Lenient, always, invalid_params, meta_field, read

if TYPE_CHECKING:
    from collections.abc import Sequence


class TextContent(Lenient, kw_only=True):
    """Words, in markdown."""

    annotations: dict[str, Any] | None = None
    text: str
    meta: dict[str, Any] | None = meta_field()
    type: Literal["text"] = always("text")


class ImageContent(Lenient, kw_only=True):
    """A picture; its data are base64."""

    annotations: dict[str, Any] | None = None
    data: str
    mime_type: str
    uri: str | None = None
    meta: dict[str, Any] | None = meta_field()
    type: Literal["image"] = always("image")


class AudioContent(Lenient, kw_only=True):
    """A sound; its data are base64."""

    annotations: dict[str, Any] | None = None
    data: str
    mime_type: str
    meta: dict[str, Any] | None = meta_field()
    type: Literal["audio"] = always("audio")


class ResourceLink(Lenient, kw_only=True):
    """The address of something that was not sent along; its size is in bytes."""

    annotations: dict[str, Any] | None = None
    description: str | None = None
    mime_type: str | None = None
    name: str
    size: int | None = None
    title: str | None = None
    uri: str
    meta: dict[str, Any] | None = meta_field()
    type: Literal["resource_link"] = always("resource_link")


class ResourceContents(Lenient, kw_only=True):
    """Something that was sent along: its text, or its bytes in base64."""

    blob: str | None = None
    mime_type: str | None = None
    text: str | None = None
    uri: str
    meta: dict[str, Any] | None = meta_field()

    def __post_init__(self) -> None:
        """Refuse what has neither."""
        if self.text is None and self.blob is None:
            raise ValueError("Object missing required field `text` or `blob`")


class EmbeddedResource(Lenient, kw_only=True):
    """A block with something that was sent along."""

    annotations: dict[str, Any] | None = None
    resource: ResourceContents
    meta: dict[str, Any] | None = meta_field()
    type: Literal["resource"] = always("resource")


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

_KINDS: dict[str, type[ContentBlock]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
}


def read_blocks(prompt: Sequence[object]) -> list[ContentBlock]:
    blocks = []
    for number, value in enumerate(prompt):
        try:
            blocks.append(_block(value))
        except msgspec.ValidationError as error:
            message, here = str(error), f"`$.prompt[{number}]"
            raise invalid_params(
                message.replace("`$", here) if "`$" in message else f"{message} - at {here}`"
            ) from None
    return blocks


def words(prompt: Sequence[ContentBlock]) -> str:
    """The text that the user has typed: the text blocks, a line each."""
    return "\n".join(block.text for block in prompt if isinstance(block, TextContent)).strip()


def _block(value: object) -> ContentBlock:
    if not isinstance(value, dict):
        raise msgspec.ValidationError("Expected `object`")
    name = value.get("type")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise msgspec.ValidationError(f"Expected `type` to be {', '.join(f'`{known}`' for known in _KINDS)}")
    return read(kind, value)
