"""What each finished turn of a session used, for the log: tokens and money, as far as its agent says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.log.record import TurnUsage

if TYPE_CHECKING:
    from agentnb.state import ChatState, SessionState, Turn
    from agentnb.state.session_state import Cost


class UsageWatch:
    """Watches one session."""

    def __init__(self, session: SessionState, chat: ChatState) -> None:
        self._turns = len(chat.turns)
        self._cost = _cost(session)
        self._last: TurnUsage | None = None

    def news(self, uri: str, session: SessionState, chat: ChatState) -> list[TurnUsage]:
        """Returns what is new since it was asked last; some agents say what a turn cost a moment after it has ended."""
        ended = [_tokens(uri, number, chat.turns[number]) for number in range(self._turns, len(chat.turns))]
        self._turns = len(chat.turns)
        if not ended and self._last is not None and chat.active_turn is None and _cost(session) != self._cost:
            ended = [self._last]
        if ended:
            ended[-1] = self._last = self._with_cost(ended[-1], _cost(session))
        return ended

    def _with_cost(self, usage: TurnUsage, cost: Cost | None) -> TurnUsage:
        before, self._cost = self._cost, cost or self._cost
        if cost is None or cost == before:
            return usage
        goes_on = before is not None and before.currency == cost.currency and before.amount <= cost.amount
        spent = float(cost.amount - before.amount if goes_on and before else cost.amount)  # else it was counted anew
        earlier = usage.cost or 0.0 if usage.currency in {None, cost.currency} else 0.0
        return replace(usage, cost=earlier + spent, currency=cost.currency)


def _cost(session: SessionState) -> Cost | None:
    return None if session.context_usage is None else session.context_usage.cost


def _tokens(uri: str, number: int, turn: Turn) -> TurnUsage:
    used = turn.usage
    if used is None:
        return TurnUsage(uri=uri, number=number, ended_at=now_ms())
    return TurnUsage(
        uri=uri,
        number=number,
        ended_at=now_ms(),
        input=used.input_tokens,
        output=used.output_tokens,
        cached=used.cache_read_tokens,
    )
