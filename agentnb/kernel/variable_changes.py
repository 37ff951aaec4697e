"""The variables that an agent changed in a turn, and whether they can be bound again as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.kernel.value_fingerprint import fingerprint
from agentnb.kernel.value_text import ValueSummary, difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.kernel.variable_watch import Binding, NameChange

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


class VariableRecord:
    """One changed variable of one turn."""

    def __init__(self, change: NameChange) -> None:
        self.change = change
        self.undone = False
        self.kept = False

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.change.name

    @property
    def id(self) -> str:
        """The change's id."""
        return variable_id(self.change.name)

    @property
    def source(self) -> Binding | None:
        """The object that undo (or redo) expects the name to be bound to: what the turn (or undo) left."""
        return self.change.before if self.undone else self.change.after

    @property
    def target(self) -> Binding | None:
        """The object that undo (or redo) binds the name to."""
        return self.change.after if self.undone else self.change.before

    @property
    def refusal(self) -> str | None:
        """Why it cannot be undone, or redone."""
        if not self.change.rebound:
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
            self.change.before = replaced
        else:
            self.change.after = replaced
        self.undone = not self.undone

    def as_change(self) -> VariableChange:
        """The change as it is shown."""
        change = self.change
        before = None if change.before is None else change.before.summary
        after = None if change.after is None else change.after.summary
        refusal = self.refusal
        return VariableChange(
            id=variable_id(change.name),
            name=change.name,
            status="added" if before is None else "deleted" if after is None else "changed",
            before=None if before is None else before.text,
            after=None if after is None else after.text,
            detail=_detail(before, after),
            undoable=refusal is None,
            undone=self.undone,
            reason=refusal if refusal is not None else _PARTLY if change.in_place else None,
        )


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
