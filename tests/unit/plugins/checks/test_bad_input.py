"""Tables that are hard to read: empty, wide, duplicate names, objects whose code must not run, changes meanwhile."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
import polars as pl
import pytest

import agentnb
from tests.unit.api.conftest import KernelSettings
from tests.unit.plugins.checks.conftest import Run

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
    """Notes each call of its methods, which may hang or fail."""

    calls: ClassVar[list[str]] = []

    def _note(self, *_: object) -> NoReturn:
        self.calls.append("called")
        raise AssertionError("the user's own code ran")

    __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __float__ = __repr__ = __str__ = _note
    __hash__ = _note
    __copy__ = __deepcopy__ = __reduce__ = __array__ = _note


def array_of(columns: dict[Any, Any]) -> Any:
    """Returns an array of the objects; NumPy would call their methods."""
    made = np.empty(len(columns["a"]), dtype=object)
    for number, each in enumerate(columns["a"]):
        made[number] = each
    return made


class Lying(Hostile):
    """Claims to equal everything and to be a data frame."""

    __class__ = pd.DataFrame

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return True

    __hash__ = None  # type: ignore[assignment]


def test_comparison_runs_no_code_of_user_classes(
    run: Run, names: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Nor are objects that claim to be tables taken for some."""
    caplog.set_level("DEBUG", "agentnb")
    odd = array_of({"a": [Lying(), *(Hostile() for _ in range(50))]})
    names |= {"frame": pd.DataFrame({"a": odd}), "series": pd.Series(dict(enumerate(odd))), "array": odd}
    names |= {"lying": Lying(), "hostile": Hostile(), "Lying": Lying, "Hostile": Hostile}
    changes = ["frame = frame.assign(b=1)", "series = series[:40]", "array = array[:40]"]
    turn = run("\n".join([*changes, "lying = Lying()", "hostile = Hostile()"]))
    assert turn.text.strip() == "true"
    assert turn.data_checks == ()
    assert Hostile.calls == []
    assert [each for each in caplog.records if each.exc_info] == []


def test_table_changed_by_another_thread_causes_no_error(run: Run, names: dict[str, Any]) -> None:
    """Neither in a turn, which copies it, nor in a comparison."""
    names["table"] = table = pd.DataFrame({"a": RANDOM.random(20_000), "b": range(20_000)})
    before = table.copy(deep=True)
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
        assert [run("table['a'] = 0").state for _ in range(5)] == ["complete"] * 5
        for _ in range(20):
            assert isinstance(agentnb.compare({"table": before}, {"table": table}), agentnb.DataChecks)
    finally:
        over.set()
        thread.join()


def test_changed_table_is_found_among_thousands_of_variables(run: Run, names: dict[str, Any]) -> None:
    names |= {f"name_{number}": [number] for number in range(10_000)}
    names |= {f"table_{number}": pd.DataFrame({"a": [number]}) for number in range(300)}
    names["prices"] = pd.DataFrame({"price": RANDOM.random(500) * 9 + 1})
    assert str(run("prices['price'] *= 100").data_checks) == "`prices`: values of `price` are 100× larger"


def numbered(rows: int = 500) -> Any:
    """Row numbers and random values."""
    return np.column_stack([np.arange(rows), RANDOM.random(rows) + 1.0])


def memory_map() -> Any:
    file = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - the map needs it
    made = np.memmap(file.name, dtype="f8", mode="w+", shape=(500, 2))
    made[:] = numbered()
    os.unlink(file.name)  # noqa: PTH108
    return made


IN_PLACE: dict[str, tuple[Callable[[], Any], str]] = {
    "frame": (lambda: pd.DataFrame({"v": RANDOM.random(500) + 1}), "frame['v'] = frame['v'] * 100"),
    "series": (lambda: pd.Series(RANDOM.random(500) + 1), "series[:] = series * 100"),
    "of_polars": (
        lambda: pl.DataFrame({"k": range(500), "v": RANDOM.random(500) + 1}),
        "of_polars.replace_column(1, of_polars['v'] * 100)",
    ),
    "array": (lambda: numbered().copy(), "array[:, 1] *= 100"),
    "view": (lambda: numbered(1_000)[300:800], "view[:, 1] *= 100"),
    "view_of_a_view": (lambda: numbered(4_000)[8:3_008][::-2][100:600], "view_of_a_view[:, 1] *= 100"),
    "view_of_columns": (
        lambda: np.asfortranarray(numbered().repeat(3, axis=1))[:, ::3],
        "view_of_columns[:, 1] *= 100",
    ),
    "masked": (lambda: np.ma.masked_less(numbered(), 1.1), "masked[:, 1] *= 100"),
    "structured": (
        lambda: np.array([*zip(range(500), RANDOM.random(500) + 1.0, strict=True)], dtype=[("a", "i8"), ("b", "f8")]),
        "structured['b'] *= 100",
    ),
    "in_a_file": (memory_map, "in_a_file[:, 1] *= 100"),
}


def test_table_changed_in_place_is_compared_with_its_undo_copy(run: Run, names: dict[str, Any]) -> None:
    names |= {name: make() for name, (make, _) in IN_PLACE.items()}
    checks = run("\n".join(change for _, change in IN_PLACE.values())).data_checks
    assert sorted(each.table for each in checks if "100× larger" in each.text) == sorted(IN_PLACE)


def test_table_without_an_undo_copy_is_reported_as_not_compared(
    run: Run, names: dict[str, Any], kernel_settings: KernelSettings
) -> None:
    kernel_settings.choose("undo_memory", 1.0)
    names["large"] = RANDOM.random(500_000)
    checks = run("large *= 100").data_checks
    assert checks.lines == ("`large`: not compared: there was no room to keep its earlier state",)
    assert checks.ok
