"""Reads a stream of server-sent events whose data are JSON objects, as the OpenAI-compatible interface sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.event_lines import lines
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONGEST_LINE = 32 * 1024 * 1024
"""How many bytes a line may have."""
DONE = b"[DONE]"


class EventStream:
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.done: bool = False
        self.unreadable: int = 0

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """The objects, until the stream ends or says that it is complete."""
        async for line in lines(self._pieces, LONGEST_LINE):
            name, _, value = line.partition(b":")
            if name.strip() != b"data":
                continue
            if value.strip() == DONE:
                self.done = True
                return
            event = self._read(value)
            if event is not None:
                yield event

    def _read(self, value: bytes) -> dict[str, Any] | None:
        try:
            event = read_json(value)
        except ValueError:
            event = None
        if isinstance(event, dict):
            return event
        self.unreadable += 1
        return None
