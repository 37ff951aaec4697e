"""The text reader: what a turn's text has grown by since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.api.turn import Turn


class TextReader:
    """Reads *turn*'s text piece by piece.

    Args:
        turn: Whose text.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._read = 0

    def read(self) -> str:
        """The next piece; empty where there is none yet."""
        text = self._turn.text
        piece, self._read = text[self._read :], len(text)
        return piece
