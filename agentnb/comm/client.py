"""One client: a page's copy of the widget model, and how far it has got.

A client has no queue. It has a cursor per channel, and what it is sent next is read from the channel's log: merged,
from the cursor on, or a snapshot where that is smaller or the log no longer reaches back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.log import merge_envelopes
from agentnb.state import encode, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.channel import Channel
    from agentnb.state import Envelope

MAX_UNACKNOWLEDGED = 2
UNHEARD_SECONDS = 0.3  # between flushes to a client whose words cannot come through (a cell blocks the kernel)
SNAPSHOT_FROM = 64  # merged envelopes from which on a snapshot may be the smaller thing to send


class Cursor(msgspec.Struct):
    """How far one client is on one channel.

    Attributes:
        sent: The last index sent.
        acked: The last index that the client says it has applied.
    """

    sent: int = 0
    acked: int = 0


class Flight(msgspec.Struct, frozen=True):
    """One flush on its way.

    Attributes:
        at: When it was sent, on the host loop's clock, in seconds.
        reaches: The index that a client has, by channel, once it has applied it and all before it.
    """

    at: float
    reaches: dict[str, int]


class Client:
    """One page's copy of the widget model.

    Args:
        client_id: Its id, a UUID.
        visible: Whether one of its views can be seen.
        seen_at: When it was last heard of, on the host loop's clock, in seconds.
    """

    def __init__(self, client_id: str, *, visible: bool, seen_at: float) -> None:
        self.client_id = client_id
        self.visible = visible
        self.seen_at = seen_at
        self.cursors: dict[str, Cursor] = {}
        self.rejections: list[Envelope] = []
        self._flush = 0
        self._unacknowledged: dict[int, Flight] = {}

    @property
    def unacknowledged(self) -> int:
        """How many flushes it has still to acknowledge."""
        return len(self._unacknowledged)

    def blocked(self, now: float) -> bool:
        """Whether it must first acknowledge what it was sent.

        A client that speaks but does not acknowledge is slow: it is waited for. One that cannot be heard at all may
        well be reading while a cell blocks the kernel: it is sent on, seldom.
        """
        if len(self._unacknowledged) < MAX_UNACKNOWLEDGED:
            return False
        sent = [flight.at for flight in self._unacknowledged.values()]
        return self.seen_at > min(sent) or now - max(sent) < UNHEARD_SECONDS

    def waiting_since(self) -> float | None:
        """When the oldest flush that it has not acknowledged was sent."""
        return min((flight.at for flight in self._unacknowledged.values()), default=None)

    def subscribe(self, channel: Channel[Any], last_seen: int = 0) -> dict[str, Any]:
        """Begin to follow *channel*; returns what brings the client up to date from *last_seen*."""
        cursor = self.cursors[channel.uri] = Cursor(sent=channel.index, acked=last_seen)
        if 0 < last_seen <= channel.index and channel.log.reaches(last_seen):
            cursor.acked = channel.index
            return {"replay": [to_json(envelope) for envelope in merge_envelopes(channel.log.after(last_seen))]}
        return snapshot(channel)

    def unsubscribe(self, uri: str) -> None:
        """Follow the channel no more."""
        self.cursors.pop(uri, None)

    def acknowledge(self, flush: int, seen: dict[str, int]) -> None:
        """The client has applied *flush*, and has got as far as *seen*.

        Where that is less far than the flush should have brought it, one before it was lost: that channel is sent again
        from where the client is.
        """
        flight = self._unacknowledged.get(flush)
        for number in [number for number in self._unacknowledged if number <= flush]:
            del self._unacknowledged[number]
        for uri, cursor in self.cursors.items():
            index = seen.get(uri, 0)
            cursor.acked = max(cursor.acked, min(index, cursor.sent))
            if flight is not None and index < flight.reaches.get(uri, 0):
                cursor.sent = min(cursor.sent, cursor.acked)

    def rewind(self, seen: dict[str, int] | None = None) -> None:
        """Send again from where the client says it is (*seen*), or from its last acknowledgement."""
        self._unacknowledged.clear()
        for uri, cursor in self.cursors.items():
            cursor.sent = min(cursor.sent, (seen or {}).get(uri, cursor.acked))
            cursor.acked = min(cursor.acked, cursor.sent)

    def next_flush(self, channels: Iterable[Channel[Any]], now: float) -> dict[str, Any] | None:
        """What to send now, over all of *channels*: one message, or None where nothing is new."""
        envelopes: list[Envelope] = []
        snapshots: dict[str, Any] = {}
        reaches: dict[str, int] = {}
        for channel in channels:
            cursor = self.cursors[channel.uri]
            reaches[channel.uri] = channel.index
            if cursor.sent >= channel.index:
                continue
            fresh = merge_envelopes(channel.log.after(cursor.sent)) if channel.log.reaches(cursor.sent) else None
            if fresh is None or _outweighs(fresh, channel):
                snapshots[channel.uri] = snapshot(channel)
            else:
                envelopes += fresh
            cursor.sent = channel.index
        envelopes += self.rejections
        self.rejections = []
        if not envelopes and not snapshots:
            return None
        self._flush += 1
        self._unacknowledged[self._flush] = Flight(at=now, reaches=reaches)
        flush: dict[str, Any] = {"flush": self._flush, "envelopes": [to_json(envelope) for envelope in envelopes]}
        return {**flush, "snapshots": snapshots} if snapshots else flush


def snapshot(channel: Channel[Any]) -> dict[str, Any]:
    """The channel's whole state at its index (AHP ``Snapshot``)."""
    return {"snapshot": to_json(channel.state), "fromIndex": channel.index}


def _outweighs(fresh: list[Envelope], channel: Channel[Any]) -> bool:
    if len(fresh) < SNAPSHOT_FROM:
        return False
    return sum(len(encode(envelope)) for envelope in fresh) > len(encode(channel.state))
