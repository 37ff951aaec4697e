"""The variables that an agent changed: names that it bound, and objects that it changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentnb.kernel.variables.summary import difference

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from agentnb.kernel.variables.references import Binding, ObjectChange, Reference

Status = Literal["added", "changed", "deleted"]
_KEPT = "It was kept: what was there before is no longer held."


class NameChange:
    """One name's change by code: of the object it is bound to, of what is in that object, or of both."""

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
        self.id: str = variable_id(name)
        self.before = before
        self.after = after
        self.rebound = rebound
        self.objects: list[ObjectChange] = [*objects]
        self.unbound: bool = False
        self.kept = False
        self.lost = ""
        self._is_elsewhere = False

    @property
    def undone(self) -> bool:
        """True if the name and all changed objects in it have been undone."""
        return (self.unbound or not self.rebound) and all(each.undone for each in self.objects)

    @property
    def status(self) -> Status:
        return "added" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def description(self) -> str:
        """The name and what was done to it, such as ``df changed`` or ``xs changed in place``."""
        return f"{self.name} {self.status if self.rebound else 'changed in place'}"

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The bindings before and after; either can be missing."""
        return tuple(filter(None, (self.before, self.after)))

    def merged(self, later: NameChange) -> NameChange | None:
        """This and a later change of the name, merged into one; None if together they change nothing.

        If somebody else bound the name in between, only the later change counts: its undo restores their binding. An
        object bound only during the turn is not brought back to a state from the middle of the turn.
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
        """The objects to undo (or redo): those whose ``undone`` is *undone*."""
        return [each for each in self.objects if each.undone is undone]

    def is_rebinding(self, *, undone: bool) -> bool:
        """True if undo (or redo, if *undone*) binds the name to another object."""
        return self.rebound and self.unbound is undone

    @property
    def refusal(self) -> str | None:
        """Returns the reason the change cannot be undone (or redone), or None if it can."""
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
        """True if everything is already as undo (or redo) would make it."""
        is_bound = not self.is_rebinding(undone=undone) or self.is_bound(self.target, names)
        return is_bound and all(each.is_back for each in self.turning(undone=undone))

    def is_untouched(self, names: Mapping[str, Any], *, undone: bool) -> bool:
        """True if the name is bound to the source, and nothing that is brought back has been changed since."""
        if not all(each.is_as_read for each in self.turning(undone=undone)):
            return False
        if self._is_elsewhere:
            return True
        return self.is_bound(self.source, names) and (self.source is None or self.source.is_as_read)

    def is_bound(self, binding: Binding | None, names: Mapping[str, Any]) -> bool:
        """True if the name is bound to what *binding* is, or to nothing if it is None."""
        if binding is None or self.name not in names:
            return binding is None and self.name not in names
        return binding.is_of(names[self.name])

    def note_binding(self, names: Mapping[str, Any]) -> None:
        """After its objects were undone or redone, note whether the name leads elsewhere, as the user accepted."""
        self._is_elsewhere = not self.rebound and not self.is_bound(self.source, names)

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
        """Returns the reason the change cannot be undone or redone, or only in part; None if there is none."""
        if (refusal := self.refusal) is not None:
            return refusal
        still = dict.fromkeys(name for each in self.objects for name in each.still)
        if still:
            return f"It could not be changed in place: {', '.join(still)} still has the other object."
        if " " in self.lost:  # a reason; otherwise the name of a class
            return f"In part, because {self.lost}."
        return f"In part: {self.lost} in it can't be restored." if self.lost else None


class ChangeSet:
    """The changes of names and objects by code, joined as they come."""

    def __init__(self) -> None:
        self.names: dict[str, NameChange] = {}
        self.objects: dict[int, ObjectChange] = {}

    def find_stale(self) -> None:
        """When code resumes, note which objects somebody else has changed since."""
        for each in self.objects.values():
            each.is_stale = each.is_stale or not each.is_as_read

    def add(self, change: NameChange) -> None:
        """Add a later change of a name, with its objects."""
        change.objects = [*dict.fromkeys(self._joined(each) for each in change.objects)]
        earlier = self.names.pop(change.name, None)
        merged = change if earlier is None else earlier.merged(change)
        if merged is None:
            return
        # A later change of an object replaces one that was undone or that other code has changed since.
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
