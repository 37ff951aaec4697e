"""Changes of cells that an agent proposes, and the names of cells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from agentnb.errors import UsageError
from agentnb.kernel.code_runner import CellStep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agentnb.kernel.code_runner import NotebookCell, NotebookView
    from agentnb.kernel.variables.changes import Status


MOST_TAGS = 50  # the most tags of one cell
LONGEST_TAG = 100
MOST_CHARACTERS = 60  # characters of a cell's first line that a name shows
_NUMBER = re.compile(r"(?:In ?)?\[?(?P<number>\d{1,9})\]?", re.ASCII)
_KEPT = "It was kept: its old text is no longer held."
_UNKNOWN = "The page did not say the cell's old text, so it cannot be put back. Reload the page."


def cell_name(kind: str, count: int | None) -> str:
    if count:
        return f"In [{count}]"
    return "Code cell, not run" if kind == "code" else f"{kind.capitalize()} cell"


def cell_title(cell: NotebookCell) -> str:
    """The name of a cell and its first line, for the middle of a card's title."""
    kind, count, line = cell.kind, cell.count, first_line(cell.source)
    named = f"In [{count}]:" if count else "the cell" if kind == "code" else f"the {kind.capitalize()} cell"
    return f"{named} {line}" if line else named.removesuffix(":") + ("" if count else " that is empty")


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def first_line(source: str) -> str:
    """The first line of *source* that contains words, shortened and formatted as code; '' if there is none."""
    line = next((line.strip() for line in source.splitlines() if line.strip()), "")
    if len(line) > MOST_CHARACTERS:
        line = f"{line[: MOST_CHARACTERS - 1].rstrip()}…"
    return line if not line or "`" in line else f"`{line}`"


def named_cell(named: str, notebook: NotebookView) -> NotebookCell:
    """The cell with the id or the number *named*: ``3``, ``[3]`` and ``In [3]`` are the same."""
    match = _NUMBER.fullmatch(named.strip())
    number = int(match["number"]) if match else None
    cells = [each for each in notebook.cells if each.id and each.id == named]
    cells = cells or [each for each in notebook.cells if number is not None and each.count == number]
    if not cells:
        raise UsageError(
            f"The notebook has no cell {named!r}.", hint="`cells` lists them with their ids and their In [n]."
        )
    doubled = [each for each in notebook.cells if each.id and each.id == cells[0].id]
    if len(doubled) > 1:
        hint = "Ask the user to save the notebook, close it and open it again: then each cell has an id of its own."
        raise UsageError(f"{len(doubled)} cells of the notebook have the id {doubled[0].id!r}.", hint=hint)
    if len(cells) > 1:
        ids = " and ".join(each.id for each in cells)
        raise UsageError(f"{len(cells)} cells show In [{number}].", hint=f"Specify one by its id: {ids}.")
    return cells[0]


class CellPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    notebook: str
    below: str | None = None
    index: int = 0


class CellRecord(msgspec.Struct, kw_only=True):
    """One changed cell of one turn."""

    cell_id: str
    notebook: str
    kind: str
    before: str | None
    after: str | None
    is_known: bool = True
    count: int | None = None
    below: str | None = None
    index: int = 0
    old_kind: str | None = None
    tags: tuple[str, ...] | None = None
    old_tags: tuple[str, ...] | None = None
    cleared: bool = False
    moved: bool = False
    old_below: str | None = None
    old_index: int = 0
    undone: bool = False
    kept: bool = False
    offered: bool = False
    from_file: bool = False
    file_hashes: tuple[str, str] | None = None
    is_in_copy: bool = False

    @property
    def id(self) -> str:
        return cell_change_id(self.cell_id) + (f"@{self.notebook}" if self.is_in_copy else "")

    @property
    def status(self) -> Status:
        return "added" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def name(self) -> str:
        """The cell as the notebook shows it, with its first line."""
        line = first_line(self.after if self.after is not None else self.before or "").strip("`")
        name = cell_name(self.kind, self.count)
        return f"{name}: {line}" if line else name

    @property
    def refusal(self) -> str | None:
        """Returns the reason the change cannot be undone (or redone), or None if it can."""
        return _KEPT if self.kept else None if self.is_known else _UNKNOWN

    @property
    def source(self) -> str | None:
        """The text that undo (or redo) expects in the cell: what the turn (or undo) left."""
        return self.before if self.undone else self.after

    @property
    def target(self) -> str | None:
        """The text that undo (or redo) gives the cell."""
        return self.after if self.undone else self.before

    @property
    def detail(self) -> str:
        """The changes other than to the cell's text, in a few words."""
        if self.before is None or self.after is None:
            return ""
        changes = [word for word, is_so in (("moved", self.moved), ("outputs cleared", self.cleared)) if is_so]
        if self.old_kind is not None:
            changes.append(f"{self.old_kind} → {self.kind}")
        if self.tags is not None and self.old_tags is not None:
            changes.append(f"tags: {_listed(self.old_tags)} → {_listed(self.tags)}")
        return ", ".join(changes)

    @property
    def is_same(self) -> bool:
        """True if the change leaves the cell as it was."""
        if self.before is None or self.after is None:
            return self.before == self.after
        return self.before == self.after and self.is_known and not self.detail

    def merged(self, later: CellRecord) -> CellRecord | None:
        """Merge a later change of the cell into this one; None if together they leave the cell as it was."""
        if self.undone or self.kept or later.before != self.after:
            return later
        old_kind, old_tags, tags = self.old_kind or self.kind, self.old_tags, later.tags
        if old_tags is None:
            old_tags = later.old_tags
        if tags is None:
            tags = self.tags
        is_back = self.moved and later.moved and self.old_below == later.below
        first = self if self.moved or not later.moved else later
        last = self if (self.moved or self.before is None) and not later.moved else later
        merged = msgspec.structs.replace(
            later,
            before=self.before,
            is_known=self.is_known,
            below=last.below,
            index=last.index,
            old_kind=None if old_kind == later.kind else old_kind,
            tags=None if tags == old_tags and later.after is not None else tags,
            old_tags=None if tags == old_tags and later.after is not None else old_tags,
            cleared=self.cleared or later.cleared,
            moved=(self.moved or later.moved) and not is_back,
            old_below=first.old_below,
            old_index=first.old_index,
        )
        return None if merged.is_same else merged

    def step(self, expected: str | None, *, forced: bool = False) -> CellStep | None:
        """The page's step that undoes (or redoes) the change, except a move; None if the cell was only moved."""
        target = self.target
        if target is None:
            return CellStep(action="delete", cell_id=self.cell_id, expected=expected or "")
        kind, old_kind = self.kind, self.old_kind or self.kind
        tags, old_tags = self.tags, self.old_tags
        if not self.undone:
            kind, old_kind, tags, old_tags = old_kind, kind, old_tags, tags
        if expected is None:
            below, index = self._place
            return CellStep(
                action="insert",
                cell_id=self.cell_id,
                kind=kind,
                source=target,
                tags=tags or None,
                below=below,
                index=index,
            )
        is_other = (kind, tags) != (old_kind, old_tags)
        if target == expected == self.source and not is_other:
            return None
        return CellStep(
            action="replace",
            cell_id=self.cell_id,
            kind=self.kind,
            source=target,
            expected=expected,
            new_kind=None if kind == old_kind else kind,
            expected_kind=None if kind == old_kind or forced else old_kind,
            tags=tags,
            expected_tags=None if forced else old_tags,
        )

    def move_step(self) -> CellStep:
        """The step that moves the cell back to its old place, or again to its new one."""
        below, index = self._place
        return CellStep(action="move", cell_id=self.cell_id, expected=None, below=below, index=index)

    def outputs_step(self) -> CellStep:
        """The step that restores the cleared outputs, or clears them again."""
        return CellStep(action="clear" if self.undone else "restore", cell_id=self.cell_id, expected=None)

    @property
    def _place(self) -> tuple[str | None, int]:
        """The cell's target place: the cell above it, and its index (from 0)."""
        return (self.old_below, self.old_index) if self.moved and not self.undone else (self.below, self.index)

    def reverse(self, replaced: str | None) -> None:
        """Note that the change was undone (or redone): the cell now has the target text, and had *replaced* before."""
        if self.undone:
            self.before = replaced
        else:
            self.after = replaced
        self.undone, self.offered = not self.undone, False

    @property
    def old_place(self) -> CellPlace | None:
        """The place of a cell that was deleted."""
        if self.before is None or self.after is not None:
            return None
        below, index = (self.old_below, self.old_index) if self.moved else (self.below, self.index)
        return CellPlace(notebook=self.notebook, below=below, index=index)


def _listed(tags: tuple[str, ...]) -> str:
    return ", ".join(tags) or "none"


def cell_change_id(cell_id: str) -> str:
    return f"cell:{cell_id}"


class CellOrder(msgspec.Struct, frozen=True):
    """The order of a notebook's cells, as far as its page reports them."""

    ids: tuple[str, ...]
    start: int = 0

    def after(self, steps: Iterable[CellStep]) -> CellOrder:
        ids = [*self.ids]
        for step in steps:
            if step.action in {"delete", "move"} and step.cell_id in ids:
                ids.remove(step.cell_id)
            if step.action in {"insert", "move"}:
                place = ids.index(step.below) + 1 if step.below in ids else max(0, step.index - self.start)
                ids.insert(place, step.cell_id)
        return CellOrder(tuple(ids), self.start)


def steps_in_order(
    cells: Sequence[tuple[CellRecord, str | None]],
    orders: tuple[CellOrder, CellOrder] | None,
    *,
    gone: Collection[str] = (),
    forced: Collection[str] = (),
) -> list[CellStep]:
    """The steps that undo (or redo) changes of one notebook's cells."""
    made = [(cell, expected, cell.step(expected, forced=cell.cell_id in forced)) for cell, expected in cells]
    steps = [step for _, _, step in made if step is not None and step.action != "insert"]
    steps += [cell.outputs_step() for cell, expected, _ in made if cell.cleared and None not in {expected, cell.target}]
    steps.sort(key=lambda step: step.action != "delete")
    placed = [step for _, _, step in made if step is not None and step.action == "insert"]
    placed += [cell.move_step() for cell, expected, _ in made if cell.moved and None not in {expected, cell.target}]
    if orders is None or not placed:
        return steps + placed
    order = orders[1] if cells[0][0].undone else orders[0]
    place = {cell_id: at for at, cell_id in enumerate(order.ids)}
    absent = ({*gone} | {step.cell_id for step in steps if step.action == "delete"}) - {step.cell_id for step in placed}
    placed.sort(key=lambda step: place.get(step.cell_id, len(place)))
    return steps + [_in_place(step, order, place, absent) for step in placed]


def _in_place(step: CellStep, order: CellOrder, place: dict[str, int], absent: Collection[str]) -> CellStep:
    at = place.get(step.cell_id)
    if at is None:
        return step
    below = next((each for each in reversed(order.ids[:at]) if each not in absent), None)
    return msgspec.structs.replace(step, below=below, index=order.start + (at if below is not None else 0))
