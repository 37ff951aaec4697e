"""A snapshot of what names refer to, before an agent's code runs: it shows what changed, and undo restores it.

Objects are identified by identity, so an object that several names share is kept once and restored for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.kernel.variables.states import CannotRestore, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class KeptObject(NamedTuple):
    """An object and its state; one that is too large to be kept is only followed, so that code can free it."""

    at: int
    follow: Callable[[], Any]
    state: State
    children: tuple[int, ...]

    @property
    def is_changed(self) -> bool:
        """True if the object still exists and has changed."""
        value = self.follow()
        try:
            return value is not None and not self.state.matches(value)
        except Exception:  # noqa: BLE001 - a broken object: it may have changed
            return True


class VariableSnapshot:
    """The objects that names refer to, as far as they can be kept."""

    def __init__(self) -> None:
        self.edges: dict[int, tuple[int, ...]] = {}  # the ids of the objects that each object leads to
        self.objects: dict[int, KeptObject] = {}  # by id
        self.lost: dict[str, str] = {}  # names that cannot be restored, or only partly, with the class or the reason
        self._roots: dict[str, int] = {}

    def add_root(self, name: str, value: Any) -> None:
        self._roots[name] = id(value)

    @property
    def names(self) -> Iterable[str]:
        """The names that were looked at."""
        return self._roots

    def as_it_was(self, value: Any) -> Any:
        """An object like *value* was, for reading; *value* itself if code cannot reach it; None if room was lacking."""
        kept = self.objects.get(id(value))
        if kept is None:
            return None if id(value) in self.edges else value
        try:
            return kept.state.as_it_was(value, self.as_it_was)
        except CannotRestore:
            return value

    def changed(self) -> list[KeptObject]:
        return [each for each in self.objects.values() if each.is_changed]

    def names_of(self, changed: Iterable[KeptObject]) -> dict[str, list[KeptObject]]:
        """The names that lead to each of *changed*."""
        names_at: dict[int, set[str]] = {}
        for name, at in self._roots.items():
            names_at.setdefault(at, set()).add(name)
        parents = parents_of(self.edges)
        objects_by_name: dict[str, list[KeptObject]] = {}
        for kept in changed:
            waiting, seen = [kept.at], {kept.at}
            while waiting:
                at = waiting.pop()
                for name in names_at.get(at, ()):
                    objects_by_name.setdefault(name, []).append(kept)
                waiting += [each for each in parents.get(at, ()) if each not in seen]
                seen.update(parents.get(at, ()))
        return objects_by_name

    def names_to(self, value: Any) -> tuple[str, ...]:
        return tuple(self.names_of([KeptObject(id(value), lambda: value, State(), ())]))


def parents_of(edges: Mapping[int, Iterable[int]]) -> dict[int, list[int]]:
    """The objects that lead to each, by their ids."""
    parents: dict[int, list[int]] = {}
    for at, children in edges.items():
        for child in children:
            parents.setdefault(child, []).append(at)
    return parents
