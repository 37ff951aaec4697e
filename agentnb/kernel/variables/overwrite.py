"""Makes an object what another one is, in place: everything that refers to it sees that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.arrays import SubclassAttributes, plain_array
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.kinds import class_name, library_class
from agentnb.kernel.variables.states import CannotRestore, attributes_of

if TYPE_CHECKING:
    from agentnb.kernel.variables.keeper import Mode
    from agentnb.kernel.variables.states import State


class AllBut:
    """The ids of all objects but one."""

    def __init__(self, value: Any) -> None:
        self._id = id(value)

    def __contains__(self, at: object) -> bool:
        return at != self._id


def state_of(value: Any, limit: int, mode: Mode = "keep") -> State | None:
    """The state of an object itself, not of what is in it; None where it has none, or *limit* bytes are too few."""
    kept = Keeper({"": value}, limit, mode=mode, skip=AllBut(value)).keep([""]).objects.get(id(value))
    return kept.state if kept is not None and kept.state.is_kept else None


def overwrite(value: Any, other: Any, limit: int) -> None:
    """Make *value* what *other* is, with the objects that are in that.

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
