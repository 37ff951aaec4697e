"""What a prompt typed in the chat can mention with ``@``: found, and attached, by who knows the variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentnb.state import MessageAttachment

LOOK_SECONDS = 3.0
"""How long looking at the user's objects may take: their own code runs then."""


class Suggestion(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One thing that can be mentioned.

    Attributes:
        text: What to write after the ``@``.
        kind: ``"variable"``, ``"file"``, ``"folder"`` or ``"cell"``.
        detail: A few words on it: type and shape, or the first line.
    """

    text: str
    kind: str
    detail: str = ""


class MentionSource(Protocol):
    """Finds what a mention can name. Called on a thread of its own: the user's objects may be slow."""

    def suggest(self, start: str, cwd: Path) -> Sequence[Suggestion]:
        """What can be mentioned whose name begins with *start*."""
        ...

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        """What *prompt* mentions; names that mean nothing are passed over."""
        ...
