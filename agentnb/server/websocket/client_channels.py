"""The channels that one client may follow, and their states as it is told them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.server import window
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.failures import RequestFailed
from agentnb.server.websocket.feed import claim_of
from agentnb.server.websocket.projection import state_to_ahp
from agentnb.server.websocket.uris import TERMINALS, from_ahp, place_of
from agentnb.state import RootState, SessionState, TerminalState, TerminalUnclassifiedPart, terminal_lifecycle

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.server.websocket.client import RemoteClient
    from agentnb.server.websocket.feed import Feed


class ClientChannels:
    """The channels that one client sees. On the host's thread."""

    def __init__(self, host: Host, feed: Feed, client: RemoteClient) -> None:
        self._host, self._feed, self._client = host, feed, client

    def find(self, uri: str) -> str | None:
        """The host's name of a channel that the client can follow; None where there is none that it may see."""
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
        """The states of those of *uris* that it may see; from now on it follows them."""
        unique = dict.fromkeys(uris)
        return [self.snapshot(uri, own) for uri in unique if (own := self.find(uri)) is not None]

    def snapshot(self, uri: str, own: str, turns: int = window.TURNS) -> dict[str, Any]:
        """The state of a channel; from now on the client follows it."""
        self._client.follow(own)
        state, earlier = window.latest(self._complete(own, self._state(own)), turns=turns)
        ahp_state = state_to_ahp(state, own=self._client.is_ours)
        if earlier and not self._client.is_ours:
            ahp_state["turnsNextCursor"] = state.turns[0].id
        return {"resource": uri, "state": ahp_state, "fromSeq": self._feed.seq}

    def _complete(self, own: str, state: Any) -> Any:
        """*state* with what AHP has in it and the host elsewhere."""
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
        """The host's name of the channel *uri*, which is of that *kind*."""
        place, own = place_of(uri), self.find(uri)
        if place is None or place.kind != kind or own is None:
            raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no {kind} {uri[:200]!r}.")
        return own
