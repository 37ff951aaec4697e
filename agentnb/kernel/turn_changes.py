"""The changes of one turn in the kernel and the notebook, and the conflicts of undoing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from agentnb.errors import KernelChangesConflict
from agentnb.kernel.variables.changes import ChangeSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.kernel.cell_changes import CellOrder, CellRecord
    from agentnb.ports import StepComparison
    from agentnb.state import DataCheck

Choice = Literal["mine", "theirs"]
"""The answer to a conflict: leave what is there now (``"mine"``), or replace it (``"theirs"``)."""


class KernelTurn:
    """The changes of one turn."""

    def __init__(self) -> None:
        self.cells: dict[str, CellRecord] = {}
        self.orders: dict[str, tuple[CellOrder, CellOrder]] = {}
        """By notebook: the cells before the first and after the last change of their order."""
        self.variables = ChangeSet()
        self.comparison: StepComparison | None = None
        self.data_checks: tuple[DataCheck, ...] = ()
        self.lost: dict[str, str] = {}
        """Names that the agent's code could reach and that cannot be restored, each with the reason."""
        self.ended = False

    def order(self, known_as: Sequence[str]) -> tuple[CellOrder, CellOrder] | None:
        """The cells of a notebook before and after the turn, by the names that it had; None where that is the same."""
        changes = [orders for name, orders in self.orders.items() if name in known_as]
        return (changes[0][0], changes[-1][1]) if changes else None


class KernelConflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell or variable that changed since the turn, so that undo or redo would overwrite somebody's work."""

    id: str
    name: str
    base: str | None
    current: str | None
    target: str | None


def conflicting(conflicts: Sequence[KernelConflict]) -> KernelChangesConflict:
    names = ", ".join(repr(each.name) for each in conflicts)
    verb, them = ("is", "it") if len(conflicts) == 1 else ("are", "them")
    message = f"{names} {verb} other than the turn left {them}."
    hint = "Nothing was changed. For each one, choose whether to keep the current version."
    return KernelChangesConflict(message, hint=hint, conflicts=tuple(conflicts))
