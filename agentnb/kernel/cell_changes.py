"""The cells that an agent changed in a turn, and the steps that undo or redo it."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentnb.kernel.cell_names import cell_name, first_line
from agentnb.kernel.code_runner import CellStep

Status = Literal["added", "changed", "deleted"]

_KEPT = "It was kept: its old text is no longer held."
_UNKNOWN = "The page did not say the cell's old text, so it cannot be put back. Reload the page."


class CellText(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell at one time.

    Attributes:
        source: Its text.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
    """

    source: str
    kind: str


class CellChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell that a turn changed.

    Attributes:
        id: ``cell:<the cell's id>``.
        name: The cell as the notebook shows it, with its first line: ``In [3]: df.head()``.
        notebook: The notebook's path on the Jupyter server.
        status: ``"added"``, ``"changed"`` or ``"deleted"``.
        before: The cell before; None where there was none.
        after: The cell after; None where there is none.
        undoable: Whether it can be undone, or redone where it is undone.
        undone: Whether it is undone.
        reason: Why it cannot be undone; a sentence.
        offered: Whether the page has not been given it yet; it counts as undone until then.
        from_file: Whether the agent wrote it to the notebook's file.
    """

    id: str
    name: str
    notebook: str
    status: Status
    before: CellText | None
    after: CellText | None
    undoable: bool
    undone: bool = False
    reason: str | None = None
    offered: bool = False
    from_file: bool = False


class CellRecord(msgspec.Struct, kw_only=True):
    """One changed cell of one turn.

    Args:
        cell_id: The cell.
        notebook: The notebook's path on the Jupyter server.
        kind: The cell's kind.
        before: Its text before; None where there was no such cell.
        after: Its text after; None where there is none.
        is_known: Whether *before* is known; else it is what the page last told of the cell.
        count: The cell's execution count.
        below: The cell above it.
        index: Its place, from 0.
        undone: Whether it is undone.
        kept: Whether the user has accepted it.
        offered: Whether the page has not been given it yet: the agent wrote it to the notebook's file.
        from_file: Whether the agent wrote it there.
        file_hashes: That file's SHA-256 before and after, where the agent changed only cells in it.
    """

    cell_id: str
    notebook: str
    kind: str
    before: str | None
    after: str | None
    is_known: bool = True
    count: int | None = None
    below: str | None = None
    index: int = 0
    undone: bool = False
    kept: bool = False
    offered: bool = False
    from_file: bool = False
    file_hashes: tuple[str, str] | None = None

    @property
    def id(self) -> str:
        """The change's id."""
        return cell_change_id(self.cell_id)

    @property
    def name(self) -> str:
        """The cell as the notebook shows it, with its first line."""
        line = first_line(self.after if self.after is not None else self.before or "").strip("`")
        shown = cell_name(self.kind, self.count)
        return f"{shown}: {line}" if line else shown

    @property
    def refusal(self) -> str | None:
        """Why it cannot be undone, or redone."""
        return _KEPT if self.kept else None if self.is_known else _UNKNOWN

    @property
    def source(self) -> str | None:
        """The text that undo (or redo) expects in the cell: what the turn (or undo) left."""
        return self.before if self.undone else self.after

    @property
    def target(self) -> str | None:
        """The text that undo (or redo) gives the cell."""
        return self.after if self.undone else self.before

    def merged(self, later: CellRecord) -> CellRecord | None:
        """This and a later change of the cell as one; None where the text is as before.

        Where the user has changed the cell in between, only the later change counts: undone, it gives back theirs.
        """
        if self.undone or self.kept or later.before != self.after:
            return later
        if self.before == later.after and self.is_known:
            return None
        return msgspec.structs.replace(later, before=self.before, is_known=self.is_known, below=self.below)

    def step(self, expected: str | None) -> CellStep:
        """The step for the page that undoes it, or redoes it.

        Args:
            expected: The text that the cell must have; None where it must not be there.
        """
        target = self.target
        action: Literal["insert", "replace", "delete"] = "replace"
        if target is None or expected is None:
            action = "delete" if target is None else "insert"
        return CellStep(
            action=action,
            cell_id=self.cell_id,
            kind=self.kind,
            source=target or "",
            expected=expected or "",
            below=self.below,
            index=self.index,
        )

    def reverse(self, replaced: str | None) -> None:
        """Note that it was undone, or redone: the cell has the target's text now, and had the text *replaced*."""
        if self.undone:
            self.before = replaced
        else:
            self.after = replaced
        self.undone, self.offered = not self.undone, False

    def as_change(self) -> CellChange:
        """The change as it is shown."""
        before = None if self.before is None else CellText(source=self.before, kind=self.kind)
        after = None if self.after is None else CellText(source=self.after, kind=self.kind)
        refusal = self.refusal
        return CellChange(
            id=self.id,
            name=self.name,
            notebook=self.notebook,
            status="added" if before is None else "deleted" if after is None else "changed",
            before=before,
            after=after,
            undoable=refusal is None,
            undone=self.undone,
            reason=refusal,
            offered=self.offered,
            from_file=self.from_file,
        )


def cell_change_id(cell_id: str) -> str:
    """The id of the change of a cell."""
    return f"cell:{cell_id}"
