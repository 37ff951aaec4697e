"""Finds the target of an update: the turn that it belongs to, what is in it, and whether it is over already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.state import (
    ActiveTurn,
    ChatTurnComplete,
    ChatTurnStarted,
    Message,
    MessageOrigin,
    Parts,
    XLate,
    find_finished_turn,
)
from agentnb.state.change import iso_time

if TYPE_CHECKING:
    from agentnb.state import Action, ChatState, ResponsePart, ToolCallState, Turn


class UpdateTarget:
    """The place in the state that an update belongs to."""

    def __init__(self, turn: ActiveTurn | Turn, time: int, opening: tuple[Action, ...] = ()) -> None:
        self.turn_id: str = turn.id
        self.message: Message = turn.message
        self.parts: Parts = Parts.of(turn.response_parts)
        self.late: bool = not isinstance(turn, ActiveTurn) or bool(opening)
        self.time = time
        self.opening = opening

    @property
    def last(self) -> ResponsePart | None:
        """The last part of the answer."""
        return self.parts[-1] if self.parts else None

    def part_id(self) -> str:
        """The id of the next part, unique within the turn and the same whenever it is computed again."""
        return self.parts.free_id()

    def call(self, call_id: str) -> ToolCallState | None:
        """The tool call *call_id* of this turn."""
        return self.parts.tool_call(call_id)

    def act(self, *actions: Action) -> tuple[Action, ...]:
        """*actions* on this turn: as they are while it runs, else each as :class:`agentnb.state.XLate`."""
        if not self.late:
            return actions
        return (*self.opening, *(XLate(turn_id=self.turn_id, action=action, time=self.time) for action in actions))


def find(chat: ChatState, turn_id: str | None, time: int) -> UpdateTarget:
    """The place of what the agent says about turn *turn_id*."""
    turn = _turn(chat, turn_id)
    if turn is not None:
        return UpdateTarget(turn, time)
    return own(chat, time)


def own(chat: ChatState, time: int, text: str = "") -> UpdateTarget:
    """A new finished turn that the user did not start here."""
    message = Message(text=text, origin=MessageOrigin(kind="user" if text else "agent"))
    turn = ActiveTurn(id=f"agent-{len(chat.turns) + 1}", message=message, response_parts=())
    opening = (
        ChatTurnStarted(turn_id=turn.id, message=message, started_at=iso_time(time), time=time),
        ChatTurnComplete(turn_id=turn.id, duration=0, time=time),
    )
    return UpdateTarget(turn, time, opening)


def of_call(chat: ChatState, place: UpdateTarget, call_id: str) -> tuple[UpdateTarget, ToolCallState | None]:
    """The place of tool call *call_id*: here if it is known here, else the latest turn that knows it, else here."""
    call = place.call(call_id)
    if call is not None:
        return place, call
    running = () if chat.active_turn is None else (chat.active_turn,)
    for turn in (*running, *reversed(chat.turns)):
        there = UpdateTarget(turn, place.time)
        call = there.call(call_id)
        if call is not None:
            return there, call
    return place, None


def _turn(chat: ChatState, turn_id: str | None) -> ActiveTurn | Turn | None:
    active = chat.active_turn
    if active is not None and turn_id in (None, active.id):
        return active
    named = None if turn_id is None else find_finished_turn(chat, turn_id)
    return named or active or (chat.turns[-1] if chat.turns else None)
