"""Short descriptions of variables, by name or by path.

This runs none of the user's code: only objects of exactly the built-in types are written out; anything else is
described by its class and shape.
"""

from __future__ import annotations

import ast
import gc
import sys
import types
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import HIDDEN, is_secret_name
from agentnb.errors import UsageError
from agentnb.kernel.output_text import cut, masked
from agentnb.kernel.variables.kinds import class_name, library_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.credentials import Credentials


LONGEST_PATH = 500
_HINT = 'For example `df`, `df.columns`, `runs[0]["loss"]` or `x[:5]`; `run_code` computes anything else.'
LONGEST = 200  # characters of one value
MOST_ITEMS = 6  # items of a container that are written out
MOST_COLUMNS = 20  # columns of a data frame that are named
MOST_BYTES = 60  # bytes of a bytes object that are written out
DEEPEST = 2  # levels of nested containers that are written out
_MOST_BITS = 256
_SIMPLE = frozenset({bool, float, complex, type(None)})
_WINDOW = 2_000  # characters of a string that are searched for credentials before the cut
_SHAPED_BY = frozenset({"numpy", "pandas", "polars", "torch", "builtins"})
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
MOST_COMPARED = 1_000  # columns of a data frame whose names and types are compared
MOST_NAMED = 5  # columns that a sentence names
LONGEST_NUMBER = 24
_SHAPED = ("numpy.ndarray", "pandas.DataFrame", "pandas.Series", "pandas.Index", "polars.DataFrame")
MOST_OBJECTS = 2_000  # objects that are visited; for a large container, a sample represents all
SAMPLE = 200
_NOT_OWNED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
_WITH_SIZE = ("numpy.ndarray", "pyarrow.ChunkedArray", "pyarrow.Array")


def follow(path: str, variables: Mapping[str, Any]) -> Any:
    return _followed(_parsed(path), path, variables)[0]


def last_name(path: str) -> str:
    """The last name in *path*, of an attribute, an item or the variable itself."""
    node = _parsed(path)
    while True:
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                return name
            case ast.Subscript(value=inner):
                node = inner
            case _:
                return path


def _parsed(path: str) -> ast.expr:
    if len(path) > LONGEST_PATH:
        raise UsageError(f"A path has at most {LONGEST_PATH} characters.", hint=_HINT)
    try:
        return ast.parse(path.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{path!r} is not a path to a variable.", hint=_HINT) from None


def _followed(node: ast.expr, path: str, variables: Mapping[str, Any]) -> tuple[Any, str]:
    """The object at *node*, and the path that led to it."""
    match node:
        case ast.Name(id=name):
            if name not in variables:
                raise UsageError(f"There is no variable {name!r}.", hint="`variables` lists the kernel's variables.")
            return variables[name], name
        case ast.Attribute(value=inner, attr=name):
            if name.startswith("_"):
                raise UsageError(f"{name!r} is private and not shown.", hint=_HINT)
            value, called = _followed(inner, path, variables)
            return _got(lambda: getattr(value, name), f"{called}.{name}"), f"{called}.{name}"
        case ast.Subscript(value=inner, slice=index):
            value, called = _followed(inner, path, variables)
            key = _key(index, path)
            item = f"{called}[{ast.unparse(index)}]"
            return _got(lambda: value[key], item), item
    raise UsageError(f"{path!r} does more than read a variable.", hint=_HINT)


def _got(read: Any, called: str) -> Any:
    try:
        return read()
    except Exception as error:
        raise UsageError(f"{called} cannot be read: {type(error).__name__}: {error}.") from error


def _key(node: ast.expr, path: str) -> Any:
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else _key(part, path) for part in (lower, upper, step)))
        case ast.Tuple(elts=parts):
            return tuple(_key(part, path) for part in parts)
        case _:
            try:
                return ast.literal_eval(node)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                raise UsageError(f"{path!r} does more than read a variable.", hint=_HINT) from None


def value_text(value: Any, name: str, credentials: Credentials) -> str:
    r"""*value* in at most about :data:`LONGEST` characters."""
    if is_secret_name(name):
        return HIDDEN
    try:
        return cut(masked(_text(value, name, 0, credentials), credentials), LONGEST)
    except Exception:  # noqa: BLE001 - changed by another thread meanwhile, or a broken object
        return class_name(type(value))


def _text(value: Any, name: str, depth: int, credentials: Credentials) -> str:
    kind = type(value)
    if kind is str:
        return _string(value, credentials)
    if kind in _SIMPLE:
        return repr(value)
    if kind in (int, bytes):
        return _number_or_bytes(value)
    if depth < DEEPEST and (kind is dict or kind in _BRACKETS):
        return _mapping(value, depth, credentials) if kind is dict else _items(value, depth, credentials)
    return _summary(value, name) if is_of_known_package(kind) else class_name(kind)


def _summary(value: Any, name: str) -> str:
    """The type and the shape, and the columns of a data frame."""
    summary = summarize_value(value, name)
    if not summary.columns:
        return summary.text
    columns = ", ".join(f"{cut(column, 40)} {dtype}" for column, dtype in summary.columns[:MOST_COLUMNS])
    more = f" and {len(summary.columns) - MOST_COLUMNS} more" if len(summary.columns) > MOST_COLUMNS else ""
    return f"{summary.text}: {columns}{more}"


def is_of_known_package(kind: type[Any]) -> bool:
    """True if *kind* is a class of Python's or of a package whose attributes are known to be harmless to read."""
    module = vars(kind).get("__module__", "builtins")
    return type(module) is str and module.partition(".")[0] in _SHAPED_BY


def _string(value: str, credentials: Credentials) -> str:
    text = repr(cut(masked(value[:_WINDOW], credentials), LONGEST - 40))
    return text if len(value) <= _WINDOW else f"{text} (str, {len(value):,} characters)"


def _number_or_bytes(value: Any) -> str:
    if type(value) is bytes:
        more = f"… ({len(value):,} bytes)" if len(value) > MOST_BYTES else ""
        return f"{value[:MOST_BYTES]!r}{more}"
    return repr(value) if value.bit_length() <= _MOST_BITS else f"int of {value.bit_length():,} bits"


def _items(value: Any, depth: int, credentials: Credentials) -> str:
    opening, closing = _BRACKETS[type(value)]
    texts = [_text(item, "", depth + 1, credentials) for item in islice(value, MOST_ITEMS)]
    if len(value) > MOST_ITEMS:
        texts.append(f"… {len(value):,} items")
    return f"{opening}{', '.join(texts)}{closing}"


def _mapping(value: dict[Any, Any], depth: int, credentials: Credentials) -> str:
    texts = [
        f"{_text(key, '', depth + 1, credentials)}: {_item(key, item, depth, credentials)}"
        for key, item in islice(value.items(), MOST_ITEMS)
    ]
    if len(value) > MOST_ITEMS:
        texts.append(f"… {len(value):,} items")
    return f"{{{', '.join(texts)}}}"


def _item(key: Any, item: Any, depth: int, credentials: Credentials) -> str:
    name = key if type(key) is str else ""
    return HIDDEN if is_secret_name(name) else _text(item, name, depth + 1, credentials)


class ValueSummary(msgspec.Struct, frozen=True):
    text: str
    columns: tuple[tuple[str, str], ...] = ()


def summarize_value(value: Any, name: str) -> ValueSummary:
    """A one-line summary of *value*, made without running the user's code."""
    kind = type(value)
    try:
        return _summary_of(value, kind, name)
    except Exception:  # noqa: BLE001 - of a broken object only the class is named
        return ValueSummary(kind.__name__)


def difference(before: ValueSummary, after: ValueSummary) -> str:
    """The change from one object to another, in a line."""
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


def _summary_of(value: Any, kind: type, name: str) -> ValueSummary:
    if kind in (bool, int, float) and not is_secret_name(name):
        text = repr(value)
        return ValueSummary(text if len(text) <= LONGEST_NUMBER else kind.__name__)
    for base, one, many in _COUNTED:
        if issubclass(kind, base):
            count = base.__len__(value)
            return ValueSummary(f"{kind.__name__}, {count:,} {one if count == 1 else many}")
    if library_class(kind, _SHAPED):
        return _shaped(value, kind)
    return _tensor(value, kind) if library_class(kind, ("torch.Tensor",)) else ValueSummary(kind.__name__)


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
    if len(columns) > MOST_COMPARED:
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


def estimated_size(value: Any) -> int:
    """The approximate number of bytes freed if *value* and all that only it refers to were gone."""
    seen: set[int] = set()
    sizers: dict[type, Callable[[Any], int]] = {}
    left: list[tuple[Any, float]] = [(value, 1.0)]
    total = 0.0
    while left and len(seen) < MOST_OBJECTS:
        each, weight = left.pop()
        if id(each) in seen or issubclass(type(each), _NOT_OWNED):
            continue
        seen.add(id(each))
        try:
            kind = type(each)
            sizers[kind] = sizer = sizers.get(kind) or _sizer(kind)
            total += weight * sizer(each)
            inner, scale = _referents(each)
            left.extend((other, weight * scale) for other in inner)
        except Exception:  # noqa: BLE001, S112 - changed by another thread meanwhile: an estimate goes on without it
            continue
    return int(total)


def _sizer(kind: type) -> Callable[[Any], int]:
    """Returns a function that reads an object's own size in bytes, for *kind*; none of the object's code runs."""
    if library_class(kind, _WITH_SIZE):
        return lambda value: int(value.nbytes)
    if library_class(kind, ("torch.Tensor",)):
        return _tensor_size
    sizer = getattr(kind, "__sizeof__", None)
    return sizer if isinstance(sizer, types.MethodDescriptorType) else object.__sizeof__


def _tensor_size(value: Any) -> int:
    torch = sys.modules["torch"]
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - runs no __torch_function__
        if value.device.type == "meta":  # has a shape, but no data
            return 0
        if value.layout is torch.strided:
            return int(value.numel() * value.element_size())
        count = value._nnz()  # noqa: SLF001 - of a sparse tensor: a value and an index of 64 bits per dimension for each
        return int(count * (value.element_size() + 8 * value.dim()))


def _referents(value: Any) -> tuple[Iterable[Any], float]:
    """The objects that *value* refers to, or a sample of many, and the factor from the sample to the total."""
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
