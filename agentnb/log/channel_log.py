"""The log of one channel: its latest envelopes, bounded by count and by bytes.

The log *is* the buffer of every client: no client has a queue of its own, only a cursor into this log. What has
fallen out of it is not lost, it is in the channel's state; a client that is further behind gets a snapshot.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from agentnb.state import TEXT_DELTAS, encode

if TYPE_CHECKING:
    from agentnb.state import Envelope

MAX_ENTRIES = 5_000
MAX_BYTES = 8 * 1024 * 1024
ENVELOPE_BYTES = 120  # what an envelope weighs round its text


class ChannelLog:
    """The latest envelopes of one channel.

    Args:
        max_entries: Envelopes kept, at most.
        max_bytes: Encoded bytes kept, at most (the newest envelope is always kept).
        begins_after: The index of the last envelope that is not in it.

    Example:
        >>> log = ChannelLog()
        >>> log.reaches(0)
        True
    """

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES, begins_after: int = 0) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: deque[tuple[Envelope, int]] = deque()
        self._bytes = 0
        self._dropped_to = begins_after

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Encoded bytes held."""
        return self._bytes

    def append(self, envelope: Envelope) -> None:
        """Keep *envelope*; the oldest fall out where a bound is passed."""
        size = _size(envelope)
        self._entries.append((envelope, size))
        self._bytes += size
        while len(self._entries) > 1 and (len(self._entries) > self._max_entries or self._bytes > self._max_bytes):
            oldest, oldest_size = self._entries.popleft()
            self._bytes -= oldest_size
            self._dropped_to = oldest.index

    def reaches(self, after: int) -> bool:
        """Whether every envelope with an index above *after* is still here."""
        return after >= self._dropped_to

    def after(self, index: int) -> list[Envelope]:
        """Every kept envelope with an index above *index*, oldest first."""
        skip = max(0, index - self._dropped_to)
        return [envelope for envelope, _ in islice(self._entries, skip, None)]


def _size(envelope: Envelope) -> int:
    action = envelope.action
    if isinstance(action, TEXT_DELTAS):
        return ENVELOPE_BYTES + len(action.content)
    return ENVELOPE_BYTES + len(encode(action))
