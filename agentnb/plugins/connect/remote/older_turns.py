"""Fetches the turns of another host's chats that its snapshots leave out, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.state import Turn, decode

if TYPE_CHECKING:
    from agentnb.host.channels import Channel
    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
    from agentnb.state import ChatState

MOST_TURNS = 2_000
"""Finished turns of a chat that are mirrored: the latest."""
MOST_FETCHED = 100
LOADED = "chat/turnsLoaded"


class OlderTurns:
    """Fetches older turns. Runs on the host's thread."""

    def __init__(self, mirror: MirroredHost) -> None:
        self.cursors: dict[str, str] = {}
        self._mirror = mirror

    def keep_cursor(self, chat: str, result: dict[str, Any]) -> None:
        """Keep the cursor from a chat's state or from `chat/turnsLoaded`."""
        self.cursors.pop(chat, None)
        if not self._mirror.form.is_ours and result.get("turnsNextCursor") is not None:
            self.cursors[chat] = str(result["turnsNextCursor"])

    def merge(self, before: ChatState, now: ChatState, cursor: str | None) -> ChatState:
        """Returns a new snapshot, preceded by the known turns before its first one."""
        if not now.turns:
            return now
        at = next((at for at, turn in enumerate(before.turns) if turn.id == now.turns[0].id), 0)
        if not at:
            return now
        self.keep_cursor(now.resource, {"turnsNextCursor": cursor})
        return replace(now, turns=(*before.turns[:at], *now.turns))

    def take(self, chat: Channel[ChatState], result: dict[str, Any]) -> None:
        self.keep_cursor(chat.uri, result)
        known = {turn.id for turn in chat.state.turns}
        turns = [decode(Turn, each) for each in self._mirror.form.read(result)["turns"]]
        self._put(chat, tuple(turn for turn in turns if turn.id not in known))

    async def fetch(self, chat: Channel[ChatState]) -> None:
        if self._mirror.form.is_ours:
            await self._fetch_by_turn(chat)
        else:
            await self._fetch_by_cursor(chat)

    async def _fetch_by_cursor(self, chat: Channel[ChatState]) -> None:
        while (cursor := self.cursors.get(chat.uri)) is not None and len(chat.state.turns) < MOST_TURNS:
            params = {"channel": self._mirror.names.theirs(chat.uri), "cursor": cursor, "limit": MOST_FETCHED}
            await self._mirror.client.request("fetchTurns", params)
            if self.cursors.get(chat.uri) == cursor:
                return  # the host sent no turns: stop, or this would never end

    async def _fetch_by_turn(self, chat: Channel[ChatState]) -> None:
        while chat.state.turns and len(chat.state.turns) < MOST_TURNS:
            first = chat.state.turns[0].id
            params = {"channel": self._mirror.names.theirs(chat.uri), "before": first, "limit": MOST_FETCHED}

            def take(result: Any, first: str = first) -> bool:
                turns = tuple(decode(Turn, each) for each in result["turns"])
                if not turns or chat.state.turns[0].id != first:
                    return False
                self._put(chat, turns)
                return bool(result.get("hasMore"))

            if not await self._mirror.client.request("fetchTurns", params, take):
                return

    def _put(self, chat: Channel[ChatState], turns: tuple[Turn, ...]) -> None:
        chat.restore(replace(chat.state, turns=(*turns, *chat.state.turns)), chat.index + 1)
        self._mirror.snapshots_changed()
