"""Reads tables of any library in the same way: pandas, polars, Arrow by narwhals, arrays by NumPy.

It does not compute lazy tables. It imports nothing that the user has not imported, except narwhals and, in a forked
process, pyarrow.
"""

from __future__ import annotations

import functools
import sys
import warnings
import weakref
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.kinds import library_class
from agentnb.plugins.checks.tables import (
    MICROSECONDS,
    MOST_COLUMNS,
    MOST_LEVELS,
    SAMPLE,
    TEXT_SAMPLE,
    Column,
    ReadTable,
    every,
    is_missing,
    kind_of_objects,
    number_of,
)

if TYPE_CHECKING:
    from agentnb.plugins.checks.tables import Array, Kind, Rows


def of_array(value: Any, name: str) -> ReadTable:
    import numpy as np

    rows = len(value)
    if value.dtype.names:
        parts = {each: value[each] for each in value.dtype.names if value[each].ndim == 1}
    elif value.ndim == 1:
        parts = {"values": value}
    else:
        step = max(1, -(-value.shape[1] // MOST_COLUMNS))
        parts = {str(number): value[:, number] for number in range(0, value.shape[1], step)}
    mask = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else None
    columns: dict[str, Column] = {}
    for number, (each, part) in enumerate(parts.items()):
        plain = np.asarray(part)
        if mask is not None and mask.dtype.names is None and plain.dtype.kind in "iuf":
            plain = np.where(mask if mask.ndim == 1 else mask[:, number], np.nan, plain.astype(float))
        columns[each] = ArrayColumn(plain)
    width = len(value.dtype.names) if value.dtype.names else 1 if value.ndim == 1 else value.shape[1]
    return ReadTable(name, rows, columns, width, native=value, library="numpy")


class ArrayColumn(Column):
    def __init__(self, values: Array) -> None:
        self.rows: int = len(values)
        self._values = values

    @property
    def dtype(self) -> str:
        return str(self._values.dtype)

    @functools.cached_property
    def kind(self) -> Kind:
        kinds: dict[str, Kind] = {
            **dict.fromkeys("iu", "integer"),
            "f": "number",
            "b": "bool",
            "M": "time",
            "m": "duration",
            **dict.fromkeys("US", "text"),
        }
        known = kinds.get(self._values.dtype.kind)
        return kind_of_objects(self.objects(slice(0, TEXT_SAMPLE))) if known is None else known

    @property
    def is_objects(self) -> bool:
        return bool(self._values.dtype.kind == "O")

    @functools.cached_property
    def null_count(self) -> int:
        rows = every(self.rows, 10 * SAMPLE)
        missing = self.nulls(rows)
        return round(int(missing.sum()) * self.rows / max(1, len(missing)))

    def nulls(self, rows: Rows) -> Array:
        import numpy as np

        part = self._values[rows]
        if part.dtype.kind == "f":
            return np.isnan(part)
        if part.dtype.kind in "mM":
            return np.isnat(part)
        if part.dtype.kind == "O":
            return np.fromiter((is_missing(each) for each in part), bool, len(part))
        return np.zeros(len(part), dtype=bool)

    def numbers(self, rows: Rows) -> Array:
        import numpy as np

        part = self._values[rows]
        if part.dtype.kind == "O":
            return np.array([number_of(each) for each in part], dtype=float)
        return part.astype("int64").astype(float) if part.dtype.kind == "m" else part.astype(float)

    def integers(self, rows: Rows) -> Array | None:
        part = self._values[rows]
        return part if part.dtype.kind in "iub" else None

    def times(self, rows: Rows, *, utc: bool = False) -> Array:
        del utc
        part: Array = self._values[rows].astype(MICROSECONDS).astype("int64")
        return part

    @property
    def has_zone(self) -> bool:
        return False

    def _whole(self) -> Any:
        return self._values

    def objects(self, rows: Rows) -> list[Any]:
        values: list[Any] = self._values[rows].tolist()
        return values


_FRAMES = (
    *("pandas.DataFrame", "pandas.Series", "polars.DataFrame", "polars.Series", "pyarrow.Table"),
    *("modin.pandas.DataFrame", "modin.pandas.Series"),
)
_LAZY = ("polars.LazyFrame", "dask.dataframe.DataFrame")
_LIBRARIES: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def is_table(value: Any) -> bool:
    """True if *value* is a table or an array that can be compared; nothing is imported."""
    kind = type(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return value.ndim in {1, 2} and value.dtype.kind in "iufbMmUSVO" and not (value.ndim == 1 and len(value) == 0)
    return library_of(value) != ""


def is_lazy(value: Any) -> bool:
    """True if *value* is a table whose rows are computed only when they are asked for."""
    return library_class(type(value), _LAZY) is not None


def table_of(value: Any, name: str, *, is_fork: bool = False) -> ReadTable | None:
    """Returns *value* as a table; None if it is not one, or cannot be read."""
    if not is_table(value):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library = library_of(value)
            return of_array(value, name) if library == "" else _of_frame(value, name, library, is_fork=is_fork)
    except Exception:  # noqa: BLE001 - another thread writes to it, or it is of a kind that narwhals does not read
        return None


def library_of(value: Any) -> str:
    """Returns the library of a frame: ``pandas``, ``polars`` …; '' if *value* is not a frame."""
    kind = type(value)
    known = _LIBRARIES.get(kind)
    if known is None:
        known = _LIBRARIES[kind] = (library_class(kind, _FRAMES) or "").partition(".")[0]
    return known


def _of_frame(value: Any, name: str, library: str, *, is_fork: bool) -> ReadTable | None:
    import narwhals.stable.v2 as nw

    native = value
    if library == "pandas":
        native = _plain_pandas(value)
    elif library == "polars" and is_fork:
        native = _arrow_table(value, name)
    read = nw.from_native(native, allow_series=True)
    if isinstance(read, nw.Series):
        read = read.alias(str(read.name or name)).to_frame()
    width, rows = read.shape[1], read.shape[0]
    wanted = list(islice(read.columns, 0, None, max(1, -(-width // MOST_COLUMNS))))
    columns = {each: Column(read[each], rows) for each in wanted}
    index = _index_of(value, rows) if library == "pandas" else {}
    return ReadTable(name, rows, columns, width, native=value, library=library, index=index)


def _arrow_table(value: Any, name: str) -> Any:
    """Returns a polars frame or series as Arrow: polars' own calculations wait for threads that a fork lacks."""
    import pyarrow as pa

    columns = value.get_columns() if hasattr(value, "get_columns") else [value]
    return pa.table({each.name or name: each.to_arrow() for each in columns})


def _plain_pandas(value: Any) -> Any:
    """Returns *value* with its column names as unique texts."""
    if not hasattr(value, "columns"):
        return value
    names: list[str] = []
    seen: dict[str, int] = {}
    for each in value.columns:
        text = "_".join(map(str, each)) if isinstance(each, tuple) else str(each)
        seen[text] = seen.get(text, 0) + 1
        names.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    if names == [*value.columns]:
        return value
    shallow = value.copy(deep=False)
    shallow.columns = names
    return shallow


def _index_of(value: Any, rows: int) -> dict[str, Column]:
    import narwhals.stable.v2 as nw
    import pandas as pd

    index = value.index
    if isinstance(index, pd.RangeIndex) or index.nlevels > MOST_LEVELS:
        return {}
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    if index.nlevels == 1 and index.name is None and pd.api.types.is_integer_dtype(index.dtype):
        return {}  # row numbers after filtering
    taken = {str(each) for each in getattr(value, "columns", ())}
    names = [str(each.name) if each.name is not None else "index" for each in levels]
    return {
        each: Column(nw.from_native(level.to_series(), series_only=True), rows)
        for each, level in zip(names, levels, strict=True)
        if each not in taken
    }
