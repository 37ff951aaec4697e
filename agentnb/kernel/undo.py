"""Undoes a turn's changes of variables and cells."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import ChangesError, KernelChangesConflict
from agentnb.kernel.cell_changes import steps_in_order
from agentnb.kernel.variables.changes import ChangeSet
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.references import Binding, ObjectChange, Reference
from agentnb.kernel.variables.summary import summarize_value

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.changes.model import Choice
    from agentnb.kernel.cell_changes import CellOrder, CellRecord
    from agentnb.kernel.code_runner import CodeRunner, Namespace, NotebookView
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.ports import StepComparison
    from agentnb.state import DataCheck


TRIES = 3


class KernelTurn:
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
        """The order of a notebook's cells before and after the turn, under any of its names; None if unchanged."""
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


class CellUndo:
    """Gives the cells of a conversation's turns back their old texts, or again the new ones."""

    def __init__(self, turns: Mapping[str, KernelTurn], lock: threading.RLock) -> None:
        self._turns = turns
        self._lock = lock

    async def change(
        self, runner: CodeRunner, turn: KernelTurn, cells: Sequence[CellRecord], choices: Mapping[str, Choice]
    ) -> tuple[str, ...]:
        """Set the cells to their target texts, notebook by notebook; all cells of one notebook or none."""
        done: tuple[str, ...] = ()
        if not cells:
            return done
        names = _present_names(turn, runner.notebooks())
        for notebook in dict.fromkeys(names[cell.notebook] for cell in cells):
            chosen = [cell for cell in cells if names[cell.notebook] == notebook]
            known_as = [name for name, present in names.items() if present == notebook]
            done += await self._change_notebook(runner, turn, notebook, chosen, known_as=known_as, choices=choices)
        return done

    def _file_hashes(self, cells: Sequence[CellRecord]) -> tuple[str, str] | None:
        """The hashes of the file that the page fully has once it has *cells*; None if it still lacks others then."""
        hashes = {cell.file_hashes if cell.offered else None for cell in cells}
        with self._lock:
            all_cells = [cell for turn in self._turns.values() for cell in turn.cells.values()]
        lacks = any(cell.offered and not any(cell is each for each in cells) for cell in all_cells)
        return None if lacks or len(hashes) > 1 else hashes.pop()

    async def _change_notebook(
        self,
        runner: CodeRunner,
        turn: KernelTurn,
        notebook: str,
        cells: Sequence[CellRecord],
        *,
        known_as: Sequence[str],
        choices: Mapping[str, Choice],
    ) -> tuple[str, ...]:
        expected = {cell.cell_id: cell.source for cell in cells}
        forced: set[str] = set()
        file_hashes = self._file_hashes(cells)
        for _ in range(TRIES):
            chosen = [cell for cell in cells if cell.cell_id in expected]
            steps = steps_in_order(
                [(cell, expected[cell.cell_id]) for cell in chosen],
                turn.order(known_as),
                gone={
                    cell.cell_id for cell in turn.cells.values() if cell.source is None and cell.notebook in known_as
                },
                forced=forced,
            )
            differing = await runner.change_cells(notebook, steps, file_hashes) if steps else {}
            if not differing:
                for cell in chosen:
                    cell.reverse(expected[cell.cell_id])
                return tuple(cell.id for cell in chosen)
            unsettled = [cell for cell in chosen if cell.cell_id in differing and cell.id not in choices]
            if unsettled:
                raise conflicting([_cell_conflict(cell, differing[cell.cell_id]) for cell in unsettled])
            for cell in chosen:
                if cell.cell_id in differing and choices[cell.id] == "theirs":
                    expected[cell.cell_id] = differing[cell.cell_id]
                    forced.add(cell.cell_id)
                elif cell.cell_id in differing:
                    del expected[cell.cell_id]
        # The page compares each time, and the user may type between its answer and the next try.
        raise ChangesError("The cells are being changed in the notebook.", hint="Try again in a moment.")


def _present_names(turn: KernelTurn, notebooks: Sequence[NotebookView]) -> dict[str, str]:
    """The present names of a turn's notebooks: a renamed one is the open notebook that has its cells."""
    names = {cell.notebook: cell.notebook for cell in turn.cells.values()}
    cells_of = {each.name: {cell.id for cell in each.cells} for each in notebooks}
    for name in names:
        if name in cells_of or not cells_of:
            continue
        ids = {cell.cell_id for cell in turn.cells.values() if cell.notebook == name}
        ids |= {*turn.orders[name][1].ids} if name in turn.orders else set()
        best = max(cells_of, key=lambda each: len(ids & cells_of[each]))
        if ids & cells_of[best]:
            names[name] = best
    return names


def _cell_conflict(cell: CellRecord, current: str | None) -> KernelConflict:
    return KernelConflict(id=cell.id, name=cell.name, base=cell.source, current=current, target=cell.target)


class HeldReferences:
    """The objects that are held for a conversation's undo, as far as there is room."""

    def __init__(self, runner: Callable[[], CodeRunner | None], limit: Callable[[], int]) -> None:
        self.limit = limit
        self.references: list[Reference] = []  # oldest first
        self._runner = runner

    def add(self, variables: ChangeSet, change: NameChange) -> None:
        before = {*variables.references}
        variables.add(change)
        after = variables.references
        self.release(each for each in before if each not in after)
        for each in (*change.objects, change.before if change.rebound else None):
            if each is not None and each in after:
                self.hold(each)
        if change.after is not None and change.after.is_held and change.after in after:
            if change.after.is_followed:
                change.after.let_go()  # the namespace holds the value
            else:
                self.hold(change.after)

    def hold(self, reference: Reference) -> None:
        """Hold the reference; when there is no more room, the oldest are released first."""
        if isinstance(reference, Binding):
            reference.hold()
        self.references = [*(each for each in self.references if each is not reference), reference]

    def trim(self) -> None:
        """Release what exceeds the limit: references too large by themselves, then the oldest."""
        limit = self.limit()
        for each in self.references:
            if isinstance(each, ObjectChange):
                each.measure()
        self.release([each for each in self.references if each.size > limit])
        while sum(each.size for each in self.references) > limit:
            self.release([self.references[0]])

    def release(self, references: Iterable[Reference]) -> None:
        runner = self._runner()
        for each in references:
            if each in self.references:
                self.references.remove(each)
            if (objects := each.let_go()) and runner is not None:
                runner.namespace.release(objects)


class VariableUndo:
    """Gives variables of a conversation's turns back their old objects, or again the new ones."""

    def __init__(self, turns: Mapping[str, KernelTurn], lock: threading.RLock, held: HeldReferences) -> None:
        self._turns = turns
        self._lock = lock
        self._held = held

    def bring_back(
        self,
        namespace: Namespace,
        variables: Sequence[NameChange],
        choices: Mapping[str, Choice],
        *,
        undone: bool,
        check: bool = False,
    ) -> tuple[str, ...]:
        """Bring the variables to their target state, on the main thread; all of them or none."""
        names = namespace.variables()
        with self._lock:
            ready, conflicts = [], []
            for variable in variables:
                is_done = variable.is_done(names, undone=undone)
                if is_done or variable.is_untouched(names, undone=undone) or choices.get(variable.id) == "theirs":
                    ready.append(variable)
                elif variable.id not in choices:
                    conflicts.append(_conflict(variable, names))
            if conflicts:
                raise conflicting(conflicts)
            if check:
                return ()
            others = self._leading_to(each for variable in ready for each in variable.turning(undone=undone))
            self._turn_objects(namespace, ready, undone=undone)
            for variable in ready:
                variable.note_binding(names)
                if variable.is_rebinding(undone=undone):
                    self._bind(namespace, variable, names)
            self._read(variables, namespace)
            for read_again in others:
                read_again()
            self._held.trim()
            return tuple(variable.id for variable in ready)

    def _leading_to(self, objects: Iterable[ObjectChange]) -> list[Callable[[], object]]:
        """Returns functions that re-read what leads to *objects*: restoring these is not a change by the user."""
        values = [value for each in objects for value in each.objects]
        changes = [each for turn in self._turns.values() for each in turn.variables.names.values()]
        bindings = [each for change in changes for each in change.bindings if values]
        leading = [(each, each.mark) for each in bindings if each.mark and each.mark.is_about(values)]
        return [each.read_beside if each.is_as_read else partial(mark.read_again, values) for each, mark in leading]

    def _turn_objects(self, namespace: Namespace, variables: Sequence[NameChange], *, undone: bool) -> None:
        """Bring back what was changed in place: all objects, or none."""
        changes = dict.fromkeys(each for variable in variables for each in variable.turning(undone=undone))
        # Views kept separately can share memory: the last change is undone first and redone last.
        objects = sorted(changes, key=lambda each: each.number, reverse=not undone)
        turned: list[ObjectChange] = []
        known = [each for turn in self._turns.values() for each in turn.variables.names.values()]
        bind = partial(_bind_instead, namespace, {each for variable in known for each in variable.bindings})
        try:
            for each in objects:
                each.turn(self._held.limit(), bind)
                turned.append(each)
                self._held.hold(each)
            for each in objects:
                each.read()
        except Exception as error:
            for each in reversed(turned):
                with contextlib.suppress(Exception):
                    each.turn(self._held.limit(), bind)
                    each.read()
            kind = type(error).__name__
            raise ChangesError(f"The variables could not be brought back ({kind}). Nothing was changed.") from error

    def _bind(self, namespace: Namespace, variable: NameChange, names: Mapping[str, Any]) -> None:
        is_done = variable.is_bound(variable.target, names)
        replaced = variable.source if is_done else None
        if not is_done and variable.name in names:
            replaced = Binding(variable.name, names[variable.name])
            replaced.measure()
            self._held.hold(replaced)
        if variable.target is None:
            namespace.unbind(variable.name)
        else:
            namespace.bind(variable.name, variable.target.value)
        variable.reverse(replaced)

    def _read(self, variables: Sequence[NameChange], namespace: Namespace) -> None:
        """Remember the current values, to detect later changes by somebody else."""
        names = namespace.variables()
        turned = {each for variable in variables for each in variable.objects}
        for turn in self._turns.values():
            for variable in turn.variables.names.values():
                if variable in variables or turned.intersection(variable.objects):
                    for binding in variable.bindings:
                        if variable.name in names and binding.is_of(names[variable.name]):
                            binding.read()


def _bind_instead(namespace: Namespace, bindings: Iterable[Binding], old: Any, new: Any) -> tuple[str, ...]:
    """Rebind the names of *old* to *new*; returns the names that still lead to the old object."""
    for binding in bindings:
        binding.replace(old, new)
    for name, value in namespace.variables().items():
        if value is old:
            namespace.bind(name, new)
    names = namespace.variables()
    return Keeper(names, 0, mode="plan").keep(names).names_to(old)


def _conflict(variable: NameChange, names: Mapping[str, Any]) -> KernelConflict:
    name = variable.name
    source, target = variable.source, variable.target
    return KernelConflict(
        id=variable.id,
        name=name,
        base=None if source is None else source.summary.text,
        current=summarize_value(names[name], name).text if name in names else None,
        target=None if target is None else target.summary.text,
    )
