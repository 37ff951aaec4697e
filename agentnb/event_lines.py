"""Server-sent events (HTML standard, 9.2): a stream of bytes as lines, and as the data of whole events."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class LineTooLong(ValueError):
    """A line is longer than it may be."""


async def lines(pieces: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """The lines of a stream of *pieces*, without their ends; each has at most *longest* bytes."""
    held: list[bytes] = []
    size = 0
    async for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for line in ended:
            held.append(line)
            yield b"".join(held).rstrip(b"\r")
            held, size = [], 0
        if rest:
            held.append(rest)
            size += len(rest)
        if size > longest:
            raise LineTooLong(f"A line of the server's answer is longer than {longest >> 20} MiB.")
    if held:
        yield b"".join(held).rstrip(b"\r")


async def event_data(pieces: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """Yields the data of each event; an event cut off by the end of the stream is dropped."""
    held: list[bytes] = []
    async for line in lines(pieces, longest):
        name, _, value = line.partition(b":")
        if name == b"data":
            held.append(value.removeprefix(b" "))
        elif not line and held:
            yield b"\n".join(held)
            held = []
        if sum(map(len, held)) > longest:
            raise LineTooLong(f"An event of the server's answer is longer than {longest >> 20} MiB.")
