"""Reads arrays of NumPy as tables: plain, masked and structured ones."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agentnb.plugins.checks.tables import (
    MICROSECONDS,
    MOST_COLUMNS,
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
        columns[each] = ArrayColumn(each, plain)
    width = len(value.dtype.names) if value.dtype.names else 1 if value.ndim == 1 else value.shape[1]
    return ReadTable(name, rows, columns, width, native=value, library="numpy")


class ArrayColumn(Column):
    """One column of an array."""

    def __init__(self, name: str, values: Array) -> None:
        self.name = name
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
        return kind_of_objects(self._objects(slice(0, TEXT_SAMPLE))) if known is None else known

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

    def _objects(self, rows: Rows) -> list[Any]:
        found: list[Any] = self._values[rows].tolist()
        return found
