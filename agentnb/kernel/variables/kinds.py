"""Kinds of values, and the names that code can reach.

The class alone decides the kind: this runs none of the user's code and imports no library.
"""

from __future__ import annotations

import ast
import re
import struct
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARRAYS = ("numpy.ndarray", "torch.Tensor")
FRAMES = ("pandas.DataFrame", "pandas.Series")

PLAIN_PACKAGES = _words(
    "types collections dataclasses argparse sklearn scipy statsmodels xgboost lightgbm torch numpy pandas geopandas"
    " xarray networkx sympy patsy dask"
)
"""Packages whose objects written in Python consist only of their attributes, like those of the user's own classes."""
_PRIMITIVE = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, slice}
)
_FIXED_PACKAGES = _words(
    "datetime decimal fractions uuid pathlib zoneinfo enum re logging abc typing operator inspect string weakref"
    " _weakref _thread _abc functools agentnb _contextvars contextvars pyarrow matplotlib.colors polars"
)
"""Packages whose objects never change, or have no state that a user would miss: locks, loggers, weak references."""
_FIXED_NATIVE = _words("sklearn scipy numpy pandas polars pyarrow torch functools types")
"""Packages whose classes written in C, except for those that are kept, are not changed in place."""
SMALL_ARRAY = 16_000_000  # bytes from which an array is followed and not held
_FIXED = (
    types.ModuleType,
    types.BuiltinFunctionType,
    types.MappingProxyType,
    types.CodeType,
    types.GenericAlias,
    types.UnionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
)
_FIXED_CLASSES = (
    *("numpy.generic", "enum.Enum", "pandas.Timestamp", "pandas.Timedelta"),
    *("dask._expr.Expr", "dask_expr._core.Expr"),  # a Dask frame's expression: later frames have others
)
_LOST = frozenset({"threading", "queue", "multiprocessing", "subprocess", "socket", "ssl", "asyncio", "concurrent"})
_HEAP_TYPE = 1 << 9  # `Py_TPFLAGS_HEAPTYPE`: set for each class that is written in Python
_POINTER = struct.calcsize("P")

Family = Literal["fixed", "plain", "lost"]


def is_primitive(value: Any) -> bool:
    """True if *value* is a number, a text, bytes or None: objects that nobody can change in place."""
    return type(value) in _PRIMITIVE


def is_same(one: Any, other: Any) -> bool:
    """True if both are one object, or equal numbers or texts of one type."""
    if one is other:
        return True
    kind = type(one)
    return kind in _PRIMITIVE and kind is type(other) and one == other and (one != 0 or repr(one) == repr(other))


def library_class(kind: type[Any], names: Iterable[str]) -> str | None:
    """The first of *names*, such as ``torch.nn.Module``, that *kind* is or extends; nothing is imported."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        base = getattr(sys.modules.get(module), attribute, None)
        if isinstance(base, type) and issubclass(kind, base):
            return name
    return None


def weak_reference(value: Any, gone: Callable[[Any], object] | None = None) -> weakref.ref[Any] | None:
    """A weak reference to *value*; None if there can be none, or if it would interfere."""
    if library_class(type(value), ("numpy.ndarray",)) and value.nbytes < SMALL_ARRAY:
        return None  # NumPy cannot resize an array with a weak reference
    try:
        return weakref.ref(value, gone)
    except TypeError:
        return None


def family(kind: type[Any]) -> Family:
    """``"fixed"`` if objects of *kind* never change, ``"plain"`` if they are only attributes, else ``"lost"``."""
    if kind in _PRIMITIVE or issubclass(kind, _FIXED):
        return "fixed"
    module = module_of(kind)
    package = module.partition(".")[0]
    if package in _FIXED_PACKAGES or module in _FIXED_PACKAGES or library_class(kind, _FIXED_CLASSES):
        return "fixed"
    if not is_written_in_python(kind):
        return "fixed" if package in _FIXED_NATIVE else "lost"
    if package in _LOST or not _has_only_attributes(kind):
        return "lost"
    return "plain" if package in PLAIN_PACKAGES or is_own(module) else "lost"


def is_own(module: str) -> bool:
    """True if *module* is the user's: the notebook, or a file that is not an installed package."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str) or module.partition(".")[0] in sys.stdlib_module_names:
        return False
    return "site-packages" not in file and "dist-packages" not in file


def module_of(kind: type[Any]) -> str:
    """The name of the module of the class *kind*; its own attribute may be anything."""
    module = type.__getattribute__(kind, "__module__")
    return module if type(module) is str else ""


def is_written_in_python(kind: type[Any]) -> bool:
    """True if *kind* is made by a ``class`` statement."""
    flags: int = type.__dict__["__flags__"].__get__(kind)
    return bool(flags & _HEAP_TYPE) and "__module__" in vars_of(kind)


def class_name(kind: type[Any]) -> str:
    """The name of the class *kind*, read without running its own code."""
    return str(type.__dict__["__name__"].__get__(kind))


def bases_of(kind: type[Any]) -> tuple[type[Any], ...]:
    """*kind* and what it extends."""
    return tuple(type.__dict__["__mro__"].__get__(kind))


def _has_only_attributes(kind: type[Any]) -> bool:
    """True if objects of *kind* have room only for attributes: code in C keeps nothing of them."""
    slots = 2  # for __dict__ and __weakref__
    for base in bases_of(kind):
        slots += sum(type(each) is types.MemberDescriptorType for each in vars_of(base).values())
    size: int = type.__dict__["__basicsize__"].__get__(kind)
    return size <= object.__basicsize__ + slots * _POINTER and not issubclass(kind, BaseException)


def vars_of(kind: type[Any]) -> types.MappingProxyType[str, Any]:
    """The attributes of the class *kind* itself."""
    attributes: types.MappingProxyType[str, Any] = type.__dict__["__dict__"].__get__(kind)
    return attributes


_ANY_NAME = frozenset({"exec", "eval", "globals", "locals", "vars"})  # by these, code can reach any variable
_ANY_ATTRIBUTE = frozenset(
    {"run_line_magic", "run_cell_magic", "run_cell", "user_ns", "user_global_ns", "__globals__", "f_globals"}
    | {"get_referrers", "get_objects", "currentframe", "_getframe"}
)
"""Attributes by which code can reach any variable."""
_HISTORY = re.compile(r"_+\d*|_i+\d*|Out|In")


class Reach:
    """The variables that a piece of code can reach."""

    def __init__(self, code: str) -> None:
        self.names: dict[str, None] = {}  # in the order in which the code reads them
        self.is_any: bool = False  # True if the code can also reach any other name
        self._bound: set[str] = set()
        try:
            module = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.is_any = True
            return
        for statement in module.body:
            self._read(statement)

    def of(self, variables: Mapping[str, object]) -> Iterable[str]:
        """The names of *variables* that the code can reach, those that it names first."""
        named = [name for name in self.names if name in variables]
        return dict.fromkeys([*named, *variables]) if self.is_any else named

    def _read(self, statement: ast.stmt) -> None:
        bound: set[str] = set()
        for node in ast.walk(statement):
            self.is_any |= _reaches_any(node)
            match node:
                case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                    self._use(name)
                case ast.Name(id=name):
                    bound.add(name)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self._use(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    bound |= {each.asname or each.name.partition(".")[0] for each in names}
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
        # Only a name that every run of the code binds before reading it gets another object.
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)):
            self._bound |= bound
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bound.add(statement.name)

    def _use(self, name: str) -> None:
        if name not in self._bound:
            self.names[name] = None


def _reaches_any(node: ast.AST) -> bool:
    """True if code with *node* can reach any variable, named or not."""
    match node:
        case ast.Name(id=name):
            return name in _ANY_NAME or _HISTORY.fullmatch(name) is not None
        case ast.Attribute(attr=name):
            return name in _ANY_ATTRIBUTE
        case ast.Constant(value="__main__") | ast.ImportFrom(module="__main__") | ast.alias(name="__main__"):
            return True
    return False


def lost_words(names: Iterable[str]) -> str:
    """A sentence that *names* cannot be restored; empty if *names* is empty.

    Example:
        >>> lost_words(["model"]), lost_words(["a", "b"]), lost_words(["a", "b", "c", "d"])
        ("`model` can't be restored.", "`a` and `b` can't be restored.", "`a`, `b` and 2 more can't be restored.")
    """
    quoted = [f"`{name}`" for name in names]
    if not quoted:
        return ""
    most = 2
    if len(quoted) > most:
        return f"{', '.join(quoted[:most])} and {len(quoted) - most} more can't be restored."
    return f"{' and '.join(quoted)} can't be restored."
