"""Estimates how much memory an object holds, without running any of the user's code."""

from __future__ import annotations

import gc
import sys
import types
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.library_classes import library_class

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_OBJECTS = 2_000
"""Objects that are visited; of a large container a sample stands for all."""
SAMPLE = 200
_NOT_OWNED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
_WITH_SIZE = ("numpy.ndarray", "pyarrow.ChunkedArray", "pyarrow.Array")


def estimated_size(value: Any) -> int:
    """About how many bytes would be freed if *value* and all that only it refers to were gone.

    Objects that others refer to as well are counted, too. Modules, classes and functions are not.
    """
    seen: set[int] = set()
    left: list[tuple[Any, float]] = [(value, 1.0)]
    total = 0.0
    while left and len(seen) < MOST_OBJECTS:
        each, weight = left.pop()
        if id(each) in seen or issubclass(type(each), _NOT_OWNED):
            continue
        seen.add(id(each))
        try:
            total += weight * _own(each)
            inner, scale = _inner(each)
            left.extend((other, weight * scale) for other in inner)
        except Exception:  # noqa: BLE001, S112 - changed by another thread meanwhile: an estimate goes on without it
            continue
    return int(total)


def _own(value: Any) -> int:
    kind = type(value)
    if library_class(kind, _WITH_SIZE):
        return int(value.nbytes)
    if library_class(kind, ("torch.Tensor",)):
        return _of_tensor(value)
    sizer = getattr(kind, "__sizeof__", None)
    if not isinstance(sizer, types.MethodDescriptorType):  # a class's own, which is the user's code
        return object.__sizeof__(value)
    return int(sizer(value))


def _of_tensor(value: Any) -> int:
    torch = sys.modules["torch"]
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - runs no __torch_function__
        if value.device.type == "meta":  # has a shape and no data
            return 0
        if value.layout is torch.strided:
            return int(value.numel() * value.element_size())
        count = value._nnz()  # noqa: SLF001 - of a sparse tensor: a value and an index of 64 bits per dimension for each
        return int(count * (value.element_size() + 8 * value.dim()))


def _inner(value: Any) -> tuple[Iterable[Any], float]:
    """Some of the objects that *value* refers to, and how many times as many there are."""
    sequence: type[Any]
    for sequence in (list, tuple):
        if issubclass(type(value), sequence) and (count := sequence.__len__(value)) > SAMPLE:
            sample = sequence.__getitem__(value, slice(None, None, count // SAMPLE))
            return sample, count / len(sample)
    unordered: type[Any]
    for unordered, iterate in ((dict, dict.items), (set, set.__iter__), (frozenset, frozenset.__iter__)):
        if issubclass(type(value), unordered) and (count := unordered.__len__(value)) > SAMPLE:
            return list(islice(iterate(value), SAMPLE)), count / SAMPLE
    return gc.get_referents(value), 1.0
