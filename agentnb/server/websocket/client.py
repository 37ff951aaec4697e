"""A client over the WebSocket: its channels, and pages of sessions and turns.

A client that is too far behind the feed must connect again, and then gets snapshots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.host.channels import ROOT
from agentnb.host.intents import REMOTE
from agentnb.log.record import merge_envelopes
from agentnb.rpc_message import INVALID_PARAMS
from agentnb.server import window
from agentnb.server.client import DeliveryClient
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.commands import RequestFailed
from agentnb.server.websocket.feed import claim_of
from agentnb.server.websocket.projection import TERMINALS, action_to_ahp, from_ahp, place_of, state_to_ahp, to_ahp
from agentnb.state import (
    RootState,
    RootTerminalsChanged,
    SessionState,
    TerminalState,
    TerminalUnclassifiedPart,
    UnknownAction,
    terminal_lifecycle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.host.channels import Channel
    from agentnb.host.host import Host
    from agentnb.server.websocket.access import Grant
    from agentnb.server.websocket.feed import Feed
    from agentnb.state import ActionOrigin, ChatState, Envelope


ACTIONS, BEHIND = "x-agentnb/actions", "x-agentnb/behind"
"""The messages from delivery to the connection: envelopes to send, or that the client is too far behind for that."""


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
        return tuple(self._followed)

    def follow(self, uri: str, since: int | None = None) -> None:
        """Send what happens in *uri* after *since*, by default from now on."""
        self._followed[uri] = self._feed.seq if since is None else since

    def unsubscribe(self, uri: str) -> None:
        self._followed.pop(uri, None)

    def blocked(self, now: float, last_message_at: float) -> bool:  # noqa: ARG002 - a socket says so itself
        """True if the last message to the client is still being written."""
        return self._is_writing()

    def answered(self, envelope: Envelope, client_seq: int) -> None:  # noqa: ARG002 - it stands in the origin
        """Record that an action of the client was rejected; the feed reports accepted ones."""
        if envelope.rejection_reason is not None:
            self._refused.append(envelope)

    def next_message(self, channels: Iterable[Channel[Any]], now: float) -> dict[str, Any] | None:  # noqa: ARG002
        """Returns what to send now, over all followed channels; None if nothing is new."""
        if not self._feed.reaches(self.sent):
            return {"method": BEHIND, "params": {}}
        envelopes = self.unseen()
        refused, self._refused = self._refused, []
        envelopes += [self._ahp_message(each, self._feed.seq) for each in refused]
        return {"method": ACTIONS, "params": {"envelopes": envelopes}} if envelopes else None

    def unseen(self) -> list[dict[str, Any]]:
        """Returns what happened since the client was last sent something, as AHP has it, with text deltas joined."""
        fresh = [
            each
            for each in self._feed.log.after(self.sent)
            if each.index > self._followed.get(each.channel, each.index)
        ]
        self.sent = self._feed.seq
        messages = [self._ahp_message(each, each.index) for each in merge_envelopes(fresh)]
        return [each for each in messages if each["action"] is not None]

    def _ahp_message(self, envelope: Envelope, seq: int) -> dict[str, Any]:
        action = action_to_ahp(self._seen(envelope.action), own=self.is_ours)
        message: dict[str, Any] = {"channel": to_ahp(envelope.channel), "action": action, "serverSeq": seq}
        if envelope.origin is not None:
            message["origin"] = self._origin(envelope.origin)
        if envelope.rejection_reason is not None:
            message["action"] = envelope.action.raw if isinstance(envelope.action, UnknownAction) else action
            message["rejectionReason"] = envelope.rejection_reason
        return message

    def _seen(self, action: Any) -> Any:
        """Returns *action* without what the client may not see."""
        if isinstance(action, RootTerminalsChanged) and self.grant.tabs is not None:
            return RootTerminalsChanged(terminals=tuple(each for each in action.terminals if self.sees(each.resource)))
        return action

    def sees(self, uri: str) -> bool:
        """True if the client may see the channel that the host calls *uri*."""
        if uri == ROOT:
            return True
        place = place_of(to_ahp(uri))
        return place is not None and self.grant.sees(place.tab_id)

    def _origin(self, origin: ActionOrigin) -> dict[str, Any]:
        """Returns the action's origin; the client itself, on any of its connections, appears under its own id."""
        mine = origin.client_id.startswith(self._own)
        return {"clientId": self.own_id if mine else origin.client_id, "clientSeq": origin.client_seq}


class ClientChannels:
    """The channels that one client sees. On the host's thread."""

    def __init__(self, host: Host, feed: Feed, client: RemoteClient) -> None:
        self._host, self._feed, self._client = host, feed, client

    def find(self, uri: str) -> str | None:
        """Returns the host's name of a channel that the client can follow; None if there is none that it may see."""
        own = from_ahp(self._host, uri)
        if own is None or not self._client.sees(own):
            return None
        return own if self._state(own) is not None else None

    def _state(self, own: str) -> Any:
        if TERMINALS in own:
            return self._terminal(own)
        channel = self._host.channel_or_none(own)
        return None if channel is None else channel.state

    def _terminal(self, own: str) -> TerminalState | None:
        session, _, terminal_id = own.partition(f"{TERMINALS}/")
        views = self._host.conversations[session].chat.state.terminals or ()
        view = next((each for each in views if each.id == terminal_id), None)
        if view is None:
            return None
        content = (TerminalUnclassifiedPart(value=view.output),) if view.output else ()
        title = view.command or view.id
        lifecycle = terminal_lifecycle(exited=view.exited is True, exit_code=view.exit_code)
        return TerminalState(title=title, content=content, lifecycle=lifecycle, claim=claim_of(session))

    def snapshots(self, uris: tuple[str, ...]) -> list[dict[str, Any]]:
        """Returns the states of those of *uris* that the client may see, and follows them from now on."""
        unique = dict.fromkeys(uris)
        return [self.snapshot(uri, own) for uri in unique if (own := self.find(uri)) is not None]

    def snapshot(self, uri: str, own: str, turns: int = window.TURNS) -> dict[str, Any]:
        """Returns the state of a channel, and follows it from now on."""
        self._client.follow(own)
        state, earlier = window.latest(self._complete(own, self._state(own)), turns=turns)
        ahp_state = state_to_ahp(state, own=self._client.is_ours)
        if earlier and not self._client.is_ours:
            ahp_state["turnsNextCursor"] = state.turns[0].id
        return {"resource": uri, "state": ahp_state, "fromSeq": self._feed.seq}

    def _complete(self, own: str, state: Any) -> Any:
        """Returns *state* with what AHP keeps in it and the host keeps elsewhere."""
        if isinstance(state, SessionState):
            chat = self._feed.chat(own)
            return msgspec.structs.replace(
                state,
                chats=() if chat is None else (chat,),
                default_chat=None if chat is None else chat.resource,
                active_clients=state.active_clients or (),
            )
        if isinstance(state, RootState):
            terminals = tuple(each for each in self._feed.terminals if self._client.sees(each.resource))
            return msgspec.structs.replace(state, terminals=terminals)
        return state

    def named(self, uri: str, kind: str = "session") -> str:
        """Returns the host's name of the channel *uri*; raises if the client sees no such channel of that *kind*."""
        place, own = place_of(uri), self.find(uri)
        if place is None or place.kind != kind or own is None:
            raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no {kind} {uri[:200]!r}.")
        return own


MOST_TURNS = 100
"""The most turns that are sent at once."""


def page_of(items: list[dict[str, Any]], limit: int | None, cursor: str | None) -> dict[str, Any]:
    """Returns one page of a list of sessions; raises if *cursor* is not in it."""
    begin = 0
    if cursor is not None:
        begin = next((at for at, each in enumerate(items, 1) if each["resource"] == cursor), 0)
        if begin == 0:
            raise RequestFailed(INVALID_PARAMS, "The cursor's session is no longer listed. Start again.")
    page = items[begin:] if limit is None else items[begin : begin + limit]
    is_last = begin + len(page) == len(items)
    return {"items": page, **({} if is_last else {"nextCursor": page[-1]["resource"]})}


def older_turns(chat: ChatState, before: str | None, limit: int) -> dict[str, Any]:
    """Returns the answer to `fetchTurns` for another agentnb kernel."""
    turns, earlier = window.before(chat, before, min(limit, MOST_TURNS))
    return {"turns": [state_to_ahp(turn, own=True) for turn in turns], "hasMore": earlier > 0}


def turns_loaded(chat: ChatState, cursor: str | None, limit: int) -> dict[str, Any]:
    """Returns the action that sends older turns to the client that asked, which has the turns after them."""
    loaded = window.latest(chat)[0].turns
    first = cursor or (loaded[0].id if loaded else None)
    turns, earlier = window.before(chat, first, min(limit, MOST_TURNS))
    action = {"type": "chat/turnsLoaded", "turns": [state_to_ahp(turn) for turn in turns]}
    return {**action, "turnsNextCursor": turns[0].id} if earlier else action
