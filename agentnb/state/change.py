"""How reducers change frozen things: a change that changes nothing gives back the very same object."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def changed(struct: S, **fields: Any) -> S:
    """Returns the struct with these fields; the same object if it has them already.

    A field with an equal value keeps its old object, so that unchanged parts keep their identity.
    """
    new = {name: value for name, value in fields.items() if not same(getattr(struct, name), value)}
    return replace(struct, **new) if new else struct


def same(old: Any, new: Any) -> bool:
    """True if two values are the same on the wire, where ``false`` is not ``0``.

    Example:
        >>> same({"a": (1, 2)}, {"a": (1, 2)}), same({"a": 0}, {"a": False})
        (True, False)
    """
    return old is new or (old == new and _same_kinds(old, new))


def _same_kinds(old: Any, new: Any) -> bool:
    """True if equal values also agree on what is a truth value and what a number."""
    match old:
        case bool() | int() | float():
            return isinstance(old, bool) == isinstance(new, bool)
        case dict():
            return all(_same_kinds(old[key], new[key]) for key in old)
        case list() | tuple():
            return all(_same_kinds(a, b) for a, b in zip(old, new, strict=True))
        case msgspec.Struct():
            return all(_same_kinds(getattr(old, name), getattr(new, name)) for name in old.__struct_fields__)
        case _:
            return True


def put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """The items with one of them replaced; ``index`` may be their number, then it is added."""
    return (*items[:index], item, *items[index + 1 :])


def upsert(items: tuple[T, ...] | None, item: T, key: str) -> tuple[T, ...]:
    """The items with this one in the place of the one with the same ``key``, else at the end."""
    items = items or ()
    wanted = getattr(item, key)
    at = next((i for i, other in enumerate(items) if getattr(other, key) == wanted), len(items))
    if at < len(items) and same(items[at], item):
        return items
    return put(items, at, item)


def field(item: Any, key: str) -> Any:
    """Returns a field of a struct or of a JSON object; None if it has none."""
    return item.get(key) if isinstance(item, dict) else getattr(item, key, None)


def without(items: tuple[T, ...], key: str, value: object) -> tuple[T, ...]:
    """The items but for those whose ``key`` is this value; the same object when there are none."""
    rest = tuple(item for item in items if field(item, key) != value)
    return items if len(rest) == len(items) else rest


def milliseconds(text: str) -> int:
    """Milliseconds since 1970 of ISO 8601 text."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def iso_time(time: int) -> str:
    """Returns the ISO 8601 text for milliseconds since 1970, as JavaScript's ``toISOString`` writes it.

    Example:
        >>> iso_time(9999)
        '1970-01-01T00:00:09.999Z'
    """
    return (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
