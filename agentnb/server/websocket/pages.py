"""Lists and histories a page at a time, as AHP has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.server import window
from agentnb.server.websocket.projection import state_to_ahp

if TYPE_CHECKING:
    from agentnb.state import ChatState

MOST_TURNS = 100
"""Turns that are sent at once."""


def page_of(items: list[dict[str, Any]], limit: int | None, cursor: str | None) -> dict[str, Any] | None:
    """A page of a list of sessions."""
    begin = 0
    if cursor is not None:
        begin = next((at for at, each in enumerate(items, 1) if each["resource"] == cursor), 0)
        if begin == 0:
            return None
    page = items[begin:] if limit is None else items[begin : begin + limit]
    is_last = begin + len(page) == len(items)
    return {"items": page, **({} if is_last else {"nextCursor": page[-1]["resource"]})}


def older_turns(chat: ChatState, before: str | None, limit: int) -> dict[str, Any]:
    """The answer of `fetchTurns` to another kernel of ours."""
    turns, earlier = window.before(chat, before, min(limit, MOST_TURNS))
    return {"turns": [state_to_ahp(turn, own=True) for turn in turns], "hasMore": earlier > 0}


def turns_loaded(chat: ChatState, cursor: str | None, limit: int) -> dict[str, Any]:
    """The action that brings older turns: to the client that asked, which knows the turns after them."""
    loaded = window.latest(chat)[0].turns
    first = cursor or (loaded[0].id if loaded else None)
    turns, earlier = window.before(chat, first, min(limit, MOST_TURNS))
    action = {"type": "chat/turnsLoaded", "turns": [state_to_ahp(turn) for turn in turns]}
    return {**action, "turnsNextCursor": turns[0].id} if earlier else action
