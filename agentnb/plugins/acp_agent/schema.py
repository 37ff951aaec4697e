"""The base of the ACP objects that an agent reads and sends.

Their fields stand in the order of the official SDK's schema, so that a conversation is the same bytes as when eliza was
built on it.
"""

from __future__ import annotations

from typing import Any, TypeVar, get_args

import msgspec

from agentnb.rpc_message import INVALID_PARAMS, RpcError

T = TypeVar("T")


class Acp(msgspec.Struct, rename="camel", omit_defaults=True):
    """An object of ACP."""


class Lenient(Acp):
    """An object whose optional fields count as not sent where they are wrong."""


class SessionParams(Acp):
    """Parameters that name a session, and nothing else."""

    session_id: str


def always(value: T) -> T:
    """A field that has this value and is sent nevertheless: the one by which kinds of objects are told apart."""
    constant: T = msgspec.field(default_factory=lambda: value)
    return constant


def meta_field() -> dict[str, Any] | None:
    optional: dict[str, Any] | None = msgspec.field(default=None, name="_meta")
    return optional


def fields(**given: object) -> dict[str, Any]:
    """An object that is sent: names in camel case, without what is None."""
    return {_camel(name): value for name, value in given.items() if value is not None}


def read(kind: type[T], value: object) -> T:
    """Read what the client sent."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        if not (issubclass(kind, Lenient) and isinstance(value, dict)):
            raise
        return msgspec.convert(_without_wrong_options(kind, value), kind)


def read_params(kind: type[T], params: object) -> T:
    """Read the parameters of a request."""
    try:
        return read(kind, params)
    except msgspec.ValidationError as error:
        raise invalid_params(str(error)) from None


def invalid_params(details: str) -> RpcError:
    """The answer to parameters that are wrong."""
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
