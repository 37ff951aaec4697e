"""Hashes of values by content: equal tables, arrays and functions have equal hashes, wherever they are in memory."""

from __future__ import annotations

import hashlib
import inspect
from types import CodeType
from typing import TYPE_CHECKING, Any

import cloudpickle

from agentnb.errors import UsageError
from agentnb.plugins.map.workspaces import hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_PLAIN = (int, float, complex, str, bytes, type(None), type(Ellipsis), slice)


class _Digest:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._within: list[int] = []

    def word(self, *words: object) -> None:
        self.hash.update(("\0".join(map(str, words)) + "\1").encode("utf-8", "surrogatepass"))

    def all(self, kind: str, values: Iterable[Any]) -> None:
        each = list(values)
        self.word(kind, len(each))
        for value in each:
            self.add(value)

    def add(self, value: Any) -> None:
        if isinstance(value, _PLAIN):
            self.word(type(value).__name__, repr(value))
        elif id(value) in self._within:
            self.word("within", self._within.index(id(value)))
        else:
            self._within.append(id(value))
            self._object(value)
            self._within.pop()

    def _object(self, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            self.all(type(value).__name__, value)
        elif isinstance(value, (set, frozenset)):
            self.word("set", *sorted(digest_of(each) for each in value))
        elif isinstance(value, dict):
            self.all("dict", (each for pair in value.items() for each in pair))
        elif isinstance(value, CodeType):
            self.word("code", value.co_code.hex(), value.co_names, value.co_varnames, value.co_freevars)
            self.all("constants", value.co_consts)
        elif inspect.isfunction(value) and value.__module__ == "__main__":
            self.all("function", (value.__code__, value.__defaults__, value.__kwdefaults__, value.__dict__))
            self.all("closure", map(_content, value.__closure__ or ()))
        elif inspect.isclass(value) and value.__module__ == "__main__":
            own = {name: each for name, each in vars(value).items() if _is_own(name, each)}
            self.all(f"class {value.__qualname__}", (each for pair in sorted(own.items()) for each in pair))
        elif inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value):
            self.word("library", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__))
        elif hasattr(value, "columns") and hasattr(value, "dtypes"):
            self._table(value)
        elif hasattr(value, "dtype") and hasattr(value, "shape"):
            self._array(value)
        else:
            self.hash.update(cloudpickle.dumps(value))

    def _table(self, value: Any) -> None:
        names = list(value.columns)
        self.all(f"table {type(value).__name__}", names)
        for at in range(len(names)):
            self.add(value.iloc[:, at] if hasattr(value, "iloc") else value[names[at]])
        if hasattr(value, "index") and not callable(value.index):
            self.add(value.index.to_numpy())

    def _array(self, value: Any) -> None:
        self.word(type(value).__name__, value.dtype, value.shape, getattr(value, "name", None))
        plain = value.detach().cpu() if hasattr(value, "detach") else value
        if hasattr(plain, "to_numpy"):
            if hasattr(plain, "iloc"):
                self.add(plain.index.to_numpy())
            plain = plain.to_numpy()
        elif not hasattr(plain, "tobytes"):
            plain = plain.numpy()
        if plain.dtype.hasobject:
            self.all("objects", plain.ravel().tolist())
        else:
            self.hash.update(plain.tobytes())


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is empty
        return None


def _is_own(name: str, value: Any) -> bool:
    return not name.startswith("__") or inspect.isfunction(value)


def digest_of(value: Any) -> str:
    """Returns the hash of *value*; raises a UsageError if it can neither be read nor pickled."""
    digest = _Digest()
    try:
        digest.add(value)
    except Exception as error:  # a user's object may raise anything
        raise UsageError(f"A {type(value).__name__} cannot be hashed: {type(error).__name__}: {error}") from error
    return digest.hash.hexdigest()


def digest_of_file(path: Path) -> str:
    """Returns the hash of a file, or of the files below a folder; '' if there is none."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return digest_of([(str(each.relative_to(path)), digest_of_file(each)) for each in files])
    return hash_of(path)
