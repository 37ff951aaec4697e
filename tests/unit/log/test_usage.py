"""The inside: the log's usage sums are the same for any grouping."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.log.record import LogBatch, SessionRecord, TurnText, TurnUsage
from agentnb.log.store import LogStore
from agentnb.log.usage import By
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE

AGENTS = ("eliza", "other")
DAY = 86_400_000
TOKENS = st.none() | st.integers(0, 10**9)
SPENT = st.none() | st.tuples(st.integers(0, 1000), st.sampled_from(["USD", "EUR"]))
USED = st.tuples(st.integers(0, 3), st.integers(1, 5), TOKENS, TOKENS, SPENT)
"""A turn: session, day, tokens read and written, and cost."""


def session(number: int) -> SessionRecord:
    agent = AGENTS[number % 2]
    return SessionRecord(
        uri=f"{agent}:/{number}", agent=agent, title=f"T{number}", cwd=f"/w{number % 3}", host_id="h",
        created_at=1, modified_at=1,
    )  # fmt: skip


def written(folder: Path, turns: list[tuple[int, int, int | None, int | None, tuple[int, str] | None]]) -> LogStore:
    """Returns a log with these turns."""
    store, counts, batch = LogStore(folder / "sessions.db", "h"), Counter[int](), LogBatch()
    for which, day, read, output, spent in turns:
        record, number = session(which), counts[which]
        counts[which] += 1
        cost, currency = (None, None) if spent is None else (spent[0] / 8, spent[1])
        batch.sessions[record.uri] = record
        batch.turns.append(TurnText(uri=record.uri, number=number, turn_id=f"{number}", prompt=f"p{number}", answer=""))
        batch.usage.append(
            TurnUsage(
                uri=record.uri,
                number=number,
                ended_at=day * DAY,
                input=read,
                output=output,
                cost=cost,
                currency=currency,
            )
        )
    store.write(batch)
    assert store.flush(PATIENCE)
    return store


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(USED, min_size=1, max_size=12))
def test_usage_sums_are_the_same_for_any_grouping(
    turns: list[tuple[int, int, int | None, int | None, tuple[int, str] | None]],
) -> None:
    """Unknown token counts are not zero, and currencies are not mixed."""
    with TemporaryDirectory() as folder:
        store = written(Path(folder), turns)
        for by in get_args(By):
            rows = store.usage(by, 100)
            assert sum(row.turns for row in rows) == len(turns)
            assert sum(row.input_tokens or 0 for row in rows) == sum(read or 0 for _, _, read, _, _ in turns)
            assert sum(row.output_tokens or 0 for row in rows) == sum(output or 0 for _, _, _, output, _ in turns)
            for currency in ("USD", "EUR"):
                spent = [cost[0] / 8 for *_, cost in turns if cost is not None and cost[1] == currency]
                costs = [row.costs[currency] for row in rows if currency in row.costs]
                assert (sum(costs), bool(costs)) == (sum(spent), bool(spent))


def test_usage_rows_can_be_filtered(tmp_path: Path) -> None:
    """By agent, workspace, session and time; latest first; without a deleted session."""
    turns = [(0, 1, 10, 1, (8, "USD")), (0, 2, 20, None, None), (1, 3, None, None, None), (2, 4, 40, 4, (16, "EUR"))]
    store = written(tmp_path, turns)
    assert [(row.name, row.input_tokens, row.costs) for row in store.usage("session", 100)] == [
        ("T2", 40, {"EUR": 2.0}),
        ("T1", None, {}),
        ("T0", 30, {"USD": 1.0}),
    ]
    assert [row.name for row in store.usage("session", 100, agent="eliza")] == ["T2", "T0"]
    assert [row.name for row in store.usage("folder", 100, cwd="/w1")] == ["/w1"]
    assert [row.name for row in store.usage("turn", 100, uri="eliza:/0")] == ["p1", "p0"]
    assert [row.input_tokens for row in store.usage("turn", 100, since=2 * DAY, until=4 * DAY)] == [None, 20]
    assert [row.name for row in store.usage("turn", 1)] == ["p0"]
    assert store.forget("eliza:/0")
    assert [row.name for row in store.usage("session", 100)] == ["T2", "T1"]
