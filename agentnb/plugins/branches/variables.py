"""The variables of a branch on their way into the kernel: one pickle for all that changed, so that names stay aliases.

What a changed variable refers to and the branch has not changed, such as the frame that a new list holds, is not
copied: it is named, and found in the kernel.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_SMALL = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))
_GLOBALS = " globals"
"""Stands for the namespace that functions of the notebook look names up in; no variable has this name."""


class _Saver(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, names: Mapping[str, Any], known: Mapping[int, str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._globals: dict[str, Any] = {}
        self._known = {**known, id(self._globals): _GLOBALS}
        self.globals_ref[id(names)] = self._globals

    def persistent_id(self, obj: Any) -> str | None:
        """The name of an object that the kernel has, too."""
        return self._known.get(id(obj))


class _Loader(pickle.Unpickler):
    def __init__(self, file: io.BufferedIOBase, names: dict[str, Any]) -> None:
        super().__init__(file)
        self._names = names

    def persistent_load(self, pid: Any) -> Any:
        """The kernel's object of that name."""
        return self._names if pid == _GLOBALS else self._names[pid]


def save(path: Path, names: Mapping[str, Any], own: Collection[str], changed: Mapping[str, str]) -> dict[str, str]:
    """Write the *changed* of the user's *own* variables to *path*; returns those that cannot be written, and why.

    *names* is the namespace that they are in.
    """
    wanted = {name: names[name] for name in changed if name in names}
    moved = {*map(id, wanted.values())}
    same = {name: names[name] for name in own if name not in changed}
    known = {
        id(value): name for name, value in same.items() if not isinstance(value, _SMALL) and id(value) not in moved
    }
    lost: dict[str, str] = {}
    try:
        data = _pickled(wanted, names, known)
    except Exception:  # noqa: BLE001 - a user's object may raise anything
        lost = {name: why for name, value in wanted.items() if (why := _failure(value, names, known))}
        data = _pickled({name: value for name, value in wanted.items() if name not in lost}, names, known)
    path.write_bytes(data)
    return lost


def load(path: Path, names: dict[str, Any]) -> dict[str, Any]:
    """The variables that :func:`save` wrote; the objects that it named are taken from *names*.

    Unpickling runs code of the branch's: only for a branch that the user keeps.
    """
    with path.open("rb") as file:
        return dict(_Loader(file, names).load())


def bring(path: str, changed: Mapping[str, str], names: dict[str, Any]) -> None:
    """Bind the *changed* variables that :func:`save` wrote to *path* in *names*, and delete those that were deleted."""
    loaded = load(Path(path), names)
    for name, status in changed.items():
        if status == "deleted":
            names.pop(name, None)
        elif name in loaded:
            names[name] = loaded[name]


def _pickled(values: dict[str, Any], names: Mapping[str, Any], known: Mapping[int, str]) -> bytes:
    file = io.BytesIO()
    _Saver(file, names, known).dump(values)
    return file.getvalue()


def _failure(value: Any, names: Mapping[str, Any], known: Mapping[int, str]) -> str:
    try:
        _pickled({"": value}, names, known)
    except Exception as error:  # noqa: BLE001 - as above
        return f"{type(error).__name__}: {error}"[:200]
    return ""
