"""Lazy tables of Dask and polars: their checks compute nothing and say that rows were not counted."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
import pandas as pd
import polars as pl
import pytest

import agentnb
from tests.unit.plugins.checks.conftest import Run

PLAIN = pd.DataFrame({"id": range(100), "price": [1.5] * 100, "day": pd.date_range("2024", periods=100)})


@pytest.fixture
def computed() -> list[str]:
    """Returns the computed partitions."""
    return []


@pytest.fixture
def orders(computed: list[str]) -> Any:
    def part(frame: pd.DataFrame) -> pd.DataFrame:
        computed.append("a partition")
        return frame

    return dd.from_pandas(PLAIN, npartitions=4).map_partitions(part, meta=PLAIN.iloc[:0])


STEPS: dict[str, tuple[Any, str]] = {
    "a column becomes text": (
        lambda t: t.assign(price=t.price.astype(str)),
        "`price` became text; rows not counted: lazy",
    ),
    "a join": (
        lambda t: t.merge(dd.from_pandas(PLAIN[["id"]].assign(segment=1), npartitions=2), on="id"),
        "new: `segment`; the divisions are no longer known; rows not counted: lazy",
    ),
    "one partition": (lambda t: t.repartition(npartitions=1), "partitions 4 → 1; rows not counted: lazy"),
    "fewer columns": (lambda t: t[["id", "price"]], "gone: `day`; rows not counted: lazy"),
    "a filter": (lambda t: t[t.id > 3], "rows not counted: lazy"),
    "another index, whose divisions would have to be computed": (
        lambda t: t.set_index("price"),
        "gone: `price`; rows not counted: lazy",
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_dask_frame_is_compared_without_computing_it(step: str, orders: Any, computed: list[str]) -> None:
    change, text = STEPS[step]
    after = change(orders)
    checks = agentnb.compare({"orders": orders}, {"orders": after})
    assert str(checks) == f"`orders`: {text}"
    assert computed == []
    assert checks.ok is (checks[0].cause != "type")


def test_turn_that_changes_a_dask_frame_can_be_undone(
    run: Run, names: dict[str, Any], orders: Any, computed: list[str]
) -> None:
    """Uncounted rows are not a finding: a condition of no findings is met."""
    names["orders"] = orders
    turn = run("orders['double'] = orders['price'] * 2")
    assert str(turn.data_checks) == "`orders`: new: `double`; rows not counted: lazy"
    assert turn.data_checks.ok
    turn.undo()
    assert [*orders.columns] == ["id", "price", "day"]
    turn.redo()
    assert [*orders.columns] == ["id", "price", "day", "double"]
    assert computed == []


def test_lazy_polars_frame_is_compared_by_its_schema() -> None:
    ran: list[int] = []

    def loud(frame: pl.DataFrame) -> pl.DataFrame:
        ran.append(len(frame))
        return frame

    before = pl.DataFrame({"id": [1, 2], "price": [1.5, 2.5]}).lazy().map_batches(loud)
    as_text = before.with_columns(pl.col("price").cast(pl.String)).drop("id")
    assert str(agentnb.compare(before, as_text)) == "`table`: `price` became text; gone: `id`; rows not counted: lazy"
    assert str(agentnb.compare(before, before.filter(pl.col("id") > 1))) == "`table`: rows not counted: lazy"
    assert str(agentnb.compare(before, pl.LazyFrame({"x": [1]}).select(pl.col("missing")))) == (
        "`table`: rows not counted: lazy"
    )
    assert ran == []


def test_table_that_becomes_lazy_is_compared_by_its_columns() -> None:
    after = {"orders": dd.from_pandas(PLAIN.drop(columns="day"), npartitions=2), "new": pl.LazyFrame({"a": [1]})}
    assert str(agentnb.compare({"orders": PLAIN}, after)) == "`orders`: gone: `day`; rows not counted: lazy"
