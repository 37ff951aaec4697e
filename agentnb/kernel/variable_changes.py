"""The variables that an agent changed in a turn, and whether they can be bound again as they were."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.kernel.object_size import estimated_size
from agentnb.kernel.value_fingerprint import fingerprint, is_primitive
from agentnb.kernel.value_text import ValueSummary, difference, summarize_value

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = Literal["added", "changed", "deleted"]

_KEPT = "It was kept: the old object is no longer held."
_IN_PLACE = "It was changed in place, which cannot be undone."
_PARTLY = "Before, the object was changed in place, too: undo binds it again as it is now."


class VariableChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A variable that a turn changed."""

    id: str
    name: str
    status: Status
    before: str | None
    after: str | None
    detail: str
    undoable: bool
    undone: bool = False
    reason: str | None = None


class Binding:
    """What a name was bound to. The object is held until :meth:`let_go`."""

    def __init__(self, name: str, value: Any) -> None:
        self.summary: ValueSummary = summarize_value(value, name)
        self.size = 0
        self.contents: object | None = None
        self._held: tuple[Any, ...] = (value,)
        self._weak: weakref.ref[Any] | None = None
        with contextlib.suppress(TypeError):
            self._weak = weakref.ref(value)

    @property
    def is_available(self) -> bool:
        """Whether the object is still there, held or because something else refers to it."""
        return bool(self._held) or (self._weak is not None and self._weak() is not None)

    @property
    def value(self) -> Any:
        """The object."""
        found = self._held[0] if self._held else self._weak() if self._weak is not None else None
        if found is None and not self._held:
            raise LookupError
        return found

    def hold(self) -> None:
        """Hold the object from now on, where it is still there."""
        if not self._held and self.is_available:
            self._held = (self.value,)

    @property
    def is_held(self) -> bool:
        """Whether the object stays because of this."""
        return bool(self._held)

    @property
    def is_followed(self) -> bool:
        """Whether a weak reference says if the object is still there."""
        return self._weak is not None

    @property
    def is_known(self) -> bool:
        """Whether another object can be told from this one."""
        return self.is_held or self.is_followed

    def let_go(self) -> tuple[Any, ...]:
        """Hold the object no longer; returns what was held, to be freed on the main thread."""
        held, self._held = self._held, ()
        return held

    def measure(self) -> int:
        """Estimate the object's size."""
        if self.is_available:
            self.size = estimated_size(self.value)
        return self.size

    def is_of(self, value: Any) -> bool:
        """Whether *value* is this very object, or a number or text that equals it."""
        if not self.is_available:
            return False
        return same(self.value, value)


def same(one: Any, other: Any) -> bool:
    """Whether both are one object, or equal numbers or texts of one type."""
    return one is other or (is_primitive(one) and type(one) is type(other) and bool(one == other))


class NameChange:
    """What code did to one name, and whether that is undone or kept."""

    def __init__(
        self, name: str, before: Binding | None, after: Binding | None, *, rebound: bool = True, in_place: bool = False
    ) -> None:
        self.name = name
        self.before = before
        self.after = after
        self.rebound = rebound
        self.in_place = in_place
        self.undone = False
        self.kept = False

    @property
    def description(self) -> str:
        """The name and what was done to it, such as ``df changed`` or ``xs changed in place``."""
        if not self.rebound:
            return f"{self.name} changed in place"
        return f"{self.name} {'added' if self.before is None else 'deleted' if self.after is None else 'changed'}"

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
    def id(self) -> str:
        """The change's id."""
        return variable_id(self.name)

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
        """Why it cannot be undone, or redone."""
        if not self.rebound:
            return _IN_PLACE
        if self.kept:
            return _KEPT
        if self.target is not None and not self.target.is_available:
            return f"The {'new' if self.undone else 'old'} object is no longer held: {_room(self.target)}."
        if self.source is not None and not self.source.is_known:
            return f"Whether the variable is still as the turn left it is not known: {_room(self.source)}."
        return None

    def reverse(self, replaced: Binding | None) -> None:
        """Note that it was undone, or redone: the name is bound to the target now, and was bound to *replaced*."""
        if self.undone:
            self.before = replaced
        else:
            self.after = replaced
        self.undone = not self.undone

    def as_change(self) -> VariableChange:
        """The change as it is shown."""
        before = None if self.before is None else self.before.summary
        after = None if self.after is None else self.after.summary
        refusal = self.refusal
        return VariableChange(
            id=self.id,
            name=self.name,
            status="added" if before is None else "deleted" if after is None else "changed",
            before=None if before is None else before.text,
            after=None if after is None else after.text,
            detail=_detail(before, after),
            undoable=refusal is None,
            undone=self.undone,
            reason=refusal if refusal is not None else _PARTLY if self.in_place else None,
        )


def _is_one(one: Binding | None, other: Binding | None) -> bool:
    if one is None or other is None:
        return one is other
    return other.is_available and one.is_of(other.value)


def variable_id(name: str) -> str:
    """The id of the change of the variable *name*."""
    return f"variable:{name}"


def is_at(target: Binding | None, names: Mapping[str, Any], name: str) -> bool:
    """Whether *name* is bound to *target* already."""
    return name not in names if target is None else name in names and target.is_of(names[name])


def is_untouched(source: Binding | None, names: Mapping[str, Any], name: str) -> bool:
    """Whether *name* is bound to *source*, and that has not been changed in place since it was seen."""
    if source is None or not is_at(source, names, name):
        return source is None and name not in names
    return source.contents is None or fingerprint(names[name]) == source.contents


def _detail(before: ValueSummary | None, after: ValueSummary | None) -> str:
    if before is None or after is None:
        return (before or after or ValueSummary("")).text
    return difference(before, after)


def _room(binding: Binding) -> str:
    return f"it holds about {max(1, round(binding.size / 1_000_000)):,} MB, and room is limited"
