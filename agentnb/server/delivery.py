"""Delivery: sends each client what it has not seen, in flushes.

One message per flush carries everything of all channels, at most every :data:`FLUSH_SECONDS`, at once if nothing was
sent lately. A few characters of text wait a little longer for more, to keep the overhead of messages small. Runs on the
host's thread.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from agentnb.events.kinds import PAGE_ATTACHED, PAGE_GONE, PAGE_HIDDEN, PAGE_LEFT, PAGE_RESYNC, PAGE_VISIBLE
from agentnb.host.host import ROOT
from agentnb.server.client import UNHEARD_SECONDS, DeliveryClient
from agentnb.server.messages import VERSION
from agentnb.server.window import TURNS
from agentnb.state import TEXT_DELTAS, Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.channels import Channel
    from agentnb.server.window import ChannelOwner
    from agentnb.state import Action, ActionOrigin


class Pace(NamedTuple):
    characters: int
    seconds: float


FLUSH_SECONDS = 0.035  # a little more than two frames of a screen
SHORT = Pace(characters=40, seconds=0.15)
"""The pace if every client reads the short form of a flush (`agentnb.server.window`)."""
WHOLE = Pace(characters=120, seconds=0.25)
"""The pace if some client does not read it: its envelopes are larger."""
RESEND_SECONDS = 2.0
GONE_SECONDS = 600.0  # after this silence, a client gets nothing more; it initializes again if it comes back
RETURN_SECONDS = 60.0  # the same after a client announced that it leaves: it may only be reloading
MOST_ACCEPTED = 256  # a client's accepted actions that are recognized if they are sent again
MOST_REMEMBERED = 64  # clients whose accepted actions are kept


class AcceptedActions:
    """The latest actions of clients that were accepted: a page that is unsure sends one again."""

    def __init__(self) -> None:
        self._accepted: dict[str, deque[int]] = {}

    def __contains__(self, origin: ActionOrigin) -> bool:
        return origin.client_seq in self._accepted.get(origin.client_id, ())

    def add(self, origin: ActionOrigin) -> None:
        accepted = self._accepted.pop(origin.client_id, deque(maxlen=MOST_ACCEPTED))
        accepted.append(origin.client_seq)
        self._accepted[origin.client_id] = accepted
        for client_id in [*self._accepted][:-MOST_REMEMBERED]:
            del self._accepted[client_id]


class Delivery:
    def __init__(self, host: ChannelOwner, send: Callable[[str, dict[str, Any]], None], *, turns: int = TURNS) -> None:
        self.clients: dict[str, DeliveryClient] = {}
        self.blocked_seconds: Callable[[], float] = lambda: 0.0
        self.accepted: AcceptedActions = AcceptedActions()
        self._host = host
        self._turns = turns
        self._send = send
        self._due: float | None = None
        self._resending = False
        self._last_flush = 0.0
        self.last_message_at: float = 0.0
        self._text = 0
        self._urgent = False
        host.listen(self._on_envelope)

    @property
    def attached(self) -> bool:
        """True if a page is connected, as far as can be known (decision 20). Usable from any thread."""
        clients = tuple(self.clients.values())
        return any(client.answers and not self._is_gone(client) for client in clients)

    def attach(
        self, client_id: str, *, visible: bool, version: int = VERSION, accepts_text: bool = False
    ) -> DeliveryClient:
        """Add a page that is ready as a client; one that was a client before starts afresh."""
        before = self.clients.get(client_id)
        self.last_message_at = self._host.loop.time()
        flush = before.flush if before is not None else 0
        client = DeliveryClient(
            client_id,
            visible=visible,
            seen_at=self.last_message_at,
            flush=flush,
            turns=self._turns,
            version=version,
            accepts_text=accepts_text,
        )
        client.responsive_when_seen = self._responsive_seconds()
        self.clients[client_id] = client
        PAGE_ATTACHED.tell(client=client_id, visible=visible)
        return client

    def join(self, client: DeliveryClient) -> None:
        """Add *client*, which has its own transport."""
        self.clients[client.client_id] = client
        PAGE_ATTACHED.tell(client=client.client_id, visible=client.visible)

    def drop(self, client_id: str) -> None:
        if self.clients.pop(client_id, None) is not None:
            PAGE_GONE.tell(client=client_id)

    def heard(self, client_id: str) -> DeliveryClient | None:
        """Note that the client has just sent something, and return it; None if it is unknown, or no longer known."""
        client = self.clients.get(client_id)
        if client is not None:
            client.seen_at = self.last_message_at = self._host.loop.time()
            client.responsive_when_seen = self._responsive_seconds()
            client.leaves = False
        return client

    def leave(self, client: DeliveryClient) -> None:
        """Note that *client* is going away or reloading."""
        client.leaves, client.visible = True, False
        PAGE_LEFT.tell(client=client.client_id)

    def seen(self, client: DeliveryClient, *, visible: bool) -> None:
        """Note whether *client* is visible: a hidden page is sent the root channel only."""
        if client.visible is not visible:
            client.visible = visible
            (PAGE_VISIBLE if visible else PAGE_HIDDEN).tell(client=client.client_id)
        self.kick()

    def lacks(self, client: DeliveryClient, seen: dict[str, int]) -> None:
        """Send *client* again everything after *seen* on those channels."""
        client.resync(seen)
        PAGE_RESYNC.tell(client=client.client_id, channels=[*seen])
        self.kick()

    def refuse(self, uri: str, action: Action, origin: ActionOrigin, reason: str) -> None:
        """Tell the client why its *action* on *uri* was not accepted; the channel need not exist."""
        channel = self._host.channel_or_none(uri)
        index = 1 if channel is None else max(1, channel.index)
        self._answered(Envelope(channel=uri, index=index, action=action, origin=origin, rejection_reason=reason))
        self.kick()

    def acknowledged(self, client: DeliveryClient, flush: int, seen: dict[str, int]) -> None:
        """Note that *client* has received *flush*: it may have been blocked until then, or have missed something."""
        waited = client.is_full
        lost = client.acknowledge(flush, seen)
        self.kick(urgent=waited or lost)

    def indexes(self, client: DeliveryClient) -> dict[str, int]:
        """Returns the current index of each channel that *client* is sent."""
        return {channel.uri: channel.index for channel in self._channels(client)}

    def kick(self, *, urgent: bool = True) -> None:
        """Flush soon, as there may be something to send; if *urgent*, without waiting for more text."""
        self._urgent = self._urgent or urgent
        if self.clients:
            self._schedule()

    def _schedule(self) -> None:
        """Schedule the next flush for when it is due; an earlier due time replaces a later one."""
        if self._due is not None and self._due <= self._last_flush + FLUSH_SECONDS:
            return  # the scheduled flush is early enough
        pace = SHORT if all(client.accepts_text for client in self.clients.values()) else WHOLE
        is_worth_it = self._urgent or self._text >= pace.characters
        due = self._last_flush + (FLUSH_SECONDS if is_worth_it else pace.seconds)
        if self._due is None or due < self._due:
            self._due = due
            self._host.loop.later(max(0.0, due - self._host.loop.time()), self._flush, due)

    def _on_envelope(self, _channel: Channel[Any], envelope: Envelope) -> None:
        self._answered(envelope)
        action = envelope.action
        characters = len(action.content) if isinstance(action, TEXT_DELTAS) else 0
        self._text += characters
        self.kick(urgent=characters == 0)

    def _answered(self, envelope: Envelope) -> None:
        origin = envelope.origin
        if origin is None:
            return
        if envelope.rejection_reason is None:
            self.accepted.add(origin)
        elif origin in self.accepted:
            envelope = replace(envelope, repeated=True)
        if (client := self.clients.get(origin.client_id)) is not None:
            client.answered(envelope, origin.client_seq)

    def _responsive_seconds(self) -> float:
        """Returns for how many seconds the kernel could receive messages, without those in which a cell blocked it."""
        return self._host.loop.time() - self.blocked_seconds()

    def _is_gone(self, client: DeliveryClient) -> bool:
        return not client.stays and self._responsive_seconds() - client.responsive_when_seen > (
            RETURN_SECONDS if client.leaves else GONE_SECONDS
        )

    def _flush(self, due: float) -> None:
        if due != self._due:  # it was sent earlier
            return
        self._due = None
        now = self._host.loop.time()
        self._last_flush, self._text, self._urgent = now, 0, False
        self._drop_gone()
        for client in tuple(self.clients.values()):
            if not client.blocked(now, self.last_message_at):
                message = client.next_message(self._channels(client), now)
                if message is not None:
                    self._send(client.client_id, message)
        self._watch_for_silence()

    def _channels(self, client: DeliveryClient) -> list[Channel[Any]]:
        uris = [uri for uri in client.cursors if client.visible or uri == ROOT]
        channels = {uri: self._host.channel_or_none(uri) for uri in uris}
        for uri in [uri for uri, channel in channels.items() if channel is None]:
            client.unsubscribe(uri)
        return [channel for channel in channels.values() if channel is not None]

    def _watch_for_silence(self) -> None:
        if not self._resending and any(client.waiting_since() is not None for client in self.clients.values()):
            self._resending = True
            self._host.loop.later(UNHEARD_SECONDS, self._resend)

    def _resend(self) -> None:
        """Send again what was not acknowledged in time, to clients that have been heard from since."""
        self._resending = False
        now = self._host.loop.time()
        for client in self.clients.values():
            since = client.waiting_since()
            if since is not None and now - since > RESEND_SECONDS and client.seen_at > since:
                client.rewind()
                self._urgent = True
        self._drop_gone()
        self.kick(urgent=False)
        self._watch_for_silence()

    def _drop_gone(self) -> None:
        for client in tuple(self.clients.values()):
            if self._is_gone(client):
                del self.clients[client.client_id]
                PAGE_GONE.tell(client=client.client_id)
