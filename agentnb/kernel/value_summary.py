"""One line on an object, for lists of changed variables, and what two such lines differ in."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from agentnb.credentials import is_secret_name
from agentnb.kernel.value_fingerprint import base_class

MOST_COLUMNS = 1_000
"""Columns of a data frame whose names and types are compared."""
MOST_NAMED = 5
"""Columns that a sentence names."""
LONGEST_NUMBER = 24
_SHAPED = (
    ("numpy", "ndarray"),
    ("pandas", "DataFrame"),
    ("pandas", "Series"),
    ("pandas", "Index"),
    ("polars", "DataFrame"),
)


class ValueSummary(msgspec.Struct, frozen=True):
    """A short description of an object."""

    text: str
    columns: tuple[tuple[str, str], ...] = ()


def summarize_value(value: Any, name: str) -> ValueSummary:
    """A line on *value*; none of the user's code runs for it."""
    kind = type(value)
    try:
        return _summary(value, kind, name)
    except Exception:  # noqa: BLE001 - of a broken object only the class is named
        return ValueSummary(kind.__name__)


def difference(before: ValueSummary, after: ValueSummary) -> str:
    """What became of an object, in a line."""
    both = before.text if before.text == after.text else f"{before.text} → {after.text}"
    if not before.columns or not after.columns:
        return both
    old, new = dict(before.columns), dict(after.columns)
    typed = [f"{name!r} {old[name]} → {new[name]}" for name in new if name in old and old[name] != new[name]]
    pieces = [
        _columns("added", [repr(name) for name in new if name not in old]),
        _columns("removed", [repr(name) for name in old if name not in new]),
        _columns("of another type", typed),
    ]
    return "; ".join([both, *filter(None, pieces)])


def _summary(value: Any, kind: type, name: str) -> ValueSummary:
    if kind in (bool, int, float) and not is_secret_name(name):
        text = repr(value)
        return ValueSummary(text if len(text) <= LONGEST_NUMBER else kind.__name__)
    for base, one, many in _COUNTED:
        if issubclass(kind, base):
            count = base.__len__(value)
            return ValueSummary(f"{kind.__name__}, {count:,} {one if count == 1 else many}")
    for module, named in _SHAPED:
        base = base_class(module, named)
        if base is not None and issubclass(kind, base):
            return _shaped(value, kind)
    tensor = base_class("torch", "Tensor")
    return _tensor(value, kind) if tensor is not None and issubclass(kind, tensor) else ValueSummary(kind.__name__)


_COUNTED: tuple[tuple[Any, str, str], ...] = (
    (str, "character", "characters"),
    (bytes, "byte", "bytes"),
    (bytearray, "byte", "bytes"),
    *((base, "item", "items") for base in (list, tuple, dict, set, frozenset)),
)


def _shaped(value: Any, kind: type) -> ValueSummary:
    shape = f"{kind.__name__} {tuple(map(int, value.shape))}"
    columns, dtypes = getattr(value, "columns", None), getattr(value, "dtypes", None)
    if columns is None or dtypes is None:
        return ValueSummary(f"{shape} {value.dtype}")
    if len(columns) > MOST_COLUMNS:
        return ValueSummary(shape)
    return ValueSummary(shape, tuple((str(name), str(dtype)) for name, dtype in zip(columns, dtypes, strict=False)))


def _tensor(value: Any, kind: type) -> ValueSummary:
    with sys.modules["torch"]._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - runs no __torch_function__
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        gradient = ", with gradient" if value.requires_grad else ""
        return ValueSummary(f"{kind.__name__} {tuple(map(int, value.shape))} {value.dtype}{place}{gradient}")


def _columns(what: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{'column' if len(names) == 1 else 'columns'} {what}: {', '.join(names[:MOST_NAMED])}{more}"
