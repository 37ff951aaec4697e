"""Encodes every struct and action as JSON, and decodes them.

Two unions are open: actions and response parts. A member of an unknown kind decodes to an `UnknownAction` or
`UnknownResponsePart` that holds the JSON as sent, and encodes to the same JSON again.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from agentnb.errors import ProtocolError
from agentnb.safe_json import without_half_characters
from agentnb.state import (  # noqa: F401 - each declares actions
    changeset,
    chat_actions,
    root,
    session_actions,
    terminal,
)
from agentnb.state.action import Action, KnownAction, UnknownAction, kinds_of
from agentnb.state.chat_part_state import KnownResponsePart, ResponsePart, UnknownResponsePart
from agentnb.state.parts import ChunkedSequence, Parts
from agentnb.state.terminal import TerminalView, TerminalViews

T = TypeVar("T")

ACTIONS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in kinds_of(KnownAction)}
"""Every action that this version knows, by its ``type``."""

PARTS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in KnownResponsePart.__args__}
"""Every response part that this version knows, by its ``kind``."""


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is ResponsePart:
        return _member(value, "kind", PARTS, UnknownResponsePart)
    if kind is Parts:
        return Parts(_member(part, "kind", PARTS, UnknownResponsePart) for part in _listed(value))
    if kind is TerminalViews:
        return TerminalViews(msgspec.convert(one, TerminalView) for one in _listed(value))
    if kind is Action:
        return _member(value, "type", ACTIONS, UnknownAction)
    raise NotImplementedError(kind)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise msgspec.ValidationError("Expected a list")
    return value


def _member(value: Any, tag: str, kinds: dict[str, type[Any]], unknown: type[Any]) -> Any:
    name = value.get(tag) if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise msgspec.ValidationError(f"Expected an object with a text field `{tag}`")
    kind = kinds.get(name)
    return unknown(value) if kind is None else msgspec.convert(value, kind, dec_hook=_decode_hook)


def _encode_hook(value: Any) -> Any:
    if isinstance(value, (UnknownAction, UnknownResponsePart)):
        return value.raw
    if isinstance(value, ChunkedSequence):
        return tuple(value)
    raise NotImplementedError(f"{type(value).__name__} has no form on the wire")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_hook)
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode(value: Any) -> bytes:
    """Encodes a struct or action of this package, or JSON that contains some, as UTF-8 JSON.

    Example:
        >>> from agentnb.state import SessionReady
        >>> encode(SessionReady(time=1))
        b'{"type":"session/ready","time":1}'
    """
    return _ENCODER.encode(value)


def encodable(value: T) -> T:
    r"""Returns *value*, or a copy with U+FFFD for each half surrogate pair if it has any: UTF-8 cannot hold them.

    Such halves come from file names that are not UTF-8, and from texts that were cut between two halves.

    Example:
        >>> from agentnb.state import SessionTitleChanged
        >>> encodable(SessionTitleChanged(title="caf\udce9")).title == "caf\ufffd"
        True
    """
    try:
        encode(value)
    except UnicodeEncodeError:
        whole = without_half_characters(msgspec.to_builtins(value, enc_hook=_encode_hook))
        if isinstance(value, (UnknownAction, UnknownResponsePart)):
            return type(value)(whole)
        return msgspec.convert(whole, type(value), dec_hook=_decode_hook)
    return value


def to_json(value: Any) -> Any:
    """Returns the same as `encode`, as Python's dicts and lists.

    Example:
        >>> from agentnb.state import SessionReady
        >>> to_json(SessionReady(time=1))
        {'type': 'session/ready', 'time': 1}
    """
    return msgspec.json.decode(encode(value))


def decode(kind: type[T], data: bytes | str | Any) -> T:
    """Reads a struct from JSON and validates it.

    Args:
        kind: The struct's class, such as `ChatState`, or `Action`.
        data: UTF-8 JSON (``bytes`` or ``str``), or decoded JSON.

    Raises:
        ProtocolError: If the data is not valid for *kind*.

    Example:
        >>> from agentnb.state import UsageInfo
        >>> decode(UsageInfo, b'{"inputTokens": 3}').input_tokens
        3
    """
    try:
        if isinstance(data, (bytes, bytearray, memoryview, str)):
            return _decoder(kind).decode(data)
        return msgspec.convert(data, kind, dec_hook=_decode_hook)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(
            f"This is not a {getattr(kind, '__name__', kind)}: {error}.", hint="See docs/reference/protocol.md."
        ) from error


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=_decode_hook)
    return decoder


def decode_action(data: bytes | str | Any) -> Action:
    """Reads an action and validates it. An action of an unknown type becomes an `UnknownAction`.

    Args:
        data: UTF-8 JSON (``bytes`` or ``str``), or decoded JSON.

    Raises:
        ProtocolError: If it is not an action, or if the fields are wrong for its type.

    Example:
        >>> decode_action({"type": "session/ready"})
        SessionReady(time=None, meta=None)
    """
    return decode(Action, data)
