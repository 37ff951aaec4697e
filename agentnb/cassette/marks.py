"""The marks that stand in a cassette for what differs from run to run, such as ``⟦workspace⟧`` and ``⟦session⟧``.

A text that holds the opening sign itself keeps it as ``⟦sign⟧``, so that every text comes back exactly as it was. Each
credential becomes a mark that says what it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials, Span, is_ordinary, is_secret_name, plain_name, replaced
from agentnb.credentials import shapes as found_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OPEN, CLOSE = "⟦", "⟧"
SIGN = f"{OPEN}sign{CLOSE}"
SESSION, WORKSPACE, WORKSPACE_PARTS, HOME = "session", "workspace", "workspace without root", "home"
SECRET = "secret "  # noqa: S105 - the beginning of a mark
TERMINAL = "terminal "
_MARK = re.compile(rf"{OPEN}([^{OPEN}{CLOSE}\n]*){CLOSE}")


def mark(name: str) -> str:
    """The mark called *name*."""
    return f"{OPEN}{name}{CLOSE}"


def escaped(text: str) -> str:
    """*text* with the opening sign replaced, so that nothing in it reads as a mark."""
    return text.replace(OPEN, SIGN) if OPEN in text else text


def filled(text: str, values: Mapping[str, str]) -> str:
    """*text* with its marks replaced by *values*; a secret becomes ``***``, an unknown mark stays."""
    if OPEN not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "sign":
            return OPEN
        return "***" if name.startswith(SECRET) else values.get(name, match[0])

    return _MARK.sub(value, text)


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """*value* (JSON) with every text in it changed; names of fields too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): each_text(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    return value


class Secrets:
    """The secrets that must not be recorded."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._credentials = Credentials(environment)

    def spans(self, text: str) -> list[Span]:
        """Where *text* holds a secret, as (start, end, its mark), in order and apart from each other."""
        return _marked(self._credentials.spans(text))

    def fields(self, value: Any) -> Any:
        """*value* (JSON) without the values of fields, and of ``name``/``value`` pairs, that are named like secrets."""
        return _fields_cleaned(value)

    def clean(self, value: Any) -> Any:
        """*value* (JSON) without any secret."""
        return each_text(self.fields(value), lambda text: replaced(text, self.spans(text)))


def shapes(text: str) -> list[Span]:
    """Where *text* holds what looks like a credential, as (start, end, its mark)."""
    return _marked(found_shapes(text))


def _marked(spans: list[Span]) -> list[Span]:
    return [(start, end, mark(SECRET + what)) for start, end, what in spans]


def _fields_cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [_fields_cleaned(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = value.get("name")
    cleaned = {}
    for name, item in value.items():
        label = named if name == "value" and isinstance(named, str) else name
        secret = isinstance(item, str) and is_secret_name(label) and not is_ordinary(item)
        cleaned[name] = mark(SECRET + plain_name(label)) if secret else _fields_cleaned(item)
    return cleaned
