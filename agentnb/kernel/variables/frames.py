"""The state of data frames and series: pandas and polars share their columns with it until one is written."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.arrays import same_elements
from agentnb.kernel.variables.kinds import is_same
from agentnb.kernel.variables.states import AttributesState, State, attributes_of, same_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_COMPARED = 64_000_000
"""Bytes of columns that are compared when their memory moved; larger ones count as changed."""
_OF_PANDAS = frozenset({"_mgr", "_item_cache", "_cache", "_cacher", "_is_copy", "_flags"})


class PandasState(State):
    """The columns, labels and attributes of a data frame or series."""

    def __init__(self, value: Any) -> None:
        attributes = attributes_of(value) or {}
        self._manager = attributes["_mgr"].copy(deep=False)
        self._axes = [*attributes["_mgr"].axes]
        self._names = _names(attributes["_mgr"])
        self._attributes = {name: each for name, each in attributes.items() if name not in _OF_PANDAS}

    def matches(self, value: Any) -> bool:
        attributes = attributes_of(value) or {}
        own = {name: each for name, each in attributes.items() if name not in _OF_PANDAS}
        same = own.keys() == self._attributes.keys() and all(is_same(own[name], self._attributes[name]) for name in own)
        return same and self._same_columns(attributes["_mgr"])

    def _same_columns(self, manager: Any) -> bool:
        if manager.shape != self._manager.shape or not same_items(_names(manager), self._names):
            return False
        if not all(_same_labels(one, other) for one, other in zip(self._manager.axes, manager.axes, strict=True)):
            return False
        ours, theirs = self._manager.blocks, manager.blocks
        if len(ours) == len(theirs) and all(map(_same_block, ours, theirs)):
            return True
        # pandas sometimes joins columns of one type: that is not a change.
        if sum(each.values.nbytes for each in ours) > MOST_COMPARED:
            return False
        return all(
            _same_column(_column(self._manager, at), _column(manager, at)) for at in range(self._manager.shape[0])
        )

    def restore(self, value: Any) -> None:
        attributes = attributes_of(value)
        if attributes is None:
            return
        own = {name: attributes[name] for name in ("_flags",) if name in attributes}  # they refer to the object
        own |= {"_item_cache": {}} if "_item_cache" in attributes else {}  # before pandas 3
        dict.clear(attributes)
        dict.update(attributes, self._attributes, _mgr=self._manager.copy(deep=False), **own)

    def as_it_was(self, _value: Any, of: Callable[[Any], Any]) -> Any:
        pandas = sys.modules["pandas"]
        made = pandas.DataFrame() if self._manager.ndim > 1 else pandas.Series(dtype=object)
        self.restore(made)
        if not copies_on_write():
            blocks = [each.make_block_same_class(_as_they_were(each.values, of)) for each in made._mgr.blocks]  # noqa: SLF001
            made._mgr.blocks = tuple(blocks)  # noqa: SLF001
        return made

    def children(self) -> Iterable[Any]:
        yield from self._attributes.values()
        yield from self._axes

    def blocks(self) -> Iterable[Any]:
        return [each.values for each in self._manager.blocks]

    def held_beside(self, value: Any) -> int:
        manager = (attributes_of(value) or {})["_mgr"]
        shared = {_address(each.values) for each in manager.blocks}
        return sum(int(each.values.nbytes) for each in self._manager.blocks if _address(each.values) not in shared)


def copies_on_write() -> bool:
    """True if a shallow copy of a frame stays unchanged when the frame is written to."""
    pandas = sys.modules["pandas"]
    if int(pandas.__version__.partition(".")[0]) >= 3:  # noqa: PLR2004 - from there on always
        return True
    try:
        return pandas.options.mode.copy_on_write is True
    except AttributeError:
        return False


def pandas_size(value: Any) -> int:
    """The size of the columns in bytes, without the objects that they refer to."""
    return sum(int(each.values.nbytes) for each in (attributes_of(value) or {})["_mgr"].blocks)


def extension_state(value: Any) -> State | list[Any]:
    """The state of a column that is no plain array: its attributes, or the array that has its elements."""
    array = getattr(value, "_ndarray", None)
    return AttributesState(value) if array is None else [array]


def _as_they_were(values: Any, of: Callable[[Any], Any]) -> Any:
    """The elements of a block as they were, where the frame shares them."""
    array = getattr(values, "_ndarray", None)
    return of(values) if array is None else values._from_backing_data(of(array))  # noqa: SLF001


class LabelsState(State):
    """The names of an index; its labels never change."""

    _FIELDS = ("_name", "_names")

    def __init__(self, value: Any) -> None:
        self._kept = self._read(value)

    def _read(self, value: Any) -> dict[str, Any]:
        held = attributes_of(value) or {}
        return {field: [*held[field]] if field == "_names" else held[field] for field in self._FIELDS if field in held}

    def matches(self, value: Any) -> bool:
        return same_items(_flat(self._kept), _flat(self._read(value)))

    def restore(self, value: Any) -> None:
        attributes = attributes_of(value) or {}
        for field, kept in self._kept.items():
            attributes[field] = [*kept] if field == "_names" else kept


def _flat(kept: dict[str, Any]) -> list[Any]:
    return [each for field, kept_value in kept.items() for each in (kept_value if field == "_names" else (kept_value,))]


def _names(manager: Any) -> list[Any]:
    return [name for axis in manager.axes for name in _flat(LabelsState(axis)._kept)]  # noqa: SLF001


def _same_labels(one: Any, other: Any) -> bool:
    return bool(one.is_(other) or (one.dtype == other.dtype and one.equals(other)))


def _same_block(one: Any, other: Any) -> bool:
    places = one.mgr_locs is other.mgr_locs or [*one.mgr_locs] == [*other.mgr_locs]
    return places and _address(one.values) == _address(other.values)


def _address(values: Any) -> tuple[object, ...]:
    """The memory address of a block's elements; an extension array is identified by the arrays it consists of."""
    numpy = sys.modules["numpy"]
    if isinstance(values, numpy.ndarray):
        return values.__array_interface__["data"][0], values.shape, values.strides, values.dtype
    parts = [getattr(values, name, None) for name in ("_ndarray", "_data", "_mask", "_pa_array")]
    known = [_address(part) if isinstance(part, numpy.ndarray) else id(part) for part in parts if part is not None]
    return (*known, str(values.dtype)) if known else (id(values),)


def _column(manager: Any, at: int) -> Any:
    return manager.iget_values(at) if manager.ndim > 1 else manager.blocks[0].values


def _same_column(one: Any, other: Any) -> bool:
    if _address(one) == _address(other):
        return True
    if type(one) is not type(other) or one.dtype != other.dtype:
        return False
    if isinstance(one, sys.modules["numpy"].ndarray):
        return one.shape == other.shape and same_elements(one, other)
    return bool(one.equals(other))


class PolarsState(State):
    """The columns of a data frame or series of polars, shared with it."""

    def __init__(self, value: Any) -> None:
        self._field = "_df" if hasattr(value, "_df") else "_s"
        self._kept = getattr(value, self._field).clone()

    def matches(self, value: Any) -> bool:
        ours, theirs = self._columns(self._kept), self._columns(getattr(value, self._field))
        return len(ours) == len(theirs) and all(map(_same_series, ours, theirs))

    def _made(self, held: Any) -> Any:
        polars = sys.modules["polars"]
        if self._field == "_s":
            return polars.Series._from_pyseries(held)  # noqa: SLF001
        return polars.DataFrame._from_pydf(held)  # noqa: SLF001

    def _columns(self, held: Any) -> list[Any]:
        made = self._made(held)
        return [made] if self._field == "_s" else [*made.get_columns()]

    def restore(self, value: Any) -> None:
        setattr(value, self._field, self._kept.clone())

    def as_it_was(self, _value: Any, _of: Callable[[Any], Any]) -> Any:
        return self._made(self._kept.clone())

    def held_beside(self, value: Any) -> int:
        theirs = self._columns(getattr(value, self._field))
        beside = [
            each
            for each in self._columns(self._kept)
            if not any(each.name == other.name and _same_series(each, other) for other in theirs)
        ]
        return sum(int(each.estimated_size()) for each in beside)


def _same_series(one: Any, other: Any) -> bool:
    if one.name != other.name or one.dtype != other.dtype or len(one) != len(other):
        return False
    ours, theirs = _buffers(one), _buffers(other)
    if ours is not None and ours == theirs:
        return True
    step = 1 + int(one.estimated_size()) // MOST_COMPARED
    return bool(one.gather_every(step).equals(other.gather_every(step), check_names=False, null_equal=True))


def _buffers(series: Any) -> list[int] | None:
    """The addresses of a column's elements; None if polars does not report them."""
    with contextlib.suppress(Exception):  # fails for nulls, strings or several chunks
        return [series.to_physical().to_numpy(allow_copy=False).__array_interface__["data"][0]]
    if "pyarrow" not in sys.modules:
        return None
    try:
        array = series.to_arrow(compat_level=sys.modules["polars"].CompatLevel.newest())
        return [array.offset, *(buffer.address for buffer in array.buffers() if buffer is not None)]
    except Exception:  # noqa: BLE001 - Arrow has no such type
        return None
