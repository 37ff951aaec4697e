"""Finds what refers to a variable, and gives one object the state of another in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.arrays import SubclassAttributes, plain_array, share_memory
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.kinds import ARRAYS, class_name, is_primitive, is_same, library_class, weak_reference
from agentnb.kernel.variables.states import CannotRestore, attributes_of
from agentnb.kernel.variables.summary import ValueSummary, estimated_size, summarize_value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from agentnb.kernel.variables.keeper import Mode
    from agentnb.kernel.variables.states import State

LIMIT = 512_000_000  # default limit for copies, in bytes


class AllBut:
    """The ids of all objects but one."""

    def __init__(self, value: Any) -> None:
        self._id = id(value)

    def __contains__(self, at: object) -> bool:
        return at != self._id


def state_of(value: Any, limit: int, mode: Mode = "keep") -> State | None:
    """The state of an object itself, not of its contents; None if it has none, or if *limit* bytes are too few."""
    kept = Keeper({"": value}, limit, mode=mode, skip=AllBut(value)).keep([""]).objects.get(id(value))
    return kept.state if kept is not None and kept.state.is_kept else None


def overwrite(value: Any, other: Any, limit: int) -> None:
    """Give *value* the state of *other* in place; both then contain the same objects.

    Raises:
        CannotRestore: If that cannot be done in place.
    """
    if value is other:
        return
    if library_class(type(value), ("numpy.ndarray",)):
        _overwrite_array(value, other)
        return
    state = state_of(other, limit)
    if state is None:
        raise CannotRestore(class_name(type(value)))
    state.restore(value)


def _overwrite_array(value: Any, other: Any) -> None:
    if type(value) is not type(other):
        raise CannotRestore(class_name(type(other)))
    plain, new = plain_array(value), plain_array(other)
    if plain.shape != new.shape or plain.dtype != new.dtype:
        raise CannotRestore(class_name(type(value)))
    if not plain.flags.writeable:
        try:
            plain.flags.writeable = True
        except ValueError as error:
            raise CannotRestore(class_name(type(value))) from error
    plain[...] = new
    if attributes_of(value) is not None:
        SubclassAttributes(other).restore(value)
    value.flags.writeable = other.flags.writeable


class Reference:
    """An object, held or only followed by a weak reference."""

    def __init__(self, value: Any) -> None:
        self.size = 0
        self.mark: Mark | None = None
        self._refer(value)

    def _refer(self, value: Any) -> None:
        self._held: tuple[Any, ...] = (value,)
        self._weak = weak_reference(value, lambda _: self._forget())

    def _forget(self) -> None:
        self.mark = None

    @property
    def objects(self) -> tuple[Any, ...]:
        """The object if it still exists, else nothing."""
        if self._held or self._weak is None:
            return self._held
        value = self._weak()
        return () if value is None else (value,)

    @property
    def value(self) -> Any:
        """The object, which must still exist."""
        (value,) = self.objects
        return value

    @property
    def is_available(self) -> bool:
        """True if the object still exists, held here or referred to elsewhere."""
        return bool(self.objects)

    @property
    def is_held(self) -> bool:
        """True if this reference keeps the object alive."""
        return bool(self._held)

    @property
    def is_followed(self) -> bool:
        """True if a weak reference shows whether the object still exists."""
        return self._weak is not None

    @property
    def is_as_read(self) -> bool:
        """True if nobody has changed the object in place since it was read, or if it is gone."""
        return self.mark is None or self.mark.matches()

    def replace(self, old: Any, new: Any) -> None:
        """Refer to *new* if this now refers to *old*."""
        if any(each is old for each in self.objects):
            was_held = self.is_held
            self._refer(new)
            if not was_held and self.is_followed:
                self._held = ()

    @property
    def is_gone(self) -> bool:
        """True if nobody refers to the object any more."""
        return self._weak is not None and not self.objects

    def hold(self) -> None:
        """Keep the object alive from now on, if it still exists."""
        self._held = self.objects

    def let_go(self) -> tuple[Any, ...]:
        """Stop holding the object; returns what was held, to be freed on the main thread."""
        held, self._held = self._held, ()
        return held


class Mark:
    """The state of an object and of all in it, except for the objects whose ids are in *skip*; no memory is copied."""

    def __init__(self, value: Any, skip: Container[int]) -> None:
        marked = Keeper({"": value}, LIMIT, mode="mark", skip=skip).keep([""])
        self.entries: list[tuple[int, Callable[[], Any], State]] = [
            (each.at, _followed(each.follow()), each.state) for each in marked.objects.values()
        ]
        self.earlier: Mark | None = None  # also counted: copies from turns before others were undone or redone

    def matches(self) -> bool:
        """True if all that still exists is as it was read, or as the earlier mark has it."""
        return self._matches() or (self.earlier is not None and self.earlier.matches())

    def _matches(self) -> bool:
        for _, follow, state in self.entries:
            value = follow()
            try:
                if value is not None and not state.matches(value):
                    return False
            except Exception:  # noqa: BLE001 - a broken object, or changed by another thread meanwhile
                return False
        return True

    def add(self, other: Mark, changed: Sequence[Any] = ()) -> None:
        """Add the entries of *other*, except for the objects *changed* since and arrays that share their memory."""
        about = other._about(changed)
        self.entries += [each for number, each in enumerate(other.entries) if number not in about]

    def read_again(self, values: Sequence[Any]) -> None:
        """Read *values*, and arrays that share memory with one, again; keep what was read of all else."""
        for number in self._about(values):
            value = self.entries[number][1]()
            if value is not None:
                self.entries[number : number + 1] = Mark(value, AllBut(value)).entries

    def is_about(self, values: Sequence[Any]) -> bool:
        """True if one of *values*, or an array that shares memory with one, is among the objects."""
        return bool(self._about(values))

    def _about(self, values: Sequence[Any]) -> set[int]:
        """The indexes of the entries about *values*, or about arrays that share memory with one."""
        ids, arrays = {id(each) for each in values}, [each for each in values if _is_array(each)]
        about = set()
        for number, (at, follow, _) in enumerate(self.entries):
            value = follow() if arrays else None
            if at in ids or (_is_array(value) and any(share_memory(value, each) for each in arrays)):
                about.add(number)
        return about


def _is_array(value: Any) -> bool:
    return library_class(type(value), ARRAYS) is not None


def _followed(value: Any) -> Callable[[], Any]:
    return weak_reference(value) or (lambda: value)


class Binding(Reference):
    """The object that a name was bound to."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(value)
        self.summary: ValueSummary = summarize_value(value, name)

    def measure(self) -> None:
        for value in self.objects:
            self.size: int = estimated_size(value)

    def read(self, skip: Container[int] = frozenset()) -> None:
        """Remember the object's current state."""
        for value in self.objects:
            self.mark: Mark | None = None if is_primitive(value) else Mark(value, skip)

    def read_beside(self) -> None:
        """Remember the object's current state, besides its state when the turn left it."""
        before = self.mark
        self.read()
        if self.mark is not None and before is not None:
            self.mark.earlier = before.earlier or before

    def read_with(self, earlier: Binding | None, changed: Sequence[ObjectChange]) -> None:
        """Also remember the state that *earlier* has, but the current state of the objects *changed* since."""
        if self.mark is None:
            return
        if earlier is not None and earlier.mark is not None:
            self.mark.add(earlier.mark, [value for each in changed for value in each.objects])
        for mark in filter(None, (each.mark for each in changed)):
            self.mark.add(mark)

    def is_of(self, value: Any) -> bool:
        """True if *value* is this very object, or a number or text that equals it."""
        return any(is_same(each, value) for each in self.objects)


class ObjectChange(Reference):
    """An object that was changed in place."""

    def __init__(self, value: Any, before: State, number: int) -> None:
        super().__init__(value)
        self._target: State | None = before if before.is_kept else None
        self.number = number  # of the look at all objects that found the change, in order of time
        self._other: Any = None
        self.undone: bool = False  # True if the object has its earlier state again
        self.is_stale: bool = False  # True if somebody else has changed it since: the next change starts from that
        self.still: tuple[str, ...] = ()  # names that still lead to the object after another object replaced it
        self.read()
        if self.is_followed:  # keep only a weak reference to the object from now on: something else holds it
            super().let_go()

    def read(self) -> None:
        """Remember the state of the object itself, not of its contents."""
        for value in self.objects:
            self.mark = Mark(value, AllBut(value))

    @property
    def can_turn(self) -> bool:
        """True if its other state is still kept, or if nobody refers to the object any more."""
        return self._target is not None or self._other is not None or self.is_gone

    @property
    def is_back(self) -> bool:
        """True if the object already is as undo (or redo) would make it, or is gone."""
        return self.is_gone or any(self._target is not None and self._target.matches(each) for each in self.objects)

    def measure(self) -> None:
        """Measure the bytes held for this object alone."""
        self.size: int = 0
        if self._target is not None:
            beside = self._target.held_beside(self.value) if self.objects else 0
            self.size = self._target.size + beside

    def let_go(self) -> tuple[Any, ...]:
        held = (*super().let_go(), self._target, self._other)
        self._target = self._other = None
        return held

    def merged(self, later: ObjectChange) -> ObjectChange:
        """Merge with a later change; only the later one counts if somebody else changed the object in between."""
        if self.undone or self.is_stale or self._target is None:
            return later
        self.mark = later.mark
        return self

    def turn(self, limit: int, bind: Callable[[Any, Any], tuple[str, ...]]) -> None:
        """Undo the object's change, or redo it; read the object afterwards.

        If that cannot be done in place, *bind* binds the object's names to another object, and returns the names that
        still lead to the old one.
        """
        for value in self.objects:
            if self._other is not None:
                self._swap(value, self._other, bind)
            else:
                self._restore(value, limit, bind)
        self.undone = not self.undone
        self.is_stale = False

    def _restore(self, value: Any, limit: int, bind: Callable[[Any, Any], tuple[str, ...]]) -> None:
        target = self._target
        if target is None:
            raise CannotRestore(class_name(type(value)))
        now = state_of(value, limit)
        try:
            target.restore(value)
        except CannotRestore:
            self._swap(value, target.rebuilt(), bind)
            return
        self._target = now

    def _swap(self, value: Any, other: Any, bind: Callable[[Any, Any], tuple[str, ...]]) -> None:
        self.still = bind(value, other)
        self._other = value
        self.replace(value, other)
