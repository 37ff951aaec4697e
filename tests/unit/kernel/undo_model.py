"""A model of the user's variables and of undo: plain values only, without agentnb's code.

Objects are numbers; each has a content, which is a tuple of numbers and references to other objects.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple


class Ref(NamedTuple):
    """An object inside another object or bound to a name."""

    at: int


Content = tuple[object, ...]
"""An object's kind, then its contents."""


@dataclass
class Heap:
    """All objects and names."""

    names: dict[str, object] = field(default_factory=dict)
    objects: dict[int, Content] = field(default_factory=dict)

    def copy(self) -> Heap:
        return Heap(dict(self.names), dict(self.objects))

    def new(self, *content: object) -> Ref:
        at = len(self.objects)
        self.objects[at] = content
        return Ref(at)

    def leads_to(self, value: object) -> set[int]:
        """Returns the objects reachable from *value*, itself included."""
        waiting, seen = [value], set[int]()
        while waiting:
            each = waiting.pop()
            if isinstance(each, Ref) and each.at not in seen and each.at in self.objects:
                seen.add(each.at)
                waiting += _flat(self.objects[each.at])
        return seen

    def is_array(self, value: object) -> bool:
        return isinstance(value, Ref) and self.objects[value.at][0] == "array"

    def shape(self) -> object:
        """Returns all that names can show: contents, and which objects are the same."""
        numbers: dict[int, int] = {}

        def of(value: object) -> object:
            if not isinstance(value, Ref):
                return tuple(map(of, value)) if isinstance(value, tuple) else value
            if value.at in numbers:
                return ("same", numbers[value.at])
            numbers[value.at] = len(numbers)
            return tuple(map(of, self.objects[value.at]))

        return {name: of(self.names[name]) for name in sorted(self.names)}


def _flat(content: object) -> list[object]:
    if isinstance(content, tuple) and not isinstance(content, Ref):
        return [each for part in content for each in _flat(part)]
    return [content]


@dataclass
class NameDone:
    """One turn's change of a name; ``None`` means no name."""

    before: object
    after: object
    is_bound: bool
    objects: set[int]
    unbound: bool = False


class TurnModel:
    """The changes of one turn, and their undo."""

    def __init__(self) -> None:
        self.names: dict[str, NameDone] = {}
        self.objects: dict[int, tuple[Content, Content]] = {}
        self.back: set[int] = set()
        """The objects that are as they were before the turn."""
        self.left: dict[str, Heap] = {}
        """The heap after the turn, undo or redo that last changed each name."""
        self.has_edits_within = False
        self.was_done = False

    def ran(self, before: Heap, after: Heap, reached: set[str]) -> None:
        """Adds the changes of code that ran."""
        touched = {name for name in {**before.names, **after.names} if _name(before, name) != _name(after, name)}
        changed = {at for at, content in before.objects.items() if after.objects[at] != content}
        for at in changed:
            earlier = self.objects.get(at)
            first = earlier[0] if earlier is not None and earlier[1] == before.objects[at] else before.objects[at]
            self.objects[at] = first, after.objects[at]
        for name in {**before.names, **after.names}:
            value = _name(before, name)
            is_reached = name in reached or any(value == _name(before, each) for each in reached)
            if before.is_array(value):
                is_reached = is_reached or bool(before.leads_to(value) & changed)  # the memory is shared
            own = changed & before.leads_to(value) if is_reached and isinstance(value, Ref) else set()
            if name in touched or own:
                self._add(name, NameDone(value, _name(after, name), name in touched, own))
        self.objects = {at: (old, new) for at, (old, new) in self.objects.items() if old != new}
        for name, done in [*self.names.items()]:
            done.objects &= self.objects.keys()
            if not done.is_bound and not done.objects:
                del self.names[name]

    def _add(self, name: str, later: NameDone) -> None:
        earlier = self.names.get(name)
        if earlier is None or earlier.after != later.before:
            self.names[name] = later
            return
        objects = earlier.objects | (set() if earlier.is_bound else later.objects)
        is_bound = (earlier.is_bound or later.is_bound) and earlier.before != later.after
        if is_bound or objects:
            self.names[name] = NameDone(earlier.before, later.after, is_bound, objects)
        else:
            del self.names[name]

    def ended(self, now: Heap) -> None:
        """Ends the turn."""
        self.left = {name: now.copy() for name in self.names}

    def is_undone(self, name: str) -> bool:
        done = self.names[name]
        return (done.unbound or not done.is_bound) and done.objects <= self.back

    def _turning(self, names: Collection[str], *, is_redo: bool) -> tuple[set[int], dict[str, NameDone]]:
        """Returns the objects and names that change."""
        done = {name: self.names[name] for name in names}
        objects = {at for each in done.values() for at in each.objects if (at in self.back) is is_redo}
        return objects, {name: each for name, each in done.items() if each.is_bound and each.unbound is is_redo}

    def turned(self, now: Heap, names: Collection[str], *, is_redo: bool) -> Heap:
        """Returns *now* after undo, or redo, of *names*."""
        heap = now.copy()
        objects, bound = self._turning(names, is_redo=is_redo)
        for at in objects:
            old, new = self.objects[at]
            heap.objects[at] = new if is_redo else old
        for name, done in bound.items():
            target = done.after if is_redo else done.before
            if target is None:
                heap.names.pop(name, None)
            else:
                heap.names[name] = target
        return heap

    def turn(self, now: Heap, then: Heap, names: Collection[str], *, is_redo: bool) -> None:
        """Records undo, or redo, of *names* from *now* to *then*; the reverse restores what *now* had."""
        objects, bound = self._turning(names, is_redo=is_redo)
        for at in objects:
            old, new = self.objects[at]
            self.objects[at] = (now.objects[at], new) if is_redo else (old, now.objects[at])
        for name, done in bound.items():
            if _name(now, name) == (done.after if is_redo else done.before):
                self.was_done = True  # the reverse restores a value that nothing may hold any more
            elif is_redo:
                done.before = _name(now, name)
            else:
                done.after = _name(now, name)
            done.unbound = not is_redo
        self.back = self.back - objects if is_redo else self.back | objects
        for name, left in self.left.items():
            if name in names:
                self.left[name] = then.copy()
            elif self.names[name].objects & objects and _name(then, name) == _name(left, name):
                left.objects.update(then.objects)
            else:
                left.objects.update({at: then.objects[at] for at in objects})

    def loses(self, now: Heap, names: Collection[str], *, is_redo: bool) -> bool:
        """True if undo, or redo, would overwrite a name or an object that somebody changed since."""
        objects, bound = self._turning(names, is_redo=is_redo)
        ends = [(_name(now, name), {done.before, done.after}) for name, done in bound.items()]
        return any(value not in known for value, known in ends) or any(
            now.objects[at] not in self.objects[at] for at in objects
        )

    def is_untouched(self, now: Heap, names: Collection[str]) -> bool:
        """True if all that *names* lead to, before or after, is as the turn left it."""
        return not self.has_edits_within and all(self._is_as_left(name, now) for name in names)

    def _is_as_left(self, name: str, now: Heap) -> bool:
        done, left = self.names[name], self.left[name]
        values = [done.before, done.after, _name(now, name)]
        led = {at for value in values for heap in (left, now) for at in heap.leads_to(value) if at in left.objects}
        same = all(now.objects[at] == left.objects[at] for at in led | done.objects)
        return same and _name(now, name) == _name(left, name)


def _name(heap: Heap, name: str) -> object:
    return heap.names.get(name)
