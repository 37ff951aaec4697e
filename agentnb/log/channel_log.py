"""The log of one channel: its latest envelopes, bounded by count and by bytes."""

from __future__ import annotations

from collections import deque
from itertools import groupby, islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.state import TEXT_DELTAS, Envelope, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ENTRIES = 5_000
MAX_BYTES = 8 * 1024 * 1024
ENVELOPE_BYTES = 120  # what an envelope weighs round its text


class ChannelLog:
    """The latest envelopes of one channel."""

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
        """True if every envelope with an index above *after* is still here."""
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


def merge_envelopes(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Join neighbouring deltas of one part into one envelope that spans ``first..index``."""
    return [_join(list(group)) for _, group in groupby(_numbered(envelopes), key=lambda pair: pair[0])]


def _numbered(envelopes: Iterable[Envelope]) -> Iterator[tuple[object, Envelope]]:
    for envelope in envelopes:
        action = envelope.action
        if isinstance(action, TEXT_DELTAS) and envelope.origin is None and action.meta is None:
            yield (type(action), action.turn_id, action.part_id, action.time is None), envelope
        else:
            yield envelope.index, envelope


def _join(group: list[tuple[object, Envelope]]) -> Envelope:
    envelopes = [envelope for _, envelope in group]
    if len(envelopes) == 1:
        return envelopes[0]
    first, last = envelopes[0], envelopes[-1]
    deltas = [envelope.action for envelope in envelopes if isinstance(envelope.action, TEXT_DELTAS)]
    text = "".join(delta.content for delta in deltas)
    return Envelope(
        channel=first.channel,
        first=first.first if first.first is not None else first.index,
        index=last.index,
        action=replace(deltas[-1], content=text),
    )
