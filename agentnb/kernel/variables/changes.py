"""The variables that an agent changed in a turn, and whether they can be bound again as they were."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Literal

from agentnb.kernel.variables.fingerprint import fingerprint, is_primitive
from agentnb.kernel.variables.summary import ValueSummary, difference, estimated_size, summarize_value

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = Literal["added", "changed", "deleted"]

_KEPT = "It was kept: the old object is no longer held."
_IN_PLACE = "It was changed in place, which cannot be undone."
_PARTLY = "Before, the object was changed in place, too: undo binds it again as it is now."


class Binding:
    """The object that a name was bound to."""

    def __init__(self, name: str, value: Any) -> None:
        self.summary: ValueSummary = summarize_value(value, name)
        self.size = 0
        self.contents: object | None = None
        self._held: tuple[Any, ...] = (value,)
        self._weak: weakref.ref[Any] | None = None
        with contextlib.suppress(TypeError):
            self._weak = weakref.ref(value)

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

    def hold(self) -> None:
        """Hold the object from now on, where it is still there."""
        self._held = self.objects

    def let_go(self) -> tuple[Any, ...]:
        """Hold the object no longer; returns what was held, to be freed on the main thread."""
        held, self._held = self._held, ()
        return held

    def measure(self) -> None:
        """Estimate the object's size."""
        for value in self.objects:
            self.size = estimated_size(value)

    def read(self) -> None:
        """Remember the object's fingerprint."""
        for value in self.objects:
            self.contents = fingerprint(value)

    def is_of(self, value: Any) -> bool:
        """True if *value* is this very object, or a number or text that equals it."""
        return any(is_same(each, value) for each in self.objects)


def is_same(one: Any, other: Any) -> bool:
    """True if both are one object, or equal numbers or texts of one type."""
    return one is other or (is_primitive(one) and type(one) is type(other) and bool(one == other))


class NameChange:
    """The change of one name by code, and whether that is undone or kept."""

    def __init__(
        self, name: str, before: Binding | None, after: Binding | None, *, rebound: bool = True, in_place: bool = False
    ) -> None:
        self.name = name
        self.id = variable_id(name)
        self.before = before
        self.after = after
        self.rebound = rebound
        self.in_place = in_place
        self.undone = False
        self.kept = False

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
        bound.
        """
        if not _is_one(self.after, later.before):
            return later
        in_place = self.in_place or (later.in_place and not self.rebound)
        rebound = (self.rebound or later.rebound) and not _is_one(self.before, later.after)
        if not rebound and not in_place:
            return None
        return NameChange(self.name, self.before, later.after, rebound=rebound, in_place=in_place)

    @property
    def source(self) -> Binding | None:
        """The object that undo (or redo) expects the name to be bound to: what the turn (or undo) left."""
        return self.before if self.undone else self.after

    @property
    def target(self) -> Binding | None:
        """The object that undo (or redo) binds the name to."""
        return self.after if self.undone else self.before

    @property
    def refusal(self) -> str | None:
        """Returns why it cannot be undone, or redone."""
        if not self.rebound:
            return _IN_PLACE
        if self.kept:
            return _KEPT
        if self.target is not None and not self.target.is_available:
            return f"The {'new' if self.undone else 'old'} object is no longer held: {_room(self.target)}."
        if self.source is not None and not (self.source.is_held or self.source.is_followed):
            return f"Whether the variable is still as the turn left it is not known: {_room(self.source)}."
        return None

    def is_done(self, names: Mapping[str, Any]) -> bool:
        """True if the name is bound to the target already."""
        return self._is_bound(self.target, names)

    def is_untouched(self, names: Mapping[str, Any]) -> bool:
        """True if the name is bound to the source, and that has not been changed in place since."""
        source = self.source
        if source is None or source.contents is None or not self._is_bound(source, names):
            return self._is_bound(source, names)
        return fingerprint(names[self.name]) == source.contents

    def _is_bound(self, binding: Binding | None, names: Mapping[str, Any]) -> bool:
        if binding is None or self.name not in names:
            return binding is None and self.name not in names
        return binding.is_of(names[self.name])

    def reverse(self, replaced: Binding | None) -> None:
        """Note that it was undone, or redone: the name is bound to the target now, and was bound to *replaced*."""
        if self.undone:
            self.before = replaced
        else:
            self.after = replaced
        self.undone = not self.undone

    @property
    def detail(self) -> str:
        """The objects before and after, in a line."""
        if self.before is not None and self.after is not None:
            return difference(self.before.summary, self.after.summary)
        return "".join(each.summary.text for each in self.bindings)

    @property
    def reason(self) -> str | None:
        """Returns why it cannot be undone or redone, or is undone only in part."""
        return self.refusal or (_PARTLY if self.in_place else None)


def variable_id(name: str) -> str:
    return f"variable:{name}"


def _is_one(one: Binding | None, other: Binding | None) -> bool:
    if one is None or other is None:
        return one is other
    return any(one.is_of(each) for each in other.objects)


def _room(binding: Binding) -> str:
    return f"it holds about {max(1, round(binding.size / 1_000_000)):,} MB, and room is limited"
