"""Tables that are hard to read: empty, wide, names twice, objects whose code must not run, written meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import polars as pl
import pytest

import agentnb
from agentnb.plugins.checks.steps import TurnTables

ROWS = 300
RANDOM = np.random.default_rng(1)
TABLES: dict[str, Callable[[], Any]] = {
    "empty": pd.DataFrame,
    "no rows": lambda: pd.DataFrame({"a": [], "b": []}),
    "one row": lambda: pd.DataFrame({"a": [1]}),
    "no columns": lambda: pd.DataFrame(index=range(9)),
    "names twice": lambda: pd.DataFrame(RANDOM.random((9, 3)), columns=["a", "a", "b"]),
    "names that are tuples": lambda: pd.DataFrame(
        RANDOM.random((9, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    ),
    "names that are numbers": lambda: pd.DataFrame(RANDOM.random((9, 2))),
    "5,000 columns": lambda: pd.DataFrame(RANDOM.random((9, 5_000))),
    "nested": lambda: pd.DataFrame({"a": [[1, {"b": [2]}]] * 9, "c": [{"d": {1}}] * 9}),
    "of three levels": lambda: pd.DataFrame(
        {"v": range(8)}, index=pd.MultiIndex.from_product([[0, 1]] * 3, names=["a", "b", "c"])
    ),
    "only nulls": lambda: pd.DataFrame({"a": [None] * 9, "b": [float("nan")] * 9}),
    "masked array": lambda: np.ma.masked_greater(RANDOM.random((ROWS, 2)), 0.5),
    "structured array": lambda: np.array([(1, 2.0, "x")] * 9, dtype=[("a", "i4"), ("b", "f8"), ("c", "U3")]),
    "array of objects": lambda: np.array([object(), None, 3, "x"], dtype=object),
    "array of complex numbers": lambda: RANDOM.random(9) + 1j,
    "array of three dimensions": lambda: RANDOM.random((3, 3, 3)),
    "array with no dimension": lambda: np.array(3.0),
    "array of endless numbers": lambda: np.array([np.inf, -np.inf, np.nan] * 3),
    "nullable": lambda: pd.DataFrame(
        {"a": pd.array([1, None, 3], "Int64"), "b": pd.array([True, None, False], "boolean")}
    ),
    "periods": lambda: pd.DataFrame({"a": pd.period_range("2024-01", periods=9, freq="M")}),
    "sparse": lambda: pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1] * 3)}),
    "polars, nested": lambda: pl.DataFrame({"a": [[1, 2], [3]], "b": [{"c": 1}, {"c": 2}]}),
    "polars, empty": pl.DataFrame,
    "polars, lazy": lambda: pl.DataFrame({"a": [1]}).lazy(),
    "a series": lambda: pd.Series(range(9), name=("a", 1)),
}


@pytest.mark.parametrize("other", ["itself", "a filter", "the others"])
@pytest.mark.parametrize("kind", TABLES)
def test_table_that_is_hard_to_read_is_compared_or_left_alone(
    kind: str, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "agentnb.checks")
    table = TABLES[kind]()
    values: dict[str, Any] = {"t": table, "plain": pd.DataFrame({"a": range(9), "b": range(9)})}
    after = {"itself": TABLES[kind], "a filter": lambda: table[:2], "the others": lambda: values["plain"]}
    if kind == "array with no dimension" and other == "a filter":
        return  # it has no part
    changed = after[other]() if not (kind == "polars, lazy" and other == "a filter") else table
    checks = agentnb.compare(values, {**values, "t": changed})
    assert isinstance(checks, agentnb.DataChecks)
    assert caplog.records == []


class Hostile:
    """Must not be asked anything."""

    def _fail(self, *_: object) -> NoReturn:
        raise AssertionError("the user's own code ran")

    __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __float__ = __repr__ = __str__ = _fail
    __hash__ = _fail
    __copy__ = __deepcopy__ = __reduce__ = __array__ = _fail


def array_of(columns: dict[Any, Any]) -> Any:
    """An array of the objects; NumPy would ask them for theirs."""
    made = np.empty(50, dtype=object)
    for number, each in enumerate(columns["a"]):
        made[number] = each
    return made


@pytest.mark.parametrize("make", [pd.DataFrame, pd.Series, array_of])
def test_values_of_the_users_own_classes_run_none_of_their_code(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "agentnb.checks")
    values = [Hostile() for _ in range(50)]
    columns: dict[Any, Any] = {"a": values} if make is not pd.Series else dict(enumerate(values))
    before = make(columns)
    tables = TurnTables()
    tables.begin({"x": before, "y": Hostile()})
    after = before[:40] if make is not pd.DataFrame else before.assign(b=1)
    assert tables.end({"x": after, "y": Hostile()}, ["x", "y"]) == ()
    assert caplog.records == []


def test_table_to_which_another_thread_writes_is_compared_without_an_error() -> None:
    table = pd.DataFrame({"a": RANDOM.random(20_000), "b": range(20_000)})
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            with contextlib.suppress(Exception):  # pandas itself promises nothing here
                table[f"c{number % 7}"] = number
                del table[f"c{number % 7}"]

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            tables = TurnTables()
            with contextlib.suppress(KeyError, RuntimeError):  # the copy; the kernel goes on without checks then
                tables.begin({"table": table})
            assert isinstance(tables.end({"table": table}, ["table"]), tuple)
    finally:
        over.set()
        thread.join()
