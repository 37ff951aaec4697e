"""Credentials in a cassette: each becomes a mark that says what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.cassette.marks import SECRET, each_text, mark
from agentnb.credentials import Credentials, Span, apart, is_ordinary, is_secret_name, plain_name, replaced
from agentnb.credentials import shapes as found_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Secrets", "apart", "replaced", "shapes"]


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
