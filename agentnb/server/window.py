"""Older turns on demand: a snapshot of a long chat has its latest turns, the rest is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.state import ChatState, encode, finished_turn_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.state import Turn

TURNS = 30
BYTES = 1024 * 1024
MAX_FETCHED = 100


def latest(state: Any, earlier: int | None = None, *, turns: int = TURNS) -> tuple[Any, int]:
    """A channel's state with a chat's latest turns only."""
    if not isinstance(state, ChatState):
        return state, 0
    if earlier is None or earlier > len(state.turns):
        earlier = len(state.turns) - len(_fitting(state.turns, turns))
    return (replace(state, turns=state.turns[earlier:]) if earlier else state), earlier


def before(state: ChatState, turn_id: str | None, limit: int) -> tuple[tuple[Turn, ...], int]:
    """The turns right before one."""
    end = len(state.turns) if turn_id is None else _place(state, turn_id)
    fitting = _fitting(state.turns[:end], min(max(limit, 1), MAX_FETCHED))
    return fitting, end - len(fitting)


def _place(state: ChatState, turn_id: str) -> int:
    at = finished_turn_index(state, turn_id)
    if at is None and state.active_turn is not None and state.active_turn.id == turn_id:
        at = len(state.turns)
    if at is None:
        message = f"The chat {state.resource} has no turn {turn_id!r}."
        raise UsageError(message, hint="Request turns before one that exists.")
    return at


def _fitting(turns: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """The last of *turns*: *most* at most, and no more bytes than a page takes at once; at least one."""
    size, count = 0, 0
    for turn in reversed(turns[-most:]):
        size += len(encode(turn))
        if count and size > BYTES:
            break
        count += 1
    return tuple(turns[len(turns) - count :])
