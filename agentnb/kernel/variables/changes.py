"""The variables that an agent changed: names that it bound, and objects that it changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agentnb.kernel.variables.arrays import share_memory
from agentnb.kernel.variables.kinds import ARRAYS, class_name, is_primitive, is_same, library_class, weak_reference
from agentnb.kernel.variables.snapshot import Keeper
from agentnb.kernel.variables.states import CannotRestore
from agentnb.kernel.variables.summary import ValueSummary, difference, estimated_size, summarize_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from agentnb.kernel.variables.states import State

Status = Literal["added", "changed", "deleted"]
LIMIT = 512_000_000
"""Bytes of copies where no setting says."""
_KEPT = "It was kept: what was there before is no longer held."


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
        """The object, where it is still there; else nothing."""
        if self._held or self._weak is None:
            return self._held
        value = self._weak()
        return () if value is None else (value,)

    @property
    def value(self) -> Any:
        """The object, which is still there."""
        (value,) = self.objects
        return value

    @property
    def is_available(self) -> bool:
        """True if the object is still there, held or because something else refers to it."""
        return bool(self.objects)

    @property
    def is_held(self) -> bool:
        """True if the object stays because of this."""
        return bool(self._held)

    @property
    def is_followed(self) -> bool:
        """True if a weak reference shows whether the object is still there."""
        return self._weak is not None

    @property
    def is_as_read(self) -> bool:
        """True if nobody has changed the object in place since it was read; also where it is gone."""
        return self.mark is None or self.mark.matches()

    def replace(self, old: Any, new: Any) -> None:
        """Refer to *new* in the place of *old*."""
        if any(each is old for each in self.objects):
            was_held = self.is_held
            self._refer(new)
            if not was_held and self.is_followed:
                self._held = ()

    @property
    def is_gone(self) -> bool:
        """True if nobody has the object any more."""
        return self._weak is not None and not self.objects

    def hold(self) -> None:
        """Hold the object from now on, where it is still there."""
        self._held = self.objects

    def let_go(self) -> tuple[Any, ...]:
        """Hold the object no longer; returns what was held, to be freed on the main thread."""
        held, self._held = self._held, ()
        return held


class Mark:
    """What an object and all in it are like, but for the objects whose ids are in *skip*; no memory is copied."""

    def __init__(self, value: Any, skip: Container[int]) -> None:
        marked = Keeper({"": value}, LIMIT, mode="mark", skip=skip).keep([""])
        self._entries = [(each.at, _followed(each.follow()), each.state) for each in marked.objects.values()]

    def matches(self) -> bool:
        """True if all is like that now, as far as it is still there."""
        for _, follow, state in self._entries:
            value = follow()
            try:
                if value is not None and not state.matches(value):
                    return False
            except Exception:  # noqa: BLE001 - a broken object, or changed by another thread meanwhile
                return False
        return True

    def add(self, other: Mark, changed: Sequence[Any] = ()) -> None:
        """Count what *other* knows, too, but for the objects *changed* since, and arrays that have memory of those."""
        about = other._about(changed)
        self._entries += [each for number, each in enumerate(other._entries) if number not in about]

    def is_about(self, values: Sequence[Any]) -> bool:
        """True if one of *values*, or an array that has memory of one, is among the objects."""
        return bool(self._about(values))

    def _about(self, values: Sequence[Any]) -> set[int]:
        """The numbers of the entries about *values*, or about arrays that have memory of those."""
        ids, arrays = {id(each) for each in values}, [each for each in values if _is_array(each)]
        about = set()
        for number, (at, follow, _) in enumerate(self._entries):
            value = follow() if arrays else None
            if at in ids or (_is_array(value) and any(share_memory(value, each) for each in arrays)):
                about.add(number)
        return about


def _is_array(value: Any) -> bool:
    return library_class(type(value), ARRAYS) is not None


def _followed(value: Any) -> Callable[[], Any]:
    return weak_reference(value) or (lambda: value)


class _AllBut:
    """The ids of all objects but one."""

    def __init__(self, value: Any) -> None:
        self._id = id(value)

    def __contains__(self, at: object) -> bool:
        return at != self._id


class Binding(Reference):
    """The object that a name was bound to."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(value)
        self.summary: ValueSummary = summarize_value(value, name)

    def measure(self) -> None:
        """Estimate the object's size."""
        for value in self.objects:
            self.size = estimated_size(value)

    def read(self, skip: Container[int] = frozenset()) -> None:
        """Remember what the object is like."""
        for value in self.objects:
            self.mark = None if is_primitive(value) else Mark(value, skip)

    def read_with(self, earlier: Binding | None, changed: Sequence[ObjectChange]) -> None:
        """Remember also what *earlier* does, but what the objects *changed* since are like now."""
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
    """An object that was changed in place.

    Attributes:
        number: That of the look at all objects that showed it, in their order.
        undone: Whether it is as it was before.
        is_stale: Somebody else has changed it since: what changes it next changes what they left.
        still: Names that lead to the object whose place another had to take.
    """

    def __init__(self, value: Any, before: State, number: int) -> None:
        super().__init__(value)
        self._target: State | None = before if before.is_kept else None
        self.number = number
        self._other: Any = None
        self.undone = False
        self.is_stale = False
        self.still: tuple[str, ...] = ()
        self.read()
        if self.is_followed:
            self.let_go_of_object()

    def let_go_of_object(self) -> None:
        """Follow the object only: something else has it."""
        super().let_go()

    def read(self) -> None:
        """Remember what the object itself is like, not what is in it."""
        for value in self.objects:
            self.mark = Mark(value, _AllBut(value))

    @property
    def can_turn(self) -> bool:
        """True if what it was like is still kept, or nobody has the object any more."""
        return self._target is not None or self._other is not None or self.is_gone

    @property
    def is_back(self) -> bool:
        """True if the object is what undo, or redo, makes of it."""
        return self.is_gone or any(self._target is not None and self._target.matches(each) for each in self.objects)

    def measure(self) -> None:
        """Count what is held for it alone."""
        self.size = 0
        if self._target is not None:
            beside = self._target.held_beside(self.value) if self.objects else 0
            self.size = self._target.size + beside

    def let_go(self) -> tuple[Any, ...]:
        held = (*super().let_go(), self._target, self._other)
        self._target = self._other = None
        return held

    def merged(self, later: ObjectChange) -> ObjectChange:
        """This and a later change as one; the later one alone where somebody else changed the object in between."""
        if self.undone or self.is_stale or self._target is None:
            return later
        self.mark = later.mark
        return self

    def turn(self, limit: int, bind: Callable[[Any, Any], tuple[str, ...]]) -> None:
        """Make the object what it was before, or again what it became; it is to be read then.

        Where that cannot be done in place, *bind* binds the names that have it to another object, and says which lead
        to it still.
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
        now = Keeper({"": value}, limit, skip=_AllBut(value)).keep([""]).objects.get(id(value))
        try:
            target.restore(value)
        except CannotRestore:
            self._swap(value, target.rebuilt(), bind)
            return
        self._target = now.state if now is not None and now.state.is_kept else None

    def _swap(self, value: Any, other: Any, bind: Callable[[Any, Any], tuple[str, ...]]) -> None:
        self.still = bind(value, other)
        self._other = value
        self.replace(value, other)


class NameChange:
    """The change of one name by code: what it is bound to, what is in that, or both."""

    def __init__(
        self,
        name: str,
        before: Binding | None,
        after: Binding | None,
        *,
        rebound: bool = True,
        objects: Iterable[ObjectChange] = (),
    ) -> None:
        self.name = name
        self.id = variable_id(name)
        self.before = before
        self.after = after
        self.rebound = rebound
        self.objects = [*objects]
        self.unbound = False
        self.kept = False
        self.lost = ""
        self._is_elsewhere = False

    @property
    def undone(self) -> bool:
        """True if the name, and all in it, is as before."""
        return (self.unbound or not self.rebound) and all(each.undone for each in self.objects)

    @property
    def status(self) -> Status:
        """``added`` or ``deleted``, else ``changed``."""
        return "added" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def description(self) -> str:
        """The name and what was done to it, such as ``df changed`` or ``xs changed in place``."""
        return f"{self.name} {self.status if self.rebound else 'changed in place'}"

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The objects before and after."""
        return tuple(filter(None, (self.before, self.after)))

    def merged(self, later: NameChange) -> NameChange | None:
        """This and a later change of the name as one; None where all is as before.

        Where somebody else bound the name in between, only the later change counts: undone, it gives back what they
        bound. What a name was bound to within the turn is not brought back to how it was in mid-turn.
        """
        if self.kept or self.undone or not _is_one(self.after, later.before):
            return later
        objects = [*self.objects, *(each for each in later.objects if not self.rebound and each not in self.objects)]
        rebound = (self.rebound or later.rebound) and not _is_one(self.before, later.after)
        if not rebound and not objects:
            return None
        if later.after is not None:
            later.after.read_with(self.after, later.objects)
        merged = NameChange(self.name, self.before, later.after, rebound=rebound, objects=objects)
        merged.lost = self.lost or later.lost
        return merged

    @property
    def source(self) -> Binding | None:
        """The object that undo (or redo) expects the name to be bound to: what the turn (or undo) left."""
        return self.before if self.unbound else self.after

    @property
    def target(self) -> Binding | None:
        """The object that undo (or redo) binds the name to."""
        return self.after if self.unbound else self.before

    def turning(self, *, undone: bool) -> list[ObjectChange]:
        """The objects that are undone, or not, to be turned into the other."""
        return [each for each in self.objects if each.undone is undone]

    def is_rebinding(self, *, undone: bool) -> bool:
        """True if the name is to be bound to another object."""
        return self.rebound and self.unbound is undone

    @property
    def refusal(self) -> str | None:
        """Returns why it cannot be undone, or redone."""
        if self.kept:
            return _KEPT
        if self.rebound and self.target is not None and not self.target.is_available:
            return f"The {'new' if self.undone else 'old'} object is no longer held: {_room(self.target)}."
        if self.source is not None and not (self.source.is_held or self.source.is_followed):
            return f"Whether the variable is still as the turn left it is not known: {_room(self.source)}."
        if any(not each.can_turn for each in self.turning(undone=self.undone)):
            return f"What it was before is not kept: {self.lost or 'room is limited'}."
        return None

    def is_done(self, names: Mapping[str, Any], *, undone: bool) -> bool:
        """True if all is as undo, or redo, makes it already."""
        is_bound = not self.is_rebinding(undone=undone) or self._is_bound(self.target, names)
        return is_bound and all(each.is_back for each in self.turning(undone=undone))

    def is_bound_to_target(self, names: Mapping[str, Any]) -> bool:
        """True if the name is bound to what undo, or redo, binds it to."""
        return self._is_bound(self.target, names)

    def is_untouched(self, names: Mapping[str, Any], *, undone: bool) -> bool:
        """True if the name is bound to the source, and nothing that is brought back has been changed since."""
        if not all(each.is_as_read for each in self.turning(undone=undone)):
            return False
        if self._is_elsewhere:
            return True
        return self._is_bound(self.source, names) and (self.source is None or self.source.is_as_read)

    def _is_bound(self, binding: Binding | None, names: Mapping[str, Any]) -> bool:
        if binding is None or self.name not in names:
            return binding is None and self.name not in names
        return binding.is_of(names[self.name])

    def note_binding(self, names: Mapping[str, Any]) -> None:
        """Its objects were turned: remember that the name leads elsewhere, where the user wanted that all the same."""
        self._is_elsewhere = not self.rebound and not self._is_bound(self.source, names)

    def reverse(self, replaced: Binding | None) -> None:
        """Note that the name is bound to the target now, and was bound to *replaced*."""
        if self.unbound:
            self.before = replaced
        else:
            self.after = replaced
        self.unbound = not self.unbound

    @property
    def detail(self) -> str:
        """The objects before and after, in a line."""
        if self.before is not None and self.after is not None:
            return difference(self.before.summary, self.after.summary)
        return "".join(each.summary.text for each in self.bindings)

    @property
    def reason(self) -> str | None:
        """Returns why it cannot be undone or redone, or is undone only in part."""
        if (refusal := self.refusal) is not None:
            return refusal
        still = dict.fromkeys(name for each in self.objects for name in each.still)
        if still:
            return f"It could not be changed in place: {', '.join(still)} still has the other object."
        if " " in self.lost:  # a reason; else a class
            return f"In part, because {self.lost}."
        return f"In part: {self.lost} in it can't be restored." if self.lost else None


class ChangeSet:
    """The changes of names and objects by code, joined as they come."""

    def __init__(self) -> None:
        self.names: dict[str, NameChange] = {}
        self.objects: dict[int, ObjectChange] = {}

    def find_stale(self) -> None:
        """Code goes on: note which objects somebody else has changed since."""
        for each in self.objects.values():
            each.is_stale = each.is_stale or not each.is_as_read

    def add(self, change: NameChange) -> None:
        """Add a later change of a name, with its objects."""
        change.objects = [*dict.fromkeys(self._joined(each) for each in change.objects)]
        earlier = self.names.pop(change.name, None)
        merged = change if earlier is None else earlier.merged(change)
        if merged is None:
            return
        # A later change of an object takes the place of one that was undone, or that somebody else changed since.
        merged.objects = [*dict.fromkeys(self._known(each) for each in merged.objects)]
        merged.objects = [each for each in merged.objects if each.undone or not each.is_back]
        if merged.rebound or merged.objects:
            self.names[change.name] = merged

    def _joined(self, later: ObjectChange) -> ObjectChange:
        for value in later.objects:
            earlier = self.objects.get(id(value))
            if earlier is later or earlier is None or not any(each is value for each in earlier.objects):
                self.objects[id(value)] = later
                return later
            joined = earlier.merged(later)
            self.objects[id(value)] = joined
            return joined
        return later

    def _known(self, change: ObjectChange) -> ObjectChange:
        return next((self.objects.get(id(value), change) for value in change.objects), change)

    @property
    def references(self) -> Collection[Reference]:
        """All that is held."""
        bindings = (each for change in self.names.values() for each in change.bindings)
        objects = (each for change in self.names.values() for each in change.objects)
        return dict.fromkeys([*bindings, *objects])


def variable_id(name: str) -> str:
    return f"variable:{name}"


def _is_one(one: Binding | None, other: Binding | None) -> bool:
    if one is None or other is None:
        return one is other
    return any(one.is_of(each) for each in other.objects)


def _room(binding: Binding) -> str:
    return f"it holds about {max(1, round(binding.size / 1_000_000)):,} MB, and room is limited"
