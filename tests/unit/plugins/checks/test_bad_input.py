"""Tables that are hard to read: empty, wide, duplicate names, objects whose code must not run, changes meanwhile."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import polars as pl
import pytest

import agentnb
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.references import LIMIT
from agentnb.plugins.checks.steps import TurnTables
from tests.unit.api.conftest import PATIENCE

ROWS = 300


def kept(variables: dict[str, Any]) -> Callable[[Any], Any]:
    """Returns the variables' current state, as undo keeps it."""
    return Keeper(variables, LIMIT).keep(variables).as_it_was


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
def test_unusual_table_is_compared_or_skipped_without_errors(
    kind: str, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "agentnb.checks")
    table = TABLES[kind]()
    values: dict[str, Any] = {"t": table, "plain": pd.DataFrame({"a": range(9), "b": range(9)})}
    after = {"itself": TABLES[kind], "a filter": lambda: table[:2], "the others": lambda: values["plain"]}
    if kind == "array with no dimension" and other == "a filter":
        return  # it cannot be sliced
    changed = after[other]() if not (kind == "polars, lazy" and other == "a filter") else table
    checks = agentnb.compare(values, {**values, "t": changed})
    assert isinstance(checks, agentnb.DataChecks)
    assert caplog.records == []


class Hostile:
    """Fails when any of its methods is called."""

    def _fail(self, *_: object) -> NoReturn:
        raise AssertionError("the user's own code ran")

    __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __float__ = __repr__ = __str__ = _fail
    __hash__ = _fail
    __copy__ = __deepcopy__ = __reduce__ = __array__ = _fail


def array_of(columns: dict[Any, Any]) -> Any:
    """Returns an array of the objects; NumPy would call their methods."""
    made = np.empty(len(columns["a"]), dtype=object)
    for number, each in enumerate(columns["a"]):
        made[number] = each
    return made


@pytest.mark.parametrize("make", [pd.DataFrame, pd.Series, array_of])
def test_comparison_runs_no_code_of_user_classes(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "agentnb.checks")
    values = [Hostile() for _ in range(50)]
    columns: dict[Any, Any] = {"a": values} if make is not pd.Series else dict(enumerate(values))
    before = make(columns)
    tables = TurnTables()
    variables = {"x": before, "y": Hostile()}
    tables.begin(variables, kept(variables))
    after = before[:40] if make is not pd.DataFrame else before.assign(b=1)
    assert tables.end({"x": after, "y": Hostile()}, ["x", "y"]) == ()
    assert caplog.records == []


def test_table_changed_by_another_thread_causes_no_error() -> None:
    table = pd.DataFrame({"a": RANDOM.random(20_000), "b": range(20_000)})
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            with contextlib.suppress(Exception):  # pandas is not thread-safe
                table[f"c{number % 7}"] = number
                del table[f"c{number % 7}"]

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            tables = TurnTables()
            with contextlib.suppress(KeyError, RuntimeError):  # the copy may fail; the kernel then runs without checks
                tables.begin({"table": table}, kept({"table": table}))
            assert isinstance(tables.end({"table": table}, ["table"]), tuple)
    finally:
        over.set()
        thread.join()


class Lying:
    """Claims to equal everything and to be a data frame."""

    __class__ = pd.DataFrame

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Lying:
        raise AssertionError("the user's own code ran")

    __deepcopy__ = __reduce__ = __copy__  # type: ignore[assignment]


class Hanging:
    def _wait(self, *_: object) -> Any:
        threading.Event().wait(PATIENCE)
        raise AssertionError("the user's own code ran")

    __eq__ = __ne__ = __bool__ = __len__ = __iter__ = __float__ = __repr__ = __str__ = _wait
    __hash__ = _wait
    __copy__ = __deepcopy__ = __reduce__ = __array__ = _wait


def test_lying_and_hanging_objects_are_not_taken_for_tables() -> None:
    made = array_of({"a": [Hanging(), Lying(), 1]})
    variables = {"lying": Lying(), "hanging": Hanging(), "column": pd.DataFrame({"a": made}), "array": made}
    tables = TurnTables()
    tables.begin(variables, kept(variables))
    after = {**variables, "column": variables["column"].assign(b=2), "array": made[:2], "lying": Lying()}
    assert tables.end(after, ["lying", "column", "array"]) == ()


def test_changed_table_is_found_among_thousands_of_variables() -> None:
    variables: dict[str, Any] = {f"name_{number}": [number] for number in range(10_000)}
    variables |= {f"table_{number}": pd.DataFrame({"a": [number]}) for number in range(300)}
    variables["prices"] = pd.DataFrame({"price": RANDOM.random(500) * 9 + 1})
    tables = TurnTables()
    tables.begin(variables, kept({"prices": variables["prices"]}))
    variables["prices"]["price"] *= 100
    assert [each.text for each in tables.end(variables, ["prices"])] == ["values of `price` are 100× larger"]
    assert len(tables.end(variables, [])) == 1


def numbered(rows: int = 500) -> Any:
    """Row numbers and random values."""
    return np.column_stack([np.arange(rows), RANDOM.random(rows) + 1.0])


def larger(table: Any) -> None:
    table[:, 1] *= 100


def memory_map() -> Any:
    file = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - the map needs it
    made = np.memmap(file.name, dtype="f8", mode="w+", shape=(500, 2))
    made[:] = numbered()
    os.unlink(file.name)  # noqa: PTH108
    return made


IN_PLACE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "frame": (lambda: pd.DataFrame({"v": RANDOM.random(500) + 1}), lambda t: t.__setitem__("v", t["v"] * 100)),
    "series": (lambda: pd.Series(RANDOM.random(500) + 1), lambda t: t.__setitem__(slice(None), t * 100)),
    "polars": (
        lambda: pl.DataFrame({"k": range(500), "v": RANDOM.random(500) + 1}),
        lambda t: t.replace_column(1, t["v"] * 100),
    ),
    "array": (lambda: numbered().copy(), larger),
    "view": (lambda: numbered(1_000)[300:800], larger),
    "view of a view": (lambda: numbered(4_000)[8:3_008][::-2][100:600], larger),
    "view of columns": (lambda: np.asfortranarray(numbered().repeat(3, axis=1))[:, ::3], larger),
    "masked": (lambda: np.ma.masked_less(numbered(), 1.1), larger),
    "structured": (
        lambda: np.array([*zip(range(500), RANDOM.random(500) + 1.0, strict=True)], dtype=[("a", "i8"), ("b", "f8")]),
        lambda t: t["b"].__imul__(100),
    ),
    "in a file": (memory_map, larger),
}


@pytest.mark.parametrize("kind", IN_PLACE)
def test_table_changed_in_place_is_compared_with_its_undo_copy(kind: str) -> None:
    make, change = IN_PLACE[kind]
    table = make()
    tables = TurnTables()
    tables.begin({"t": table}, kept({"t": table}))
    change(table)
    texts = " ".join(each.text for each in tables.end({"t": table}, ["t"]))
    assert "100× larger" in texts, texts


def test_table_without_an_undo_copy_is_reported_as_not_compared() -> None:
    table, array = pd.DataFrame({"v": [1.0] * 9}), RANDOM.random(500)
    tables = TurnTables()
    tables.begin({"t": table, "a": array}, lambda value: None if value is table else value)
    table["v"] *= 100
    array *= 100
    checks = agentnb.DataChecks(tables.end({"t": table, "a": array}, ["t", "a"]))
    assert checks.lines == (
        "`t`: not compared: there was no room to keep its earlier state",
        "`a`: not compared: there was no room to keep its earlier state",
    )
    assert checks.ok


def test_array_too_large_to_copy_is_reported_as_not_compared() -> None:
    array = RANDOM.random(500_000)
    snapshot = Keeper({"a": array}, 1_000_000).keep(["a"])
    assert snapshot.lost == {"a": "it is too large"}
    tables = TurnTables()
    tables.begin({"a": array}, snapshot.as_it_was)
    array *= 100
    (check,) = tables.end({"a": array}, ["a"])
    assert (check.cause, check.table) == ("unread", "a")
