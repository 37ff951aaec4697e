"""One client: a page's copy of the widget model, and how far it has got."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agentnb.log.record import merge_envelopes
from agentnb.rpc_message import notification
from agentnb.server import window
from agentnb.server.messages import OURS, VERSION
from agentnb.server.window import ContinuedText, with_references
from agentnb.state import ChatTruncated, Envelope, encode
from agentnb.state.versions import is_reduced_by_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.channels import Channel

ACTIONS, TEXT = f"{OURS}actions", f"{OURS}text"
"""The notifications that carry a flush."""
MAX_UNACKNOWLEDGED = 2
MAX_TEXTS = 48  # most unacknowledged flushes; pages acknowledge text-only flushes together
UNHEARD_SECONDS = 0.3  # between flushes to a client whose messages cannot arrive (a cell blocks the kernel)
ACK_SECONDS = 0.3  # time in which a reading page acknowledges a flush
TEXT_ACK_SECONDS = 1.3  # the same for a text-only flush: pages collect those for a second
SILENT_SECONDS = 12.0  # a page pings every 10 s: after more silence, the kernel receives nothing
UNSEEN = -1  # below every index: the client needs a snapshot
MOST_STOPS = 256  # unacknowledged flushes whose ends are kept; beyond these, a snapshot is sent
SNAPSHOT_FROM = 64  # merged envelopes from which on a snapshot may be smaller


class Cursor(msgspec.Struct):
    """The position of one client on one channel."""

    sent: int = UNSEEN
    acked: int = UNSEEN
    stops: tuple[int, ...] = ()
    earlier: int | None = None  # number of a chat's first turns that were not sent; None if no turn was sent yet
    state_bytes: int = 0


class Flight(msgspec.Struct, frozen=True):
    """A flush on its way."""

    at: float  # when it was sent, in seconds
    reaches: dict[str, int]
    is_text: bool = False

    @property
    def due(self) -> float:
        """Returns when it should be acknowledged; a page last heard from before that may not have received it yet."""
        return self.at + (TEXT_ACK_SECONDS if self.is_text else ACK_SECONDS)


class Rejection(msgspec.Struct):
    envelope: Envelope
    flush: int = 0  # the flush that carries it; 0 if not sent yet


class DeliveryClient:
    """One page's copy of the widget model."""

    stays = False
    answers = True

    def __init__(
        self,
        client_id: str,
        *,
        visible: bool,
        seen_at: float,
        flush: int = 0,
        turns: int = window.TURNS,
        version: int = VERSION,
        accepts_text: bool = False,
    ) -> None:
        self.client_id = client_id
        self.version = version
        self.visible = visible
        self.seen_at = seen_at
        # Total seconds in which the kernel could receive messages, as of `seen_at`.
        self.responsive_when_seen: float = 0.0
        self.leaves = False
        self.flush: int = flush
        self.turns = turns
        self.accepts_text = accepts_text
        self.cursors: dict[str, Cursor] = {}
        self._rejections: list[Rejection] = []
        self._accepted: dict[str, dict[int, int]] = {}
        self._flights: dict[int, Flight] = {}
        self._text = ContinuedText()

    @property
    def unacknowledged(self) -> int:
        return len(self._flights)

    @property
    def unacknowledged_whole(self) -> int:
        """Returns the number of unacknowledged flushes that do more than continue a text."""
        return sum(not flight.is_text for flight in self._flights.values())

    @property
    def is_full(self) -> bool:
        """True if the client must acknowledge something before it is sent more."""
        return self.unacknowledged_whole >= MAX_UNACKNOWLEDGED or self.unacknowledged >= MAX_TEXTS

    def blocked(self, now: float, last_message_at: float) -> bool:
        """True if the client must acknowledge what it was sent before it is sent more."""
        if not self.is_full:
            return False
        flights = self._flights.values()
        is_heard = last_message_at > min(flight.due for flight in flights) and now - last_message_at < SILENT_SECONDS
        return is_heard or now - max(flight.at for flight in flights) < UNHEARD_SECONDS

    def waiting_since(self) -> float | None:
        """Returns when the oldest unacknowledged flush was sent; None if there is none."""
        return min((flight.at for flight in self._flights.values()), default=None)

    def due(self) -> float | None:
        """Returns when the first outstanding acknowledgement was due; None if none is outstanding."""
        return min((flight.due for flight in self._flights.values()), default=None)

    def answered(self, envelope: Envelope, client_seq: int) -> None:
        """Note an accepted or rejected action: the client must hear of it, even if a snapshot replaces the echo."""
        if envelope.rejection_reason is not None:
            self._rejections.append(Rejection(envelope))
        else:
            self._accepted.setdefault(envelope.channel, {})[envelope.index] = client_seq

    def subscribe(self, channel: Channel[Any], last_seen: int = 0) -> dict[str, Any] | list[dict[str, Any]]:
        """Begin to follow *channel*; returns its snapshot, or the envelopes after *last_seen*."""
        known = 0 < last_seen <= channel.index and channel.log.reaches(last_seen)
        acked = last_seen if known else UNSEEN
        self.cursors[channel.uri] = Cursor(sent=channel.index, acked=acked, stops=(channel.index,))
        replay = merge_envelopes(channel.log.after(last_seen)) if known else []
        if not known or self._better_whole(replay, channel):
            return self._snapshot(channel)
        return [with_references(envelope) for envelope in replay]

    def unsubscribe(self, uri: str) -> None:
        self.cursors.pop(uri, None)
        self._accepted.pop(uri, None)

    def acknowledge(self, flush: int, seen: dict[str, int]) -> bool:
        """The client has received *flush* and is at *seen*; returns True if something before it was lost on the way."""
        due: dict[str, int] = {}
        for number in [number for number in self._flights if number <= flush]:
            due |= self._flights.pop(number).reaches
        for uri, index in seen.items():
            self._advance(uri, index)
        behind = {uri: seen.get(uri, 0) for uri, index in due.items() if seen.get(uri, 0) < index}
        self.resync(behind)
        return self._forget_rejections(flush) or bool(behind)

    def resync(self, seen: dict[str, int]) -> None:
        """Send again everything after *seen* on these channels."""
        if seen:
            self._text.forget()
        for uri, index in seen.items():
            if (cursor := self.cursors.get(uri)) is not None:
                cursor.sent = min(cursor.sent, index or UNSEEN)
                cursor.acked = min(cursor.acked, cursor.sent)
            for flight in self._flights.values():
                flight.reaches.pop(uri, None)

    def rewind(self) -> None:
        """Send again everything that the client has not acknowledged."""
        self._flights.clear()
        self._text.forget()
        for cursor in self.cursors.values():
            cursor.sent = min(cursor.sent, cursor.acked)
        for rejection in self._rejections:
            rejection.flush = 0

    def next_message(self, channels: Iterable[Channel[Any]], now: float) -> dict[str, Any] | None:
        """Returns the notification to send now, over all of *channels*; None if nothing is new."""
        flush = self.next_flush(channels, now)
        text = self._text.shorten(flush) if flush is not None and self.accepts_text else None
        if text is not None:
            self._flights[self.flush] = replace(self._flights[self.flush], is_text=True)
            return notification(TEXT, text)
        return None if flush is None else notification(ACTIONS, flush)

    def next_flush(self, channels: Iterable[Channel[Any]], now: float) -> dict[str, Any] | None:
        """Returns everything to send now, as the parameters of ``actions``; None if nothing is new."""
        envelopes: list[Envelope] = []
        snapshots: list[dict[str, Any]] = []
        reaches: dict[str, int] = {}
        for channel in channels:
            cursor = self.cursors[channel.uri]
            if cursor.sent < channel.index:
                fresh = _unseen(channel, cursor)
                if fresh is None or self._better_whole(fresh, channel):
                    snapshots.append(self._snapshot(channel))
                else:
                    envelopes += fresh
                cursor.sent = channel.index
                cursor.stops = (*cursor.stops, cursor.sent)[-MOST_STOPS:]
            reaches[channel.uri] = cursor.sent
        envelopes += self._unsent_rejections()
        if not envelopes and not snapshots:
            return None
        self.flush += 1
        self._flights[self.flush] = Flight(now, reaches)
        flush: dict[str, Any] = {
            "flush": self.flush,
            "envelopes": [with_references(envelope) for envelope in envelopes],
        }
        return {**flush, "snapshots": snapshots} if snapshots else flush

    def _advance(self, uri: str, index: int) -> None:
        if (cursor := self.cursors.get(uri)) is not None:
            cursor.acked = max(cursor.acked, min(index, cursor.sent))
            cursor.stops = tuple(stop for stop in cursor.stops if stop > cursor.acked)
            accepted = self._accepted.get(uri, {})
            self._accepted[uri] = {at: seq for at, seq in accepted.items() if at > cursor.acked}

    def _unsent_rejections(self) -> list[Envelope]:
        unsent = [rejection for rejection in self._rejections if rejection.flush == 0]
        for rejection in unsent:
            rejection.flush = self.flush + 1
        return [rejection.envelope for rejection in unsent]

    def _forget_rejections(self, flush: int) -> bool:
        """Forget the rejections in *flush*, and resend those of earlier flushes; returns True if there are any."""
        self._rejections = [rejection for rejection in self._rejections if rejection.flush != flush]
        lost = [rejection for rejection in self._rejections if 0 < rejection.flush < flush]
        for rejection in lost:
            rejection.flush = 0
        return bool(lost)

    def _better_whole(self, fresh: list[Envelope], channel: Channel[Any]) -> bool:
        """True if the whole state should be sent instead of *fresh*: it is smaller, or *fresh* does not lead to it.

        *fresh* does not if the page does not know one of its actions, or lacks the last turns of a truncated chat.
        """
        actions = [envelope.action for envelope in fresh]
        beyond = any(isinstance(one, ChatTruncated) or not is_reduced_by_page(one, self.version) for one in actions)
        return beyond or self._outweighs(fresh, channel)

    def _snapshot(self, channel: Channel[Any]) -> dict[str, Any]:
        """Returns the channel's state at its index (AHP ``Snapshot``), and which of the client's actions are in it."""
        cursor = self.cursors[channel.uri]
        state, cursor.earlier = window.latest(channel.state, cursor.earlier, turns=self.turns)
        snapshot = {"resource": channel.uri, "state": with_references(state), "fromSeq": channel.index}
        answered = list(self._accepted.get(channel.uri, {}).values())
        optional = {"earlier": cursor.earlier, "answered": answered, "gap": channel.gap}
        return snapshot | {name: value for name, value in optional.items() if value}

    def _outweighs(self, fresh: list[Envelope], channel: Channel[Any]) -> bool:
        """True if a snapshot is smaller than *fresh*."""
        if len(fresh) < SNAPSHOT_FROM:
            return False
        cursor, size = self.cursors[channel.uri], sum(len(encode(envelope)) for envelope in fresh)
        if size > cursor.state_bytes:  # otherwise a long state would be encoded for every flush
            cursor.state_bytes = len(encode(window.latest(channel.state, cursor.earlier, turns=self.turns)[0]))
        return size > cursor.state_bytes


def _unseen(channel: Channel[Any], cursor: Cursor) -> list[Envelope] | None:
    """Returns the envelopes of *channel* after the last index sent; None if only a snapshot helps.

    A client that cannot be heard may have applied some of them, up to any of its stops: none is merged across a stop.
    """
    forgot_stops = len(cursor.stops) == MOST_STOPS and cursor.sent < cursor.stops[0]
    if forgot_stops or not channel.log.reaches(cursor.sent):
        return None
    pieces: dict[int, list[Envelope]] = {}
    for envelope in channel.log.after(cursor.sent):
        pieces.setdefault(bisect_left(cursor.stops, envelope.index), []).append(envelope)
    return [merged for piece in pieces.values() for merged in merge_envelopes(piece)]
