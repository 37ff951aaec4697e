"""Reads a stream of server-sent events whose data are JSON objects, as the OpenAI-compatible interface sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONGEST_LINE = 32 * 1024 * 1024
"""How many bytes a line may have."""
DONE = b"[DONE]"


class LineTooLong(ValueError):
    """A line is longer than `LONGEST_LINE`."""


class EventStream:
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.done = False
        self.unreadable = 0

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """The objects, until the stream ends or says that it is complete."""
        async for line in self._lines():
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

    async def _lines(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        size = 0
        async for piece in self._pieces:
            *ended, rest = piece.split(b"\n")
            for line in ended:
                held.append(line)
                yield b"".join(held).rstrip(b"\r")
                held, size = [], 0
            if rest:
                held.append(rest)
                size += len(rest)
            if size > LONGEST_LINE:
                raise LineTooLong(f"A line of the server's answer is longer than {LONGEST_LINE >> 20} MiB.")
        if held:
            yield b"".join(held).rstrip(b"\r")
