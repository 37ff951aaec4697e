"""Reads the fields of what an agent sent, relying on nothing about their form."""

from __future__ import annotations

from typing import Any


def text(value: Any) -> str | None:
    """Returns *value* if it is non-empty text, else None."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """Returns *value* if it is a whole number of zero or more, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**63 else None


def mapping(value: Any) -> dict[str, Any]:
    """Returns *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in *value* if it is a list; other items are ignored."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """The texts in *value* if it is a list; other items are ignored."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
