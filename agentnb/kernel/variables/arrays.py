"""The state of arrays and tensors: their shape, and a copy of their memory as far as there is room for it."""

from __future__ import annotations

import hashlib
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.kinds import is_same, library_class
from agentnb.kernel.variables.states import (
    AttributesState,
    CannotRestore,
    CompoundState,
    State,
    attributes_of,
    same_items,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_READ = 4_000_000
"""Bytes that are read of an array that is not copied; of a larger one, evenly spaced elements are read."""
_SAMPLES = 20_000
_CHUNK = 16_000_000
_LAZY = "_fill_value"  # a masked array sets this attribute when it is displayed


class CopyMemory:
    """The memory that is left for copies."""

    def __init__(self, bytes_left: int) -> None:
        self.left: int = bytes_left

    def take(self, size: int) -> bool:
        """Reserve *size* bytes; False if there is no room for them."""
        if size > self.left:
            return False
        self.left -= size
        return True


class ArrayState(State):
    """The shape and the elements of an array; a view's memory is kept with its *owner*'s where that is given."""

    def __init__(self, value: Any, *, is_kept: bool, has_copy: bool, owner: Any = None) -> None:
        plain = plain_array(value)
        self._owner = owner
        self._layout = _layout(plain)
        self._is_writeable = plain.flags.writeable
        self._copy = plain.copy(order="K") if has_copy else None
        self._print = None if is_kept else _sample(plain)
        self.is_kept = is_kept
        self.size: int = 0 if self._copy is None else int(self._copy.nbytes)

    def matches(self, value: Any) -> bool:
        plain = plain_array(value)
        if _layout(plain) != self._layout or plain.flags.writeable is not self._is_writeable:
            return False
        if self._copy is not None:
            return same_elements(plain, self._copy)
        return self._print is None or self._print == _sample(plain)

    def restore(self, value: Any) -> None:
        plain = plain_array(value)
        if _layout(plain) != self._layout:
            _lay_out(value, self._layout)
            plain = plain_array(value)
        if self._copy is not None and not same_elements(plain, self._copy):
            plain.flags.writeable = True
            plain[...] = self._copy
        if value.flags.writeable is not self._is_writeable:
            value.flags.writeable = self._is_writeable

    def rebuilt(self) -> Any:
        if self._copy is None:
            raise CannotRestore
        return self._copy.copy(order="K")

    def as_it_was(self, _value: Any, of: Callable[[Any], Any]) -> Any:
        if self._copy is not None:
            return self._copy
        owner = None if self._owner is None else plain_array(self._owner)
        memory = None if owner is None else of(self._owner)
        if owner is None or memory is None or memory is self._owner or memory.strides != owner.strides:
            raise CannotRestore
        if owner.dtype.hasobject or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
            raise CannotRestore
        address, shape, strides, dtype = self._layout
        offset = address - owner.__array_interface__["data"][0]
        numpy = sys.modules["numpy"]
        return numpy.ndarray(shape, dtype, memory.ravel(order="K").view(numpy.uint8), offset, strides)

    def children(self) -> Iterable[Any]:
        if self._owner is not None:
            return (self._owner,)
        return _elements(self._copy) if self._copy is not None and self._copy.dtype.hasobject else ()


class ArrayMark(State):
    """The state of an array for comparing, not for restoring: it takes no memory."""

    def __init__(self, value: Any) -> None:
        plain = plain_array(value)
        self._layout = _layout(plain)
        self._print: Any = _elements(plain) if plain.dtype.hasobject else _digest(plain)

    def matches(self, value: Any) -> bool:
        plain = plain_array(value)
        if _layout(plain) != self._layout:
            return False
        if plain.dtype.hasobject:
            return same_items(self._print, _elements(plain))
        return bool(self._print == _digest(plain))


class SubclassAttributes(AttributesState):
    """The attributes that a subclass gives an array: the mask of a masked array."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._slots = []
        self.mask: Any = (self._attributes or {}).get("_mask")

    def matches(self, value: Any) -> bool:
        now = attributes_of(value) or {}
        return all(is_same(now.get(name), kept) for name, kept in (self._attributes or {}).items() if name != _LAZY)


class SubclassState(CompoundState):
    """An array with what its class adds."""

    def __init__(self, array: State, attributes: SubclassAttributes) -> None:
        super().__init__(array, attributes)
        self._array = array
        self._mask = attributes.mask

    def as_it_was(self, value: Any, of: Callable[[Any], Any]) -> Any:
        plain = self._array.as_it_was(value, of)
        return plain if self._mask is None else sys.modules["numpy"].ma.MaskedArray(plain, mask=of(self._mask))


def plain_array(value: Any) -> Any:
    """*value* as a plain array, without what its class adds."""
    numpy = sys.modules["numpy"]
    return numpy.ndarray.view(value, numpy.ndarray)


def owner_of(plain: Any) -> Any:
    """The array that owns a view's memory; the view itself if no array does."""
    numpy = sys.modules["numpy"]
    while isinstance(plain.base, numpy.ndarray):
        plain = plain.base
    return plain


def same_elements(one: Any, other: Any) -> bool:
    """True if both arrays, of one shape and type, have the same bytes, or the same objects."""
    if one.dtype.hasobject:
        return same_items(_elements(one), _elements(other))
    if one.dtype.kind == "T":  # strings of variable length: their bytes are addresses
        return [*map(repr, _elements(one))] == [*map(repr, _elements(other))]
    left, right = _bytes_of(one), _bytes_of(other)
    return all((left[at : at + _CHUNK] == right[at : at + _CHUNK]).all() for at in range(0, left.size, _CHUNK))


def _layout(plain: Any) -> tuple[Any, ...]:
    return plain.__array_interface__["data"][0], plain.shape, plain.strides, plain.dtype


def _lay_out(value: Any, layout: tuple[Any, ...]) -> None:
    """Restore an array's former shape and type, if it still has its memory."""
    numpy = sys.modules["numpy"]
    address, shape, strides, dtype = layout
    plain = plain_array(value)
    if plain.__array_interface__["data"][0] != address or plain.nbytes != math.prod(shape) * dtype.itemsize:
        raise CannotRestore
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if plain.dtype != dtype:
                numpy.ndarray.dtype.__set__(value, dtype)
            numpy.ndarray.shape.__set__(value, shape)
            if value.strides != strides:
                numpy.ndarray.strides.__set__(value, strides)
        except (AttributeError, ValueError, TypeError) as error:
            raise CannotRestore from error


def _elements(plain: Any) -> list[Any]:
    elements: list[Any] = plain.reshape(-1).tolist()
    return elements


def _bytes_of(plain: Any) -> Any:
    """The memory as one row of numbers; copied only where it has gaps."""
    numpy = sys.modules["numpy"]
    # In memory order, so that an array and its copy are read alike.
    axes = sorted(range(plain.ndim), key=lambda axis: (-abs(plain.strides[axis]), axis))
    row = numpy.ascontiguousarray(plain.transpose(axes)).reshape(-1).view(numpy.uint8)
    return row.view(numpy.uint64) if row.size % 8 == 0 and row.__array_interface__["data"][0] % 8 == 0 else row


def _digest(plain: Any) -> bytes:
    if plain.dtype.kind == "T":
        return hashlib.blake2b(repr(plain.tolist()).encode(), digest_size=16).digest()
    return hashlib.blake2b(_bytes_of(plain), digest_size=16).digest()


def _sample(plain: Any) -> object:
    """The elements of an array, or only some of them if it is large."""
    if plain.nbytes > MOST_READ:
        flat = plain.reshape(-1) if plain.flags.c_contiguous else plain.flat
        plain = sys.modules["numpy"].append(flat[:: max(1, plain.size // _SAMPLES)], flat[-1:])
    return [*map(id, _elements(plain))] if plain.dtype.hasobject else plain.tobytes()


class TensorState(State):
    """The shape, memory and gradient of a tensor on the CPU."""

    def __init__(self, value: Any, *, is_kept: bool, has_copy: bool = True) -> None:
        torch = sys.modules["torch"]
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - the only way to run no __torch_function__
            self._alias = value.detach()
            self._layout = _tensor_layout(value)
            self._gradient = value.grad if value.is_leaf else None
            self._learns = value.requires_grad
            plain = _as_array(self._alias)
            self._copy = plain.copy(order="K") if is_kept and has_copy else None
            self._print = None if self._copy is not None else _digest(plain) if is_kept else _sample(plain)
        self.is_kept = is_kept
        self.size: int = 0 if self._copy is None else int(self._copy.nbytes)

    def matches(self, value: Any) -> bool:
        with sys.modules["torch"]._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            if _tensor_layout(value) != self._layout or value.requires_grad is not self._learns:
                return False
            if (value.grad if value.is_leaf else None) is not self._gradient:
                return False
            return self._has_same_elements()

    def _has_same_elements(self) -> bool:
        if not _has_memory(self._alias):
            return False
        plain = _as_array(self._alias)
        if self._copy is not None:
            return same_elements(plain, self._copy)
        return bool(self._print == (_digest(plain) if self.is_kept else _sample(plain)))

    def restore(self, value: Any) -> None:
        torch = sys.modules["torch"]
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():  # noqa: SLF001
            if not _has_memory(self._alias):
                raise CannotRestore
            if self._copy is not None and not self._has_same_elements():
                _as_array(self._alias)[...] = self._copy
                if not value.is_inference():  # a backward pass over overwritten values then raises its usual error
                    torch.autograd.graph.increment_version(value)
            if _tensor_layout(value) != self._layout:
                value.data = self._alias
            if value.is_leaf:
                value.grad = self._gradient
                if value.requires_grad is not self._learns:
                    value.requires_grad_(self._learns)

    def children(self) -> Iterable[Any]:
        return () if self._gradient is None else (self._gradient,)


def tensor_is_plain(value: Any) -> bool:
    """True if a tensor lies in this machine's memory, as numbers one after the other."""
    torch = sys.modules["torch"]
    if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:  # its operations run other code
        return False
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
        strided = value.layout is torch.strided and value.device.type == "cpu"
        return bool(strided and not (value.is_quantized or value.is_conj() or value.is_neg()))


def tensor_size(value: Any) -> int:
    with sys.modules["torch"]._C.DisableTorchFunctionSubclass():  # noqa: SLF001
        return int(value.numel() * value.element_size())


def _tensor_layout(value: Any) -> tuple[object, ...]:
    return value.data_ptr(), tuple(value.shape), value.stride(), value.dtype


def _has_memory(alias: Any) -> bool:
    """True if the memory of a tensor is still as large as its shape says."""
    last = sum((length - 1) * step for length, step in zip(alias.shape, alias.stride(), strict=True))
    needed = 0 if 0 in alias.shape else (alias.storage_offset() + last + 1) * alias.element_size()
    return bool(alias.untyped_storage().nbytes() >= needed)


def _as_array(alias: Any) -> Any:
    """The memory of a tensor as an array, which must not outlive a call: the tensor may move."""
    torch = sys.modules["torch"]
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(alias.element_size())
    return (alias if integers is None else alias.view(integers)).numpy()


def share_memory(one: Any, other: Any) -> bool:
    """True if two arrays or tensors may lie in the same memory; only its bounds are compared."""
    left, right = _bounds(one), _bounds(other)
    return left is not None and right is not None and left[0] < right[1] and right[0] < left[1]


def _bounds(value: Any) -> tuple[int, int] | None:
    if library_class(type(value), ("torch.Tensor",)):
        if not tensor_is_plain(value):
            return None
        start = value.data_ptr()
        steps, size = zip(value.shape, value.stride(), strict=True), value.element_size()
        return start, start + size * (1 + sum((length - 1) * step for length, step in steps))
    plain = plain_array(value)
    low = high = plain.__array_interface__["data"][0]
    for length, step in zip(plain.shape, plain.strides, strict=True):
        low, high = low + min(0, (length - 1) * step), high + max(0, (length - 1) * step)
    return low, high + plain.itemsize
