"""A document: the content of a conversation, in order, whatever its source."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

_HEADS = {"prompt": "Prompt", "answer": "Answer", "code": "Code", "output": "Output", "error": "Error", "text": ""}


class DocumentEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: Literal["text", "code", "prompt", "answer", "output", "error"]
    source: str
    agent: str | None = None
    tab: str | None = None
    images: tuple[str, ...] = ()
    stop_reason: str | None = None

    @property
    def head(self) -> str:
        """Returns what stands above the entry: its kind, the agent and the tab; empty for text of the document."""
        return " · ".join(word for word in (_HEADS[self.kind], self.agent, self.tab) if word)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to be exported."""

    title: str
    entries: tuple[DocumentEntry, ...]
    notebook: dict[str, Any] | None = None

    @property
    def is_headed(self) -> bool:
        """True if the document begins with its title as a heading."""
        first = self.entries[0] if self.entries else None
        return first is not None and first.kind == "text" and heading(first.source) == self.title


def heading(markdown: str) -> str | None:
    """Returns the level-1 heading that *markdown* begins with, if any."""
    first = markdown.lstrip().split("\n", 1)[0]
    return first[2:].strip() or None if first.startswith("# ") else None
