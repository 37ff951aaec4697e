"""The text reader: what a turn's text has grown by since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.state import MarkdownResponsePart


class TextReader:
    """Reads a turn's text piece by piece, each character once.

    Example:
        >>> from agentnb.state import MarkdownResponsePart
        >>> reader = TextReader()
        >>> [reader.read([MarkdownResponsePart(id="a", content=text)]) for text in ("Hel", "Hello", "Hello")]
        ['Hel', 'lo', '']
    """

    def __init__(self) -> None:
        self._read: dict[str, int] = {}

    def read(self, parts: Iterable[MarkdownResponsePart]) -> str:
        """What *parts* have grown by, in their order; empty where they have not."""
        pieces: list[str] = []
        for part in parts:
            before = self._read.get(part.id, 0)
            if len(part.content) > before:
                pieces.append(part.content[before:])
                self._read[part.id] = len(part.content)
        return "".join(pieces)
