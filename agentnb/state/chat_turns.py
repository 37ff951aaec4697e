"""Finds a turn of a chat by its id. It searches from the latest turn on: most questions are about that one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.state.chat_state import ActiveTurn, ChatState, Turn


def finished_turn_index(chat: ChatState, turn_id: str) -> int | None:
    """The place of a finished turn in ``chat.turns``; None where no finished turn has that id."""
    turns = chat.turns
    return next((at for at in range(len(turns) - 1, -1, -1) if turns[at].id == turn_id), None)


def find_finished_turn(chat: ChatState, turn_id: str) -> Turn | None:
    """The finished turn with that id; None where there is none."""
    at = finished_turn_index(chat, turn_id)
    return None if at is None else chat.turns[at]


def find_turn(chat: ChatState, turn_id: str) -> ActiveTurn | Turn | None:
    """The running or finished turn with that id; None where there is none (a queued prompt has no turn yet)."""
    if chat.active_turn is not None and chat.active_turn.id == turn_id:
        return chat.active_turn
    return find_finished_turn(chat, turn_id)
