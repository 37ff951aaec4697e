"""The usage of turns, added up by turn, session, day, agent or folder."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict

from agentnb.budget import Spent
from agentnb.log.record import TurnUsage

if TYPE_CHECKING:
    import sqlite3

By: TypeAlias = Literal["turn", "session", "day", "agent", "folder"]

_DAY = "date(u.ended_at / 1000, 'unixepoch', 'localtime')"
_GROUPS: dict[By, tuple[str, str]] = {
    "turn": (
        "u.uri || '#' || u.number",
        "(SELECT t.prompt FROM turns t WHERE t.uri = u.uri AND t.number = u.number)",
    ),
    "session": ("u.uri", "s.title"),
    "day": (_DAY, _DAY),
    "agent": ("s.agent", "s.agent"),
    "folder": ("s.cwd", "s.cwd"),
}
"""The key and the name of a group."""
_WHERE = """
    FROM usage u JOIN sessions s USING (uri)
    WHERE (:cwd IS NULL OR s.cwd = :cwd) AND (:agent IS NULL OR s.agent = :agent)
        AND (:uri IS NULL OR u.uri = :uri)
        AND (:since IS NULL OR u.ended_at >= :since) AND (:until IS NULL OR u.ended_at < :until)
"""
_SPENT = """
    SELECT count(*), total(max(coalesce(input, 0), 0)) + total(max(coalesce(output, 0), 0)),
        total(max(coalesce(took, 0), 0)) FROM usage WHERE ended_at >= ?
"""
_SPENT_MONEY = """
    SELECT currency, total(max(cost, 0)) FROM usage WHERE ended_at >= ? AND currency IS NOT NULL GROUP BY currency
"""
_OF_SESSION = "SELECT uri, number, ended_at, input, output, cached, cost, currency, took FROM usage WHERE uri = ?"
_COLUMNS = "count(*), sum(u.input), sum(u.output), sum(u.cached), max(u.ended_at)"


class UsageRow(NamedTuple):
    """The usage of several turns together."""

    name: str
    turns: int
    input_tokens: int | None  # tokens that the models read; None if no agent reported them
    output_tokens: int | None
    cached_tokens: int | None
    costs: dict[str, float]  # money spent, by currency (ISO 4217); empty if no agent reported it
    last: datetime
    id: str = ""


class WhichTurns(TypedDict, total=False):
    """A filter of turns; all its conditions must hold."""

    cwd: str | None
    agent: str | None
    uri: str | None
    since: int | None  # turns that ended at this time or later, in milliseconds since 1970
    until: int | None


def add_up(connection: sqlite3.Connection, by: By, which: WhichTurns, limit: int) -> list[UsageRow]:
    """Returns at most *limit* groups, the latest first."""
    query = {**dict.fromkeys(WhichTurns.__annotations__), **which, "limit": limit}
    key, name_of = _GROUPS[by]
    groups = connection.execute(
        f"SELECT {key} AS k, max({name_of}), {_COLUMNS} {_WHERE} GROUP BY k ORDER BY max(u.ended_at) DESC, max(u.number) DESC, k LIMIT :limit",  # noqa: E501 - constants only
        query,
    ).fetchall()
    costs: dict[str, dict[str, float]] = {}
    spent = f"SELECT {key} AS k, u.currency, sum(u.cost) {_WHERE} AND u.cost IS NOT NULL GROUP BY k, u.currency"
    for group, currency, amount in connection.execute(spent, query):
        costs.setdefault(group, {})[currency] = amount
    return [
        UsageRow(
            name=name or "",
            turns=turns,
            input_tokens=read,
            output_tokens=written,
            cached_tokens=cached,
            costs=costs.get(group, {}),
            last=datetime.fromtimestamp(ended / 1000, timezone.utc),
            id=group.rpartition("/")[2] if by == "session" else "",
        )
        for group, name, turns, read, written, cached, ended in groups
    ]


def spent_since(connection: sqlite3.Connection, moment: int) -> Spent:
    """The usage of all kernels' turns that ended, or ran, at *moment* (milliseconds since 1970) or later.

    This includes turns of conversations that were deleted since.
    """
    turns, tokens, took = connection.execute(_SPENT, (moment,)).fetchone()
    costs = dict(connection.execute(_SPENT_MONEY, (moment,)).fetchall())
    return Spent(tokens=int(tokens), costs=costs, seconds=took / 1000, turns=turns)


def usage_of(connection: sqlite3.Connection, uri: str) -> tuple[TurnUsage, ...]:
    fields = TurnUsage.__struct_fields__
    rows = connection.execute(_OF_SESSION, (uri,)).fetchall()
    return tuple(TurnUsage(**dict(zip(fields, row, strict=True))) for row in rows)
