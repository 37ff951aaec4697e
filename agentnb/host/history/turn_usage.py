"""The usage of each turn: tokens and money, as far as its agent reports them, and time; for the log and budgets."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.budget import Spent
from agentnb.clock import now_ms
from agentnb.log.record import TurnUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.channels import SessionChannels
    from agentnb.state import SessionState, Turn, UsageInfo
    from agentnb.state.session_state import ContextUsage, Cost

SECONDS = 1.0
"""Seconds between two records of a running turn's time."""


class UsageWatch:
    """Tracks the usage of one session's turns; :attr:`version` differs after each change."""

    def __init__(self, channels: SessionChannels, earlier: Iterable[TurnUsage] = (), *, is_free: bool) -> None:
        session, chat = channels.session.state, channels.chat.state
        self.version: int = 0
        self._channels = channels
        self._is_free = is_free
        self._rows = {row.number: row for row in earlier}
        self._earlier = frozenset(self._rows)
        self._unsaved: set[int] = set()
        self._turns = len(chat.turns)
        self._cost = _cost(session)
        self._worked, self._looked, self._works = 0.0, monotonic(), False
        self._context = _tokens_in_context(session)
        self._seen: tuple[int, ContextUsage | None, UsageInfo | None] = (-1, None, None)
        self._written = 0.0

    @property
    def spent(self) -> Spent:
        """The usage of all turns together, including the running one."""
        rows, costs = self._rows.values(), dict[str, float]()
        for row in rows:
            if row.currency is not None:
                costs[row.currency] = costs.get(row.currency, 0.0) + max(row.cost or 0.0, 0.0)
        return Spent(
            tokens=sum(max(row.input or 0, 0) + max(row.output or 0, 0) for row in rows),
            costs=costs,
            seconds=sum(row.took or 0 for row in rows) / 1000,
            turns=len(rows),
        )

    @property
    def has_running(self) -> bool:
        """True if the running turn is already counted, since its prompt was sent."""
        return self._turns in self._rows

    @property
    def latest(self) -> TurnUsage | None:
        return self._rows[max(self._rows)] if self._rows else None

    def take(self) -> list[TurnUsage]:
        """Returns the new or changed rows since the last call, for the log."""
        numbers, self._unsaved = sorted(self._unsaved), set()
        return [self._rows[number] for number in numbers if number in self._rows]

    def take_all(self) -> None:
        """Make the next :meth:`take` return everything, since the log's file was replaced."""
        self._unsaved = set(self._rows)

    def look(self, *, at_once: bool = False) -> None:
        """Check for changes; *at_once*: also write down the time of a running turn."""
        if self._is_free:
            return
        session, chat = self._channels.session.state, self._channels.chat.state
        now = monotonic()
        if self._works:
            self._worked += now - self._looked
        self._looked = now
        is_sent = chat.active_turn is not None and self._channels.prompted == chat.active_turn.id
        self._works = is_sent and not self._channels.waits_for_user
        if len(chat.turns) < self._turns:
            self._rows = {number: row for number, row in self._rows.items() if number < len(chat.turns)}
        ended = range(self._turns, len(chat.turns))
        self._turns = len(chat.turns)
        if ended:
            for number in ended:
                self._end(number, chat.turns[number], session, is_last=number == ended[-1])
            self._worked, self._context = 0.0, _tokens_in_context(session)
        elif chat.active_turn is None and _cost(session) != self._cost and (last := self._rows.get(self._turns - 1)):
            self._put(self._with_cost(last, session))  # some agents report the cost only after the turn has ended
            self._cost = _cost(session) or self._cost
        if chat.active_turn is not None and (is_sent or self.has_running):
            self._run(session, chat.active_turn.usage, now, seconds=0.0 if at_once else SECONDS)

    def _end(self, number: int, turn: Turn, session: SessionState, *, is_last: bool) -> None:
        if number not in self._rows:
            return  # its prompt was never sent
        row = self._row(number, turn.usage, session if is_last else None)
        if is_last:
            row = self._with_cost(row, session)
            self._cost = _cost(session) or self._cost
        if number in self._earlier:  # the turn ran in an earlier kernel
            row = replace(row, ended_at=self._rows[number].ended_at)
        self._put(row)

    def _run(self, session: SessionState, usage: UsageInfo | None, now: float, *, seconds: float) -> None:
        """Update the row of a running turn if it has changed, or was written at least *seconds* ago."""
        seen = (self._turns, session.context_usage, usage)
        is_new = any(a is not b and a != b for a, b in zip(seen, self._seen, strict=True))
        if not is_new and now - self._written < seconds:
            return
        self._seen, self._written = seen, now
        row = self._with_cost(self._row(self._turns, usage, session), session)
        self._put(row, is_news=is_new)

    def _row(self, number: int, usage: UsageInfo | None, session: SessionState | None) -> TurnUsage:
        """The row of a turn without its cost; if the agent reports no usage, the growth of the context is the input."""
        earlier = self._rows.get(number)
        took = max(round(self._worked * 1000), (earlier.took or 0) if earlier is not None else 0)
        row = TurnUsage(uri=self._channels.session.uri, number=number, ended_at=now_ms(), took=took)
        if usage is not None:
            return replace(row, input=usage.input_tokens, output=usage.output_tokens, cached=usage.cache_read_tokens)
        grown = max(_tokens_in_context(session) - self._context, 0) if session is not None else 0
        known = earlier.input or 0 if earlier is not None else 0
        return replace(row, input=max(grown, known) or None, output=earlier.output if earlier is not None else None)

    def _with_cost(self, usage: TurnUsage, session: SessionState) -> TurnUsage:
        before, cost = self._cost, _cost(session)
        if cost is None or cost == before:
            return usage
        goes_on = before is not None and before.currency == cost.currency and before.amount <= cost.amount
        spent = float(cost.amount - before.amount if goes_on and before else cost.amount)  # else its count began anew
        earlier = usage.cost or 0.0 if usage.currency in {None, cost.currency} else 0.0
        return replace(usage, cost=earlier + spent, currency=cost.currency)

    def _put(self, row: TurnUsage, *, is_news: bool = True) -> None:
        earlier = self._rows.get(row.number)
        if earlier is not None and (
            row.cost is None or (row.currency == earlier.currency and row.cost < (earlier.cost or 0.0))
        ):
            row = replace(row, cost=earlier.cost, currency=earlier.currency)  # the agent's count began anew
        self._rows[row.number] = row
        self._unsaved.add(row.number)
        self.version += is_news


def _cost(session: SessionState) -> Cost | None:
    return None if session.context_usage is None else session.context_usage.cost


def _tokens_in_context(session: SessionState | None) -> int:
    return 0 if session is None or session.context_usage is None else session.context_usage.used
