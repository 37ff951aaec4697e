"""Tokens and money used by the turns of all kept sessions: a table by day, session, turn, agent or folder."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, get_args

from agentnb.api.arguments import check_text, check_which
from agentnb.api.columns import Rows, Table, on_one_line
from agentnb.api.history_rows import kernel_log
from agentnb.errors import UsageError
from agentnb.host.history.restore import LOG_OFF, named
from agentnb.log.usage import By, UsageRow

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from datetime import date

    from agentnb.api.history_rows import ThisLog

LISTED = 100
NONE = "No finished turns, or none that match."
_LONGEST = 60  # characters of a name in the table


class UsageTable(Table, Rows[UsageRow]):
    """Tokens and money that turns used, the latest first; a table with its sums when displayed.

    Args:
        rows: The groups of turns.
        by: The kind of the groups.
        note: A note on a problem with the log; empty if all is well.

    Attributes:
        total: The sums of all rows; None if there is no row.
    """

    def __init__(self, rows: Iterable[UsageRow] = (), by: By = "day", note: str = "") -> None:
        super().__init__(rows)
        self.by = by
        self.note = note
        self.total: UsageRow | None = _total(self) if self else None
        self._none = note or NONE

    def _table(self) -> list[tuple[str, ...]]:
        sums = [self.total] if self.total is not None and len(self) > 1 else []
        return [(self.by, "turns", "input", "output", "cached", "cost"), *map(self._cells, [*self, *sums])]

    def _cells(self, row: UsageRow) -> tuple[str, ...]:
        name = on_one_line(row.name[: _LONGEST + 1])
        label = name if len(row.name) <= _LONGEST else f"{name[:_LONGEST]}…"
        tokens = ("" if n is None else f"{n:,}" for n in (row.input_tokens, row.output_tokens, row.cached_tokens))
        costs = " + ".join(f"{amount:.4f} {currency}" for currency, amount in sorted(row.costs.items()))
        return (label, f"{row.turns:,}", *tokens, costs)

    def _notes(self) -> list[str]:
        return [self.note] if self.note and self else []


def usage(
    by: By = "day",
    *,
    session: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    agent: str | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    limit: int = LISTED,
) -> UsageTable:
    """Returns the tokens and money that turns used, in this kernel and others, as far as their agents report them.

    A turn must meet all conditions. It counts turns since agentnb 0.2, in sessions that the log still has; a running
    turn counts with the usage reported until now.

    Args:
        by: The groups: turns of the same ``"day"`` (local), ``"session"``, ``"turn"``, ``"agent"`` or ``"folder"``.
        session: Only this session, by its id or the beginning of it.
        folder: Only sessions of this workspace, which need not exist any more.
        agent: Only this agent, by its name.
        since: Only turns that ended on this day or later, or from this moment on: a date, a datetime, or ISO 8601 text
            (``"2026-11-02"``). Without a time zone it is local time.
        until: Only turns that ended before that moment; for a day, before it began.
        limit: The most rows to return, the latest.

    Returns:
        One row per group, the latest first, and their ``total``; a notebook shows them as a table.

    Raises:
        UsageError: If *by* is none of these, *agent* or *session* is not text, *folder* not a path, *since* or *until*
            not a date, or *limit* not a number above zero.
        UnknownSession: If the log has no such session, or several.
        LogError: If the log cannot be read.

    Example:
        >>> agentnb.usage("agent", since="2026-11-01")  # doctest: +SKIP
    """
    which = {"folder": folder, "agent": agent, "since": since, "until": until}
    return add_up(kernel_log(), by, limit=limit, session=session, **which)


def add_up(
    log: ThisLog | None, by: By = "day", *, limit: int = LISTED, session: str | None = None, **filters: Any
) -> UsageTable:
    """Returns the usage of turns; the arguments are those of :func:`usage`."""
    if by not in get_args(By):
        known = ", ".join(map(repr, get_args(By)))
        raise UsageError(f"by must be one of {known}, not {by!r}.", hint='agentnb.usage("agent") groups by agent.')
    which = check_which(limit, **filters)
    if log is None:
        return UsageTable(by=by, note=LOG_OFF)
    if session is not None:
        check_text("session", session, example='session="3f2a"')
        which["uri"] = named(log.store, session).uri
    return UsageTable(log.store.usage(by, limit, **which), by, log.note)


def _total(rows: Iterable[UsageRow]) -> UsageRow:
    everything, costs = list(rows), Counter[str]()
    for row in everything:
        costs.update(row.costs)  # Counter.update() adds
    return UsageRow(
        name="total",
        turns=sum(row.turns for row in everything),
        input_tokens=_sum(row.input_tokens for row in everything),
        output_tokens=_sum(row.output_tokens for row in everything),
        cached_tokens=_sum(row.cached_tokens for row in everything),
        costs=dict(costs),
        last=max(row.last for row in everything),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
