"""The content blocks of ACP: text, images, audio and resources.

Their fields have the order of the official SDK's schema, so that a conversation has the same bytes as when eliza was
built on that SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import msgspec

from agentnb.rpc_message import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence


T = TypeVar("T")


class Acp(msgspec.Struct, rename="camel", omit_defaults=True):
    """An object of ACP."""


class Lenient(Acp):
    """An object whose optional fields count as not sent where they are wrong."""


class SessionParams(Acp):
    """Parameters that name a session, and nothing else."""

    session_id: str


def always(value: T) -> T:
    """Returns a field with a constant value that is always sent: the one by which kinds of objects are told apart."""
    constant: T = msgspec.field(default_factory=lambda: value)
    return constant


def meta_field() -> dict[str, Any] | None:
    optional: dict[str, Any] | None = msgspec.field(default=None, name="_meta")
    return optional


def fields(**values: object) -> dict[str, Any]:
    """Returns an object to send: names in camel case, without values that are None."""
    return {_camel(name): value for name, value in values.items() if value is not None}


def read(kind: type[T], value: object) -> T:
    """Read what the client sent; an invalid optional field is left out if *kind* is lenient."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        if not (issubclass(kind, Lenient) and isinstance(value, dict)):
            raise
        return msgspec.convert(_without_wrong_options(kind, value), kind)


def read_params(kind: type[T], params: object) -> T:
    try:
        return read(kind, params)
    except msgspec.ValidationError as error:
        raise invalid_params(str(error)) from None


def invalid_params(details: str) -> RpcError:
    return RpcError(INVALID_PARAMS, "Invalid params", {"details": details})


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return name if not first else first + "".join(map(str.capitalize, others))


def _without_wrong_options(kind: type[Lenient], value: dict[str, Any]) -> dict[str, Any]:
    kept = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        for inner in (field.type, *get_args(field.type)):
            if isinstance(item, dict) and isinstance(inner, type) and issubclass(inner, Lenient):
                item = _without_wrong_options(inner, item)
        if field.required or _fits(field.type, item):
            kept[field.encode_name] = item
    return kept


def _fits(kind: Any, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


class TextContent(Lenient, kw_only=True):
    """A block of text, in Markdown."""

    annotations: dict[str, Any] | None = None
    text: str
    meta: dict[str, Any] | None = meta_field()
    type: Literal["text"] = always("text")


class ImageContent(Lenient, kw_only=True):
    """An image, in base64."""

    annotations: dict[str, Any] | None = None
    data: str
    mime_type: str
    uri: str | None = None
    meta: dict[str, Any] | None = meta_field()
    type: Literal["image"] = always("image")


class AudioContent(Lenient, kw_only=True):
    """Audio, in base64."""

    annotations: dict[str, Any] | None = None
    data: str
    mime_type: str
    meta: dict[str, Any] | None = meta_field()
    type: Literal["audio"] = always("audio")


class ResourceLink(Lenient, kw_only=True):
    """A link to a resource whose content is not included; its size is in bytes."""

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
    """The content of an embedded resource: its text, or its bytes in base64."""

    blob: str | None = None
    mime_type: str | None = None
    text: str | None = None
    uri: str
    meta: dict[str, Any] | None = meta_field()

    def __post_init__(self) -> None:
        """Refuse contents with neither a text nor a blob."""
        if self.text is None and self.blob is None:
            raise ValueError("Object missing required field `text` or `blob`")


class EmbeddedResource(Lenient, kw_only=True):
    """A block with the content of a resource."""

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
    """Returns the text that the user typed: the text blocks, a line each."""
    return "\n".join(block.text for block in prompt if isinstance(block, TextContent)).strip()


def _block(value: object) -> ContentBlock:
    if not isinstance(value, dict):
        raise msgspec.ValidationError("Expected `object`")
    name = value.get("type")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise msgspec.ValidationError(f"Expected `type` to be {', '.join(f'`{known}`' for known in _KINDS)}")
    return read(kind, value)
