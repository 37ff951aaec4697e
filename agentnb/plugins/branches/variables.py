"""Transfers the variables of a branch to the kernel: one pickle for all that changed, so that names stay aliases.

An object that the kernel had when it was copied is not copied back: the pickle names it, and the kernel changes its own
object in place if the branch did. So a list around a large frame is small, and all that has the frame sees the change.
"""

from __future__ import annotations

import io
import pickle
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import cloudpickle

from agentnb.errors import KernelChangesConflict, UsageError
from agentnb.kernel.variables.kinds import FRAMES, library_class
from agentnb.kernel.variables.references import overwrite
from agentnb.kernel.variables.states import CannotRestore, attributes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from agentnb.plugins.branches.at_fork import AtFork, Key

_GLOBALS = " globals"
"""Persistent id of the namespace in which the notebook's functions look up names; no variable can have this name."""
OTHER_PARTS = "Other parts can be kept: Keep parts… in the try's menu, or only= in Python."
_LARGEST = 1 << 40
"""Bytes that an object changed in place may have: no real limit, since it has been read already."""
_SETTER = 5
"""Index of the function that sets the state in the result of ``__reduce__``."""
_expected: dict[str, AtFork] = {}


class Saved(NamedTuple):
    """The keys of the objects to change in place, and the variables that could not be saved, with the reasons."""

    objects: list[Key]
    lost: dict[str, str]


class _Saver(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles values, then the objects reachable from them that the branch changed."""

    def __init__(self, file: io.BytesIO, names: Mapping[str, Any], at_fork: AtFork, changed: Mapping[int, Key]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.globals_ref[id(names)] = self._globals = dict[str, Any]()
        self._at_fork = at_fork
        self._changed = changed
        self._leading = at_fork.leading_to(changed)
        self._wanted: dict[int, None] = {}
        self._root = self._inside = 0

    def persistent_id(self, obj: Any) -> Key | None:
        """Returns the key of an object that the kernel has, too."""
        at = id(obj)
        if obj is self._globals:
            return _GLOBALS
        if at == self._inside:
            self._inside = 0
            return None
        key = self._at_fork.key_of(obj)
        if key is not None:
            self.want(at)
        return key

    def reducer_override(self, obj: Any) -> Any:
        """Reduce as cloudpickle does, but keep attributes that the user gave a data frame, which pandas drops."""
        if library_class(type(obj), FRAMES):
            own = {name: each for name, each in (attributes_of(obj) or {}).items() if not name.startswith("_")}
            function, arguments, state, *rest = obj.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            return (function, arguments, {**state, **own}, *rest) if own else NotImplemented
        reduced = super().reducer_override(obj)
        if id(obj) == self._root and isinstance(reduced, tuple) and reduced[_SETTER:]:
            function, arguments, state, *_, setter = reduced  # otherwise the setter would get the kernel's own object
            return _built, (function, arguments, state, setter)
        return reduced

    def want(self, at: int) -> None:
        """Also write the changed objects to which the object with this address led."""
        self._wanted |= self._leading.get(at, {})

    def write(self, values: dict[str, Any]) -> list[Key]:
        """Write *values*, then the changed objects; returns the keys of the latter."""
        self.dump(values)
        done: dict[int, Key] = {}
        while left := [at for at in self._wanted if at not in done]:
            for at in left:
                done[at] = key = self._changed[at]
                self._root = self._inside = at
                self.dump((key, self._at_fork.find(key)))
        return [*done.values()]


def _built(function: Any, arguments: Any, state: Any, setter: Any) -> Any:
    made = function(*arguments)
    setter(made, state)
    return made


class _Loader(pickle.Unpickler):
    def __init__(self, file: io.BufferedIOBase, names: dict[str, Any], at_fork: AtFork | None) -> None:
        super().__init__(file)
        self._names = names
        self._at_fork = at_fork

    def persistent_load(self, pid: Any) -> Any:
        if pid == _GLOBALS:
            return self._names
        if self._at_fork is None:
            raise UsageError("The branch no longer exists.")
        return self._at_fork.find(pid)


def save(
    path: Path, names: Mapping[str, Any], at_fork: AtFork, changed: Collection[str], wanted: Collection[str] | None
) -> Saved:
    """Write the *wanted* ones of the *changed* variables to *path*, with the objects they lead to; everything if None.

    *names* is the namespace that they are in.
    """
    chosen = [name for name in changed if wanted is None or name in wanted]
    values = {name: names[name] for name in chosen if name in names}
    objects = at_fork.changed(names, changed)
    roots = [*objects] if wanted is None else [id(at_fork.names[name]) for name in chosen if name in at_fork.names]
    lost: dict[str, str] = {}

    def pickled(some: dict[str, Any], some_roots: Sequence[int]) -> tuple[bytes, list[Key]]:
        file = io.BytesIO()
        saver = _Saver(file, names, at_fork, objects)
        for at in some_roots:
            saver.want(at)
        keys = saver.write(some)
        return file.getvalue(), keys

    def failure(some: dict[str, Any], some_roots: Sequence[int]) -> str:
        try:
            pickled(some, some_roots)
        except Exception as error:  # noqa: BLE001 - a user's object may raise anything
            return f"{type(error).__name__}: {error}"[:200]
        return ""

    try:
        data, keys = pickled(values, roots)
    except Exception:  # noqa: BLE001 - as above
        lost = {name: why for name, value in values.items() if (why := failure({name: value}, ()))}
        kept = {name: value for name, value in values.items() if name not in lost}
        data, keys = pickled(kept, [at for at in roots if not failure({}, (at,))])
    path.write_bytes(data)
    return Saved(keys, lost)


@contextmanager
def expecting(path: Path, at_fork: AtFork | None) -> Iterator[None]:
    """Allow :func:`bring` to be called with *path* meanwhile, here or in a fork that is made in the block."""
    if at_fork is not None:
        _expected[str(path)] = at_fork
    try:
        yield
    finally:
        _expected.pop(str(path), None)


def bring(path: str, changed: Mapping[str, str], names: dict[str, Any], *, is_checked: bool = False) -> None:
    """Bring what :func:`save` wrote to *path* into *names*: objects in place, then the *changed* variables.

    Unpickling runs code of the branch: use this only for a branch that the user keeps. If it *is_checked* and the user
    has changed some of it, a KernelChangesConflict is raised, and nothing is brought.
    """
    at_fork = _expected.get(path)
    before = dict(names)
    try:
        with Path(path).open("rb") as file:
            loader = _Loader(file, names, at_fork)
            values, objects = dict(loader.load()), [*_objects(loader)]
    finally:
        brought = {name: names.pop(name) for name in [*names] if name not in before}
        names.update(before)
    if at_fork is not None and is_checked:
        check(at_fork, names, changed, [key for key, _ in objects])
    names |= brought  # variables that a function brings along: only the missing ones
    for name, status in changed.items():
        if status == "deleted":
            names.pop(name, None)
    if at_fork is not None:
        values |= _overwritten(at_fork, objects, names | values)
    names |= values


def check(at_fork: AtFork, names: Mapping[str, Any], changed: Collection[str], keys: Collection[Key]) -> None:
    """Raise a KernelChangesConflict if the user has changed some of it since the copies were made."""
    if conflicts := dict.fromkeys([*at_fork.reassigned(names, changed), *at_fork.touched(keys)]):
        raise KernelChangesConflict(
            f"You have changed {', '.join([*conflicts][:8])} since the try began. Nothing was kept.",
            hint=OTHER_PARTS,
        )


def _objects(loader: _Loader) -> Iterator[tuple[Key, Any]]:
    while True:
        try:
            yield loader.load()
        except EOFError:
            return


def _overwritten(at_fork: AtFork, objects: Sequence[tuple[Key, Any]], names: Mapping[str, Any]) -> dict[str, Any]:
    """Change *objects* in place; returns the variables of those that cannot be, with their new objects."""
    others: dict[str, Any] = {}
    for key, other in objects:
        value = at_fork.find(key)
        try:
            overwrite(value, other, _LARGEST)
        except CannotRestore:
            others |= {name: other for name, each in names.items() if each is value}
    return others
