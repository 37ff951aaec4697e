"""The values of the user's objects, by their public interfaces: to compare them before and after."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from typing import Any


def value_of(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """Returns *value* as nested tuples of texts that are equal where the values are."""
    if id(value) in seen:
        return ("again", len(seen) - seen.index(id(value)))
    seen = (*seen, id(value))
    kind = type(value).__name__
    for library, read in _LIBRARIES.items():
        if library in sys.modules and (contents := read(value, seen)) is not None:
            return (kind, contents)
    contents = _built_in(value, kind, seen)
    return contents or (kind, _attributes(value, seen) or repr(value))


def _built_in(value: Any, kind: str, seen: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        factory = getattr(value, "default_factory", None)
        return (kind, str(factory), tuple((value_of(key, seen), value_of(each, seen)) for key, each in value.items()))
    if isinstance(value, (set, frozenset)):
        return (kind, tuple(sorted((value_of(each, seen) for each in value), key=repr)), _attributes(value, seen))
    if isinstance(value, (list, tuple, deque)):
        return (kind, tuple(value_of(each, seen) for each in value), _attributes(value, seen))
    return _special(value, kind, seen)


def _special(value: Any, kind: str, seen: tuple[int, ...]) -> Any:
    if hasattr(value, "__closure__"):
        cells = tuple(value_of(each.cell_contents, seen) for each in value.__closure__ or ())
        return (kind, cells, value_of(value.__dict__, seen), repr(value.__defaults__))
    if hasattr(value, "getvalue"):
        return (kind, value.getvalue(), value.tell())
    if isinstance(value, type):
        own = {name: each for name, each in vars(value).items() if not name.startswith("__") and not callable(each)}
        return (kind, value_of(own, seen))
    return None


def _attributes(value: Any, seen: tuple[int, ...]) -> Any:
    slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ()) if hasattr(value, name)]
    held = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots if name != "__dict__"}}
    return value_of(held, seen) if held else None


def _numpy(value: Any, seen: tuple[int, ...]) -> Any:
    numpy = sys.modules["numpy"]
    if isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
        return repr(value.bit_generator.state if hasattr(value, "bit_generator") else value.get_state())
    if not isinstance(value, numpy.ndarray):
        return None
    mask = repr(numpy.ma.getmaskarray(value).tolist()) if isinstance(value, numpy.ma.MaskedArray) else ""
    plain = value.view(numpy.ndarray)
    elements = value_of(plain.tolist(), seen) if plain.dtype.hasobject else repr(plain.tolist())
    return (str(value.dtype), value.shape, value.flags.writeable, elements, mask)


def _pandas(value: Any, seen: tuple[int, ...]) -> Any:
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.Index):
        return (str(value.dtype), repr(value.names), repr(value.tolist()))
    if isinstance(value, pandas.Series):
        return (
            *_pandas(value.index, seen),
            repr(value.name),
            str(value.dtype),
            value_of(value.tolist(), seen),
            repr(value.attrs),
        )
    if isinstance(value, pandas.DataFrame):
        columns = [_pandas(value.iloc[:, at], seen) for at in range(value.shape[1])]
        return (
            _pandas(value.index, seen),
            _pandas(value.columns, seen),
            tuple(columns),
            repr(value.attrs),
            repr(value.flags),
        )
    return None


def _polars(value: Any, _seen: tuple[int, ...]) -> Any:
    polars = sys.modules["polars"]
    if isinstance(value, polars.Series):
        return (value.name, str(value.dtype), repr(value.to_list()))
    return (repr(value.schema), repr(value.rows())) if isinstance(value, polars.DataFrame) else None


def _torch(value: Any, seen: tuple[int, ...]) -> Any:
    torch = sys.modules["torch"]
    if not isinstance(value, torch.Tensor):
        return None
    gradient = value_of(value.grad, seen) if value.is_leaf else None
    return (str(value.dtype), tuple(value.shape), value.requires_grad, repr(value.detach().tolist()), gradient)


def _xarray(value: Any, _seen: tuple[int, ...]) -> Any:
    xarray = sys.modules["xarray"]
    if not isinstance(value, (xarray.Dataset, xarray.DataArray)):
        return None
    held = value.variables if isinstance(value, xarray.Dataset) else {None: value, **value.coords}
    encodings = {name: each.encoding for name, each in held.items()}
    return (repr(value.to_dict()), repr([*value.indexes]), repr(encodings), str(value))


_LIBRARIES = {"numpy": _numpy, "pandas": _pandas, "polars": _polars, "torch": _torch, "xarray": _xarray}
