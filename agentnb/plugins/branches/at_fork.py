"""The kernel's variables when it is copied: which objects they lead to, and the states of those objects.

An object that a branch changes in place is also changed in place when the branch is kept, so that all names and lists
that contain it see the change. An object that the user has changed meanwhile is detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.references import state_of
from agentnb.kernel.variables.snapshot import parents_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentnb.kernel.variables.states import State

Key: TypeAlias = int | str
"""An object's address when the copies were made, or the name of a variable."""
MOST_COMPARED = 64_000_000
"""Bytes of arrays that are compared in full; beyond them, only samples are compared."""
_SMALL = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))
_absent = object()


class AtFork:
    """The variables *names* and their objects, which this keeps alive.

    An object of a fork has the same address as in the kernel; a copy that ran the cells again (*is_fork* is False)
    knows only objects that have a name.
    """

    def __init__(self, names: Mapping[str, Any], *, is_fork: bool = True) -> None:
        self.names: dict[str, Any] = dict(names)
        smallest_first = sorted(self.names, key=lambda name: _length(self.names[name]))
        self._snapshot = Keeper(self.names, MOST_COMPARED, mode="mark").keep(smallest_first)
        self._keys: dict[int, Key] = {at: at for at in self._snapshot.objects} if is_fork else {}
        for name, value in self.names.items():
            if not isinstance(value, _SMALL):
                self._keys.setdefault(id(value), name)
        self._kept_values: dict[str, Any] = {}
        self._kept_states: dict[Key, State | None] = {}

    def find(self, key: Key) -> Any:
        """Returns the object with this key; raises a LookupError if there is none, or it no longer exists."""
        if isinstance(key, str):
            return self.names[key]
        value = self._snapshot.objects[key].follow()
        if value is None:
            raise LookupError(key)
        return value

    def key_of(self, value: Any) -> Key | None:
        """Returns the key of *value*; None if it is new."""
        key = self._keys.get(id(value))
        if key is None or isinstance(key, str):
            return key
        return key if self._snapshot.objects[key].follow() is value else None

    # --- in a copy ---

    def changed(self, names: Mapping[str, Any], reported: Iterable[str]) -> dict[int, Key]:
        """Returns the keys of the changed objects, by their addresses.

        An object without a kept state counts as changed if its variable is *reported* as changed and still has it;
        *names* are the current variables.
        """
        at_all = [each.at for each in self._snapshot.changed()]
        for name in reported:
            value = self.names.get(name, _absent)
            kept = self._snapshot.objects.get(id(value))
            if value is names.get(name) and (kept is None or not kept.state.is_kept):
                at_all.append(id(value))
        return {at: self._keys[at] for at in self._nearest(at_all)}

    def _nearest(self, at_all: Iterable[int]) -> Iterator[int]:
        """Yields the objects *at_all*; in place of one without a key, the nearest ones leading to it that have one."""
        parents = parents_of(self._snapshot.edges)
        waiting, seen = [*at_all], set[int]()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if at in self._keys:
                yield at
            else:
                waiting += parents.get(at, ())

    def leading_to(self, changed: Iterable[int]) -> dict[int, dict[int, None]]:
        """Maps each object that led to some of *changed* to those."""
        parents = parents_of(self._snapshot.edges)
        leading: dict[int, dict[int, None]] = {}
        for target in changed:
            for at in _reached(target, parents):
                leading.setdefault(at, {})[target] = None
        return leading

    # --- in the kernel ---

    def reassigned(self, names: Mapping[str, Any], wanted: Iterable[str]) -> list[str]:
        """Returns the *wanted* variables that the user has reassigned; *names* are the current variables."""
        return [
            name
            for name in wanted
            if (now := names.get(name, _absent)) is not self.names.get(name, _absent)
            and now is not self._kept_values.get(name, self)
        ]

    def touched(self, keys: Iterable[Key]) -> list[str]:
        """Returns the variables that lead to one of these objects and that the user has changed."""
        at_all: list[int] = []
        for key in keys:  # objects that only have a name as key change with all that they lead to
            at_all += [key] if isinstance(key, int) else _reached(id(self.names[key]), self._snapshot.edges)
        objects = [self._snapshot.objects.get(at) for at in at_all]
        changed = [each for each in objects if each is not None and each.is_changed and not self._is_as_kept(each.at)]
        return sorted(self._snapshot.names_of(changed))

    def note_kept(self, names: Mapping[str, Any], wanted: Iterable[str], keys: Iterable[Key]) -> None:
        """Note that parts were kept: their current values do not count as changes of the user's."""
        self._kept_values |= {name: names.get(name, _absent) for name in wanted}
        for key in keys:
            value = self.find(key)
            self._kept_states[id(value)] = state_of(value, MOST_COMPARED, mode="mark")

    def _is_as_kept(self, at: int) -> bool:
        state = self._kept_states.get(at)
        return state is not None and state.matches(self.find(at))


def _reached(at: int, edges: Mapping[int, Iterable[int]]) -> set[int]:
    """Returns an object and all that *edges* lead to from it."""
    reached: set[int] = set()
    waiting = [at]
    while waiting:
        if (at := waiting.pop()) not in reached:
            reached.add(at)
            waiting += edges.get(at, ())
    return reached


def _length(value: Any) -> int:
    return len(value) if type(value) in (list, dict, set, tuple) else 0
