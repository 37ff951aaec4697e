"""One remote client, as delivery sees it: what it follows, and how far in the feed it has been sent.

A client that falls out of the feed must connect again, and is given snapshots then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.host.channels import ROOT
from agentnb.host.intents import REMOTE
from agentnb.log.channel_log import merge_envelopes
from agentnb.server.client import DeliveryClient
from agentnb.server.websocket.projection import action_to_ahp
from agentnb.server.websocket.uris import place_of, to_ahp
from agentnb.state import RootTerminalsChanged, UnknownAction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.host.channels import Channel
    from agentnb.server.websocket.access import Grant
    from agentnb.server.websocket.feed import Feed
    from agentnb.state import ActionOrigin, Envelope

ACTIONS, BEHIND = "x-agentnb/actions", "x-agentnb/behind"
"""What delivery hands to the connection: envelopes to send, or that the client is too far behind for that."""


class RemoteClient(DeliveryClient):
    stays = True

    def __init__(
        self,
        own_id: str,
        number: int,
        *,
        grant: Grant,
        feed: Feed,
        is_writing: Callable[[], bool],
        is_ours: bool = False,
        seen_at: float,
    ) -> None:
        self._own = f"{REMOTE}{grant.name}:{own_id}:"
        super().__init__(f"{self._own}{number}", visible=True, seen_at=seen_at, accepts_text=True)
        self.answers: bool = not grant.rights.isdisjoint({"approve", "answer"})
        self.own_id = own_id
        self.grant = grant
        self.is_ours = is_ours
        self.sent: int = feed.seq
        self._feed = feed
        self._followed: dict[str, int] = {}
        self._is_writing = is_writing
        self._refused: list[Envelope] = []

    @property
    def followed(self) -> tuple[str, ...]:
        """The channels that it follows."""
        return tuple(self._followed)

    def follow(self, uri: str, since: int | None = None) -> None:
        """Send what happens in *uri* after *since*; after now by default."""
        self._followed[uri] = self._feed.seq if since is None else since

    def unsubscribe(self, uri: str) -> None:
        """Follow the channel no more."""
        self._followed.pop(uri, None)

    def blocked(self, now: float, last_message_at: float) -> bool:  # noqa: ARG002 - a socket says so itself
        """True if what it was sent last is still being written."""
        return self._is_writing()

    def answered(self, envelope: Envelope, client_seq: int) -> None:  # noqa: ARG002 - it stands in the origin
        """One of its own actions was accepted, which the feed tells, or rejected."""
        if envelope.rejection_reason is not None:
            self._refused.append(envelope)

    def next_message(self, channels: Iterable[Channel[Any]], now: float) -> dict[str, Any] | None:  # noqa: ARG002
        """Returns what to send now, over all that it follows; None where nothing is new."""
        if not self._feed.reaches(self.sent):
            return {"method": BEHIND, "params": {}}
        envelopes = self.unseen()
        refused, self._refused = self._refused, []
        envelopes += [self._told(each, self._feed.seq) for each in refused]
        return {"method": ACTIONS, "params": {"envelopes": envelopes}} if envelopes else None

    def unseen(self) -> list[dict[str, Any]]:
        """Returns what happened since it was last sent something, in AHP's words, text deltas joined."""
        fresh = [
            each
            for each in self._feed.log.after(self.sent)
            if each.index > self._followed.get(each.channel, each.index)
        ]
        self.sent = self._feed.seq
        messages = [self._told(each, each.index) for each in merge_envelopes(fresh)]
        return [each for each in messages if each["action"] is not None]

    def _told(self, envelope: Envelope, seq: int) -> dict[str, Any]:
        action = action_to_ahp(self._seen(envelope.action), own=self.is_ours)
        message: dict[str, Any] = {"channel": to_ahp(envelope.channel), "action": action, "serverSeq": seq}
        if envelope.origin is not None:
            message["origin"] = self._origin(envelope.origin)
        if envelope.rejection_reason is not None:
            message["action"] = envelope.action.raw if isinstance(envelope.action, UnknownAction) else action
            message["rejectionReason"] = envelope.rejection_reason
        return message

    def _seen(self, action: Any) -> Any:
        """*action* without what the client may not see."""
        if isinstance(action, RootTerminalsChanged) and self.grant.tabs is not None:
            return RootTerminalsChanged(terminals=tuple(each for each in action.terminals if self.sees(each.resource)))
        return action

    def sees(self, uri: str) -> bool:
        """True if it may see the channel that the host calls *uri*."""
        if uri == ROOT:
            return True
        place = place_of(to_ahp(uri))
        return place is not None and self.grant.sees(place.tab_id)

    def _origin(self, origin: ActionOrigin) -> dict[str, Any]:
        """Who asked for it: the client itself, on this connection or an earlier one, by the name that it knows."""
        mine = origin.client_id.startswith(self._own)
        return {"clientId": self.own_id if mine else origin.client_id, "clientSeq": origin.client_seq}
