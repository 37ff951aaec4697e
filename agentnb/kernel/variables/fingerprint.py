"""Fingerprints of the user's objects: they show whether an object was changed in place."""

from __future__ import annotations

import array
import hashlib
import sys
import types
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MOST_ELEMENTS = 10_000
"""Elements of one variable that are read; of a longer list evenly spaced ones, of a larger dict the first."""
MOST_BYTES = 4_000_000
"""Bytes of arrays in one variable that are read; of a larger array evenly spaced elements."""
MOST_SAMPLES = 20_000
"""Elements that are read of an array larger than that."""
MOST_ROWS = 1_000
"""Rows that are read of a column that is no plain array."""
MOST_COLUMNS = 100
"""Columns of one data frame that are read, evenly spaced."""
MOST_TENSORS = 1_000
"""Tensors of one PyTorch module or optimizer that are read, evenly spaced."""
DEEPEST = 3
"""How many levels of nested containers are read."""
ATTRIBUTES_OF = frozenset({"__main__", "types", "sklearn", "statsmodels", "xgboost", "lightgbm"})
"""Packages whose objects' attributes are read. Those of others change by themselves (connections, threads)."""

ARRAYS = ("numpy.ndarray", "torch.Tensor")
FRAMES = ("pandas.DataFrame", "pandas.Series")
_PRIMITIVE = frozenset({int, float, complex, bool, str, bytes, type(None)})
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_OF_MODULES = frozenset({"_parameters", "_buffers", "_modules", "training"})


def fingerprint(value: Any) -> object | None:
    """The contents of *value*, to be compared by ``==`` with a later fingerprint; None where they are not read."""
    if is_primitive(value):
        return None
    try:
        return None if _reader(type(value)) is None else _Reading().mark(value, 0)
    except Exception:  # noqa: BLE001 - changed by another thread meanwhile, or a broken object
        return None


def is_primitive(value: Any) -> bool:
    """True if *value* is a number, a text, bytes or None: objects that nobody can change in place."""
    return type(value) in _PRIMITIVE


def library_class(kind: type[Any], names: Iterable[str]) -> str | None:
    """The first of *names*, such as ``torch.nn.Module``, that *kind* is or extends; nothing is imported."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        base = getattr(sys.modules.get(module), attribute, None)
        if isinstance(base, type) and issubclass(kind, base):
            return name
    return None


class _Reading:
    """One reading, with what may still be read."""

    def __init__(self) -> None:
        self.elements = MOST_ELEMENTS
        self.bytes = MOST_BYTES
        self.samples = MOST_SAMPLES

    def mark(self, value: Any, depth: int) -> object:
        kind = type(value)
        if kind in _PRIMITIVE:
            return kind, repr(value) if kind is float and value == 0 else value
        reader = _reader(kind) if depth < DEEPEST and self.elements > 0 else None
        return (kind, id(value)) if reader is None else (kind, reader(self, value, depth))

    def marks(self, values: Iterable[Any], depth: int) -> tuple[object, ...]:
        marks = []
        for value in islice(values, max(0, self.elements)):
            self.elements -= 1
            marks.append(self.mark(value, depth + 1))
        return tuple(marks)

    def shares(self, values: Sequence[Any], most: int, mark: Callable[[Any], object]) -> tuple[object, ...]:
        """The marks of values, each with its share of bytes, so that a large one leaves something for the others."""
        values = values[:: _step(len(values), most)]
        count = max(1, len(values))
        share, self.samples = max(0, self.bytes // count), max(200, self.samples // count)
        marks = []
        for each in values:
            self.bytes = share
            marks.append(mark(each))
        self.bytes = 0
        return tuple(marks)

    def sequence(self, value: Any, depth: int) -> object:
        base = list if issubclass(type(value), list) else tuple
        length = base.__len__(value)
        step = _step(length, self.elements)
        last = base.__getitem__(value, slice(-1, None)) if step > 1 else ()
        return length, self.marks(base.__getitem__(value, slice(None, None, step)), depth), self.marks(last, depth)

    def queue(self, value: Any, depth: int) -> object:
        return deque.__len__(value), self.marks(deque.__iter__(value), depth)

    def mapping(self, value: Any, depth: int) -> object:
        keys = self.marks(dict.keys(value), depth) if depth + 1 < DEEPEST else ()
        return dict.__len__(value), keys, self.marks(dict.values(value), depth)

    def set_(self, value: Any, _depth: int) -> object:
        base = set if issubclass(type(value), set) else frozenset
        length = base.__len__(value)
        # Only by identity where an element is no primitive: its own __hash__ and __eq__ are the user's code.
        marks = self.marks(base.__iter__(value), DEEPEST)
        return length, frozenset(marks) if length <= MOST_ELEMENTS else marks

    def attributes(self, value: Any, depth: int) -> object:
        try:
            return self.mapping(object.__getattribute__(value, "__dict__"), depth)
        except AttributeError:  # a class with __slots__ only
            return ()

    def raw(self, value: Any, _depth: int) -> object:
        with memoryview(value) as view:
            flat = view.cast("B")
            step = 1 if flat.nbytes <= self.bytes else _step(flat.nbytes, self.samples)
            return flat.nbytes, self._digest(bytes(flat[::step]))

    def _digest(self, data: bytes) -> bytes:
        self.bytes -= len(data)
        return hashlib.blake2b(data, digest_size=16).digest()

    def ndarray(self, value: Any, depth: int) -> object:
        numpy = sys.modules["numpy"]
        plain = numpy.ndarray.view(value, numpy.ndarray)
        head = plain.shape, plain.dtype.str, plain.dtype.names
        if plain.dtype.hasobject:
            return head, self.marks(_evenly(plain, self.elements).tolist(), depth)
        return head, self._digest((plain if plain.nbytes <= self.bytes else _evenly(plain, self.samples)).tobytes())

    def frame(self, value: Any, depth: int) -> object:
        head = value.shape, self.column(value.columns, depth), self.labels(value.index, depth)
        elements = max(1, self.elements // max(1, min(len(value.columns), MOST_COLUMNS)))

        def mark(at: int) -> object:
            self.elements = elements
            return self.column(value.iloc[:, at], depth)

        columns = self.shares(range(len(value.columns)), MOST_COLUMNS, mark)
        self.elements = 0
        return head, columns

    def series(self, value: Any, depth: int) -> object:
        return self.labels(value.index, depth), self.column(value, depth)

    def labels(self, value: Any, depth: int) -> object:
        """The labels of rows."""
        if library_class(type(value), ("pandas.RangeIndex",)):
            return value.start, value.stop, value.step
        return self.column(value, depth)

    def column(self, value: Any, depth: int) -> object:
        dtype, numpy = value.dtype, sys.modules["numpy"]
        if isinstance(dtype, numpy.dtype):
            return self.ndarray(numpy.asarray(value), depth)
        step, at = _step(len(value), min(self.elements, MOST_ROWS)), getattr(value, "iloc", value)
        # Such an array makes new objects of its elements: they are compared by their text, not by their identity.
        texts = [each if is_primitive(each) else str(each) for each in (*at[::step].tolist(), *at[-1:].tolist())]
        return str(dtype), len(value), self.marks(texts, depth)

    def polars(self, value: Any, depth: int) -> object:
        rows = value[:: _step(value.height, MOST_ROWS)].rows()
        return value.shape, tuple(value.columns), tuple(map(str, value.dtypes)), self.marks(rows, depth)

    def polars_series(self, value: Any, depth: int) -> object:
        rows = value[:: _step(len(value), MOST_ROWS)].to_list()
        return len(value), str(value.dtype), self.marks(rows, depth)

    def tensor(self, value: Any, _depth: int) -> object:
        torch = sys.modules["torch"]
        if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:  # its operations are code of its own
            return id(value)
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - the only way to run no __torch_function__
            grad = value.grad if value.is_leaf else None
            return (
                (tuple(value.shape), str(value.dtype), str(value.device), value.requires_grad),
                0 if value.is_inference() else value._version,  # noqa: SLF001 - PyTorch's count of changes in place
                self._tensor_data(value),
                None if grad is None or grad.layout is not torch.strided else (id(grad), self._tensor_data(grad)),
            )

    def _tensor_data(self, value: Any) -> object:
        """Some of the data; of another device's the address alone, since to read it is to wait for that device."""
        torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
        if value.layout is not torch.strided:
            return None
        lazy = value.is_quantized or value.is_conj() or value.is_neg()  # to read such is to compute it
        if numpy is None or lazy or value.device.type != "cpu":
            return 0 if value.device.type == "meta" else value.data_ptr()
        plain = value.detach()
        integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(plain.element_size())
        return self.ndarray((plain if integers is None else plain.view(integers)).numpy(), DEEPEST)

    def torch_module(self, value: Any, depth: int) -> object:
        marks: list[object] = []
        tensors: list[Any] = []
        for at, (module, attributes) in enumerate(_torch_modules(value)):
            named = {**attributes["_parameters"], **attributes["_buffers"]}
            marks.append((id(module), attributes.get("training"), tuple(named)))
            tensors += [each for each in named.values() if each is not None]
            if _is_own(type(module)):
                rest = {name: each for name, each in attributes.items() if name not in _OF_MODULES}
                marks.append(self.mapping(rest, depth if at == 0 else DEEPEST - 1))
        return tuple(marks), self.tensors(tensors)

    def torch_optimizer(self, value: Any, depth: int) -> object:
        held = object.__getattribute__(value, "__dict__")
        options = [
            {name: each for name, each in group.items() if name != "params"} for group in held.get("param_groups", ())
        ]
        state = [each for kept in dict(held.get("state", {})).values() for each in kept.values()]
        tensors = [each for each in state if library_class(type(each), ("torch.Tensor",))]
        plain = [each for each in state if not library_class(type(each), ("torch.Tensor",))]
        return self.mark(options, depth), self.mark(plain, depth), self.tensors(tensors)

    def tensors(self, values: list[Any]) -> object:
        return len(values), self.shares(values, MOST_TENSORS, lambda each: (id(each), self.tensor(each, DEEPEST)))


def _step(length: int, most: int) -> int:
    """Returns how far apart at most *most* of so many elements are."""
    return max(1, -(-length // max(1, most)))


def _evenly(plain: Any, most: int) -> Any:
    """About *most* elements of an array, evenly spaced, and the last one; nothing else is copied."""
    step = _step(plain.size, most)
    flat = plain.reshape(-1) if plain.flags.c_contiguous else plain.flat
    elements = flat[::step]
    return elements if step == 1 else sys.modules["numpy"].append(elements, flat[-1:])


_BUILT_IN: tuple[tuple[type | tuple[type, ...], Callable[[_Reading, Any, int], object]], ...] = (
    ((list, tuple), _Reading.sequence),
    (dict, _Reading.mapping),
    ((set, frozenset), _Reading.set_),
    (deque, _Reading.queue),
    ((bytearray, array.array), _Reading.raw),
)
_LIBRARIES: dict[str, Callable[[_Reading, Any, int], object]] = {
    "numpy.ndarray": _Reading.ndarray,
    "pandas.DataFrame": _Reading.frame,
    "pandas.Series": _Reading.series,
    "pandas.Index": _Reading.labels,
    "polars.DataFrame": _Reading.polars,
    "polars.Series": _Reading.polars_series,
    "torch.Tensor": _Reading.tensor,
    "torch.nn.Module": _Reading.torch_module,
    "torch.optim.Optimizer": _Reading.torch_optimizer,
}


def _reader(kind: type) -> Callable[[_Reading, Any, int], object] | None:
    """The method that reads objects of the class *kind*; None where they are not read."""
    for base, read in _BUILT_IN:
        if issubclass(kind, base):
            return read
    if (name := library_class(kind, _LIBRARIES)) is not None:
        return _LIBRARIES[name]
    return _Reading.attributes if _is_own(kind) and not issubclass(kind, _OPAQUE) else None


def _is_own(kind: type) -> bool:
    """True if the attributes of objects of the class *kind* are read."""
    package = getattr(kind, "__module__", None)
    return isinstance(package, str) and package.split(".")[0] in ATTRIBUTES_OF


def _torch_modules(value: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A PyTorch module and all inside it, each once, with its attributes; its ``modules()`` may be the user's code."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_ELEMENTS:
        module = waiting.pop()
        if module is None or id(module) in seen:
            continue
        seen.add(id(module))
        attributes = object.__getattribute__(module, "__dict__")
        if not _OF_MODULES - {"training"} <= attributes.keys():  # a class whose __init__ has not run
            continue
        yield module, attributes
        waiting += attributes["_modules"].values()
