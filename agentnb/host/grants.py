"""What the user has answered, as long as it holds: once for a tool call, for the turn, for the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.policy.rules import InForce

if TYPE_CHECKING:
    from agentnb.policy.door import Door
    from agentnb.policy.offers import Offer
    from agentnb.state import ToolCallState


class Grants:
    """The answers of one conversation that hold."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCallState] = {}
        self._for_turn: list[InForce] = []
        self._for_session: list[InForce] = []

    @property
    def in_force(self) -> tuple[InForce, ...]:
        """What was answered for the session and for the turn, in the order in which it counts."""
        return (*self._for_session, *self._for_turn)

    def take(self, offer: Offer) -> None:
        """Let a wider answer hold: for the turn, else for the session (where it is for always, at least so long)."""
        if offer.scope == "turn":
            self._for_turn.append(InForce(offer.rule, "turn"))
        else:
            self._for_session.append(InForce(offer.rule, "session"))

    def approve(self, call: ToolCallState) -> None:
        """*call* may do what it showed when it was asked about."""
        self._calls[call.tool_call_id] = call

    def cover(self, door: Door) -> bool:
        """Whether a call that was approved showed that it would go through *door*; for code, which adds up, once."""
        found = next((name for name, call in self._calls.items() if door.covered_by(call)), None)
        if found is not None and door.kind == "kernel":
            del self._calls[found]
        return found is not None

    def forget_turn(self) -> None:
        """A new turn begins: what was allowed once, or for a turn, is allowed no more."""
        self._calls.clear()
        self._for_turn.clear()
