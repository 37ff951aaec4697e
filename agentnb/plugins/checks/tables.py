"""Tables and columns of any library as the checks read them.

None of the user's code runs: values of other types than Python's own and NumPy's are neither compared nor hashed.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Rows: TypeAlias = "NDArray[Any] | slice"

Kind = Literal["integer", "number", "bool", "time", "duration", "text", "mixed", "other"]

SAMPLE = 60_000
"""Rows up to which a column of numbers or times is read in full; of a larger one, about half as many, evenly spaced."""
TEXT_SAMPLE = 20_000
"""Like :data:`SAMPLE`, for columns of text."""
MOST_PARTS = 4
"""Selections of a column's rows that are held."""
MOST_COLUMNS = 200
"""The most columns of one table that are read; evenly spaced ones if there are more."""
MOST_LEVELS = 3
"""Levels of an index that are read."""
_HEAD = 1_000
_NUMBERS = (int, float, complex, decimal.Decimal)
_TIMES = (dt.date, dt.datetime)
MICROSECONDS = "datetime64[us]"
NO_TIME = -(2**63)
"""A missing time, in µs: the smallest integer."""


class Column:
    """One column of a table."""

    def __init__(self, series: Any, rows: int) -> None:
        self.rows = rows
        self._series = series
        self._dtype = series.dtype
        self._parts: dict[object, tuple[Rows, Any]] = {}

    @property
    def dtype(self) -> str:
        """Returns the library's own name of the column's type."""
        return str(getattr(self._series.to_native(), "dtype", self._dtype))

    @functools.cached_property
    def kind(self) -> Kind:
        """Returns the kind of the column's values; a column of objects is judged by its first values."""
        dtype = self._dtype
        name = str(dtype)
        if dtype.is_integer():
            return "integer"
        if dtype.is_numeric():
            return "number"
        if name == "Boolean":
            return "bool"
        if name.startswith(("Datetime", "Date")):
            return "time"
        if name.startswith("Duration"):
            return "duration"
        if name == "String" or name.startswith(("Categorical", "Enum")):
            return "text"
        return kind_of_objects(self.objects(slice(0, min(self.rows, TEXT_SAMPLE))))

    @property
    def is_objects(self) -> bool:
        """True if each value is a Python object."""
        return str(self._dtype) in {"Object", "Unknown"}

    @functools.cached_property
    def null_count(self) -> int:
        """Returns how many values are missing (NaN too); estimated if the table is large."""
        if self.kind == "number" or self.is_objects:
            missing = self.nulls(every(self.rows, SAMPLE if self.is_objects else 10 * SAMPLE))
            return round(int(missing.sum()) * (self.rows / max(1, len(missing))))
        return int(self._series.null_count())

    def nulls(self, rows: Rows) -> Array:
        import numpy as np

        part = self._part(rows)
        if self.kind == "number" and not self.is_objects:
            return np.isnan(_floats(part))
        return np.asarray(part.is_null().to_numpy(), dtype=bool)

    def numbers(self, rows: Rows) -> Array:
        """Returns numbers, booleans and durations as floats; missing ones are NaN."""
        return _floats(self._part(rows), objects=self.is_objects, is_duration=self.kind == "duration")

    def integers(self, rows: Rows) -> Array | None:
        """Returns whole numbers exactly; None if some are missing."""
        import numpy as np

        part = self._part(rows)
        if part.null_count():
            return None
        values = np.asarray(part.to_numpy())
        return values if values.dtype.kind in "iub" else None

    def times(self, rows: Rows, *, utc: bool = False) -> Array:
        """Returns times in µs since 1970, by their own clock or in UTC; missing ones are the smallest integer."""
        import numpy as np

        if self.is_objects:
            return _microseconds(np.array([_naive(each) for each in self.objects(rows)], dtype=MICROSECONDS))
        part = self._part(rows)
        if getattr(self._dtype, "time_zone", None):
            part = (part.dt.convert_time_zone("UTC") if utc else part).dt.replace_time_zone(None)
        return _microseconds(np.asarray(part.to_numpy()))

    @property
    def has_zone(self) -> bool:
        """True if its times have a time zone."""
        return bool(getattr(self._dtype, "time_zone", None))

    def texts(self, rows: Rows) -> list[str | None]:
        """Returns the texts; None for a value that is missing or not a text."""
        return [each if isinstance(each, str) else None for each in self.objects(rows)]

    def keys(self, rows: Rows) -> Array | None:
        """Returns a number per value, equal for equal values, 0 for missing ones; None if that cannot be known."""
        import numpy as np

        if self.kind in {"integer", "bool"} and (whole := self.integers(rows)) is not None:
            return _mixed(whole.astype("int64"))
        if self.kind in {"integer", "number", "bool", "duration"}:
            values = self.numbers(rows)
            with np.errstate(invalid="ignore"):
                whole = np.where(np.isfinite(values) & (np.abs(values) < 2**62), values, 0).astype("int64")
            coded = np.where(whole == values, whole, (values + 0.0).view("int64"))
            return np.where(np.isnan(values), 0, _mixed(coded))
        if self.kind == "time":
            values = self.times(rows, utc=True)
            return np.where(values == NO_TIME, 0, _mixed(values))
        if self.kind == "text":
            objects = self.objects(rows)
            kinds = {*map(type, objects)}
            if not kinds <= {str, type(None), float}:
                return None
            texts = objects if kinds == {str} else [each if each.__class__ is str else "" for each in objects]
            coded = np.fromiter(map(hash, texts), "int64", len(texts))  # the hash of an empty text is 0
            return np.where(coded == 0, 0, _mixed(coded))
        return None

    def rough(self) -> Array | None:
        """Returns a number below 2^20 per value, equal for equal values; quick for many rows. None for texts."""
        import numpy as np

        if self.kind not in {"integer", "number", "time"} or self.is_objects:
            return None
        values = self.times(slice(0, self.rows)) if self.kind == "time" else np.asarray(self._whole())
        if values.dtype.itemsize != 8 or values.dtype.kind not in "iuf":  # noqa: PLR2004 - bytes
            return None
        with np.errstate(over="ignore"):
            codes: Array = (values.view("uint64") * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(44)
        return codes

    def _whole(self) -> Any:
        return self._series.to_numpy()

    def _part(self, rows: Rows) -> Any:
        """Returns the values of some rows; cached, since several checks read the same ones one after another."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.rows)
            whole = (start, stop, step) == (0, self.rows, 1)
            return self._series if whole else self._series[start:stop].gather_every(step)
        key = rows.__array_interface__["data"][0], rows.strides, len(rows)
        if key not in self._parts:
            if len(self._parts) == MOST_PARTS:
                del self._parts[next(iter(self._parts))]
            self._parts[key] = rows, self._series[rows]  # the key contains an address: keeping the rows keeps it unique
        return self._parts[key][1]

    def objects(self, rows: Rows) -> list[Any]:
        """Returns the values as Python objects."""
        values: list[Any] = self._part(rows).to_list()
        return values


class ReadTable:
    """A table of any library, in the form that the checks read.

    Attributes:
        name: Its name.
        rows: How many rows it has.
        columns: The columns that are read, by name.
        width: How many columns it has.
        index: Its index, a column for each level; empty if it only counts the rows.
        library: ``pandas``, ``polars``, ``numpy`` …
        native: The library's own object.
    """

    def __init__(
        self,
        name: str,
        rows: int,
        columns: Mapping[str, Column],
        width: int,
        *,
        native: Any,
        library: str,
        index: Mapping[str, Column] | None = None,
    ) -> None:
        self.name = name
        self.rows = rows
        self.columns: dict[str, Column] = dict(columns)
        self.width = width
        self.native = native
        self.library = library
        self.index: dict[str, Column] = dict(index or {})
        self._unique: dict[str, bool] = {}

    @property
    def is_large(self) -> bool:
        """True if only a part of its rows is read."""
        return self.rows > SAMPLE

    @functools.cached_property
    def everything(self) -> dict[str, Column]:
        """Returns the levels of its index and its columns, by name."""
        return {**self.index, **self.columns}

    def is_unique(self, name: str) -> bool:
        """True if no value of a column occurs twice and none is missing, as far as it is read."""
        if name not in self._unique:
            column = self.everything[name]
            head = column.keys(slice(0, min(self.rows, 2_000)))
            known = head is not None and head.all() and distinct_count(head) == len(head)
            keys = column.keys(self.exact_rows(column)) if known else None
            self._unique[name] = keys is not None and bool(keys.all()) and distinct_count(keys) == len(keys)
        return self._unique[name]

    def exact_rows(self, column: Column) -> slice:
        """The first rows of a column, as many as can be read one by one."""
        return slice(0, min(self.rows, TEXT_SAMPLE if column.kind == "text" else SAMPLE))

    def pandas_index(self) -> Any:
        """Returns the index of a pandas table; None if there is none."""
        return getattr(self.native, "index", None) if self.library == "pandas" else None


def every(rows: int, most: int = SAMPLE) -> slice:
    """Returns all of at most *most* rows, else about half of *most*, evenly spaced."""
    return slice(0, rows, 1 if rows <= most else -(-2 * rows // most))


def rows_for(table: ReadTable, names: Iterable[str]) -> slice:
    """Returns evenly spaced rows of *table*, as many as can be read of these columns."""
    is_text = any(table.everything[each].kind == "text" for each in names)
    return every(table.rows, TEXT_SAMPLE if is_text else SAMPLE)


def may_be_among(values: Array, wanted: Array) -> Array:
    """Returns which of many keys may be among a few wanted ones: all that are, and hardly any other."""
    import numpy as np

    bits = np.uint64((1 << 20) - 1)
    known = np.zeros(1 << 20, dtype=bool)
    known[wanted & bits] = True
    matches: Array = known[values & bits]
    return matches


def distinct_count(values: Array) -> int:
    """Returns the number of distinct values; sorting them is quicker than NumPy's ``unique``."""
    import numpy as np

    ordered = np.sort(values)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))


def combined(keys: Iterable[Array]) -> Array | None:
    """Combine several keys of each row into one number."""
    result: Array | None = None
    for each in keys:
        result = each if result is None else _mixed(result * 31 + each)
    return result


def kind_of_objects(values: list[Any]) -> Kind:
    kinds = {*map(type, values)} - {type(None)}
    if float in kinds and any(each.__class__ is float and each == each for each in values) is False:  # noqa: PLR0124
        kinds.discard(float)  # only NaN: a missing value
    kinds = {each for each in kinds if each.__name__ not in {"NAType", "NaTType"}}
    if kinds <= {str}:
        return "text"
    if kinds <= {bool}:
        return "bool"
    if all(_is_number_class(each) for each in kinds):
        return "number"
    if all(issubclass(each, _TIMES) for each in kinds):
        return "time"
    return "mixed" if all(each is str or _is_number_class(each) for each in kinds) else "other"


def _is_number_class(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return kind in _NUMBERS or kind is bool or (numpy is not None and issubclass(kind, numpy.number))


def is_missing(value: Any) -> bool:
    """True if *value* represents a missing value."""
    is_nan = value.__class__ is float and value != value  # noqa: PLR0124
    return value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}


def number_of(value: Any) -> float:
    return float(value) if _is_number_class(type(value)) else float("nan")


def _naive(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None) if type(value).__name__ != "NaTType" else None
    return value if isinstance(value, dt.date) else None


def _floats(part: Any, *, objects: bool = False, is_duration: bool = False) -> Array:
    import narwhals.stable.v2 as nw
    import numpy as np

    if objects:
        return np.array([number_of(each) for each in part.to_list()], dtype=float)
    if is_duration:
        values = np.asarray(part.to_numpy()).astype("timedelta64[us]").astype("int64").astype(float)
        return np.where(values == float(NO_TIME), np.nan, values)
    values = np.asarray(part.to_numpy())
    if values.dtype.kind not in "iufb" or (values.dtype.kind != "f" and part.null_count()):
        values = np.asarray(part.cast(nw.Float64).to_numpy())
    return values.astype(float, copy=False)


def _microseconds(times: Array) -> Array:
    whole: Array = times.astype(MICROSECONDS).astype("int64")
    return whole


def _mixed(values: Array) -> Array:
    """Spread whole numbers over all 64 bits (splitmix64), never to 0."""
    import numpy as np

    with np.errstate(over="ignore"):
        mixed = values.astype("int64").view("uint64") + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: Array = np.maximum(mixed ^ (mixed >> np.uint64(31)), np.uint64(1))
    return spread
