"""A document: what was said, in order, whatever it comes from."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing in a document.

    Args:
        kind: ``text``: prose of a notebook. ``code``: a cell. ``prompt``: what was asked. ``answer``: the agent's turn.
            ``output``: what a cell printed or showed. ``error``: how it failed.
        source: Markdown for text and answers, else plain text.
        agent: Whose session it is, where that is known.
        tab: Its name.
        images: Pictures, as ``data:`` URIs.
        stop_reason: Why the turn ended, where that is known.
    """

    kind: Literal["text", "code", "prompt", "answer", "output", "error"]
    source: str
    agent: str | None = None
    tab: str | None = None
    images: tuple[str, ...] = ()
    stop_reason: str | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to be exported.

    Args:
        title: Its name.
        entries: In order.
        notebook: The notebook that it is, as JSON; None where it comes from something else.
    """

    title: str
    entries: tuple[Entry, ...]
    notebook: dict[str, Any] | None = None

    @property
    def is_headed(self) -> bool:
        """Whether it begins with its title as a heading."""
        first = self.entries[0] if self.entries else None
        return first is not None and first.kind == "text" and heading(first.source) == self.title


def heading(markdown: str) -> str | None:
    r"""The heading of the first order that *markdown* begins with, if any.

    Example:
        >>> heading("# A report\n\nOf what was measured.")
        'A report'
    """
    first = markdown.lstrip().split("\n", 1)[0]
    return first[2:].strip() or None if first.startswith("# ") else None
