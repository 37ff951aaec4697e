"""The marks that stand in a cassette for what differs from run to run, such as ``⟦workspace⟧`` and ``⟦session⟧``.

A text that holds the opening sign itself keeps it as ``⟦sign⟧``, so that every text comes back exactly as it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
