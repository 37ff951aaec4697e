"""The changes of an agent in the kernel and the notebook, by turn: to be shown, undone, redone and kept.

Nothing of the user's is overwritten: where they have bound a name, or changed the object, since, that is a conflict.
"""

from __future__ import annotations

import contextlib
import threading
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.errors import AgentnbError, ChangesError, KernelChangesConflict
from agentnb.kernel.cell_changes import steps_in_order
from agentnb.kernel.data_checks import compare_watched, compared
from agentnb.kernel.variables.changes import ChangeSet, NameChange
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.references import LIMIT, Binding, ObjectChange, Reference
from agentnb.kernel.variables.summary import summarize_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.kernel.cell_changes import CellOrder, CellRecord
    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, Namespace, NotebookView
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.ports import StepComparison
    from agentnb.state import DataCheck

Choice = Literal["mine", "theirs"]
"""The answer to a conflict: leave what is there now (``"mine"``), or replace it (``"theirs"``)."""

PATIENCE_SECONDS = 10.0
"""How long undo waits for a busy kernel."""
BRING_BACK_SECONDS = 20.0
CELL_TRIES = 3


class KernelConflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell or variable that changed since the turn, so that undo or redo would overwrite somebody's work."""

    id: str
    name: str
    base: str | None
    current: str | None
    target: str | None


class _Turn:
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


class KernelChanges:
    """The changes of one conversation. Used on the host's thread, but for what the watches tell on the main thread."""

    def __init__(
        self,
        owner: str,
        runner: Callable[[], CodeRunner | None],
        job_queue: JobQueue,
        *,
        limit: Callable[[], int] = lambda: LIMIT,
        comparison: Callable[[], StepComparison | None] = lambda: None,
    ) -> None:
        self.changed: Callable[[str], object] = lambda _turn_id: None
        self._owner = owner
        self._runner = runner
        self._job_queue = job_queue
        self._limit = limit
        self._comparison = comparison
        self.patience = PATIENCE_SECONDS
        self._lock = threading.RLock()
        self._turns: dict[str, _Turn] = {}
        self._held: list[Reference] = []  # the oldest first
        self._current: str | None = None

    # --- while a turn runs ---

    def begin(self, turn_id: str) -> None:
        """A turn begins: what the agent changes from now on is the turn's."""
        with self._lock:
            self._current = turn_id
            self._turns.setdefault(turn_id, _Turn())

    def end(self, turn_id: str) -> tuple[CellRecord | NameChange, ...]:
        """The turn has ended, or is to be shown while it runs: its changes so far, cells first."""
        with self._lock:
            turn = self._turns.get(turn_id)
            if turn is None:
                return ()
            turn.ended = True
            self._forget_tables(turn)
            names = turn.variables.names
            return (*map(copy, turn.cells.values()), *(copy(names[name]) for name in sorted(names)))

    def lost(self, turn_id: str) -> tuple[str, ...]:
        """The names that the agent's code could reach in a turn, and that cannot be restored; none that is listed."""
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
            return tuple(sorted(turn.lost.keys() - turn.variables.names.keys()))

    def cells_changed(self, changes: Iterable[CellRecord], orders: tuple[CellOrder, CellOrder] | None = None) -> None:
        """The agent has changed cells of one notebook, by a tool of ours."""
        with self._lock:
            turn = self._turns.get(self._current or "")
            if turn is None:
                return
            for change in changes:
                same = turn.cells.get(change.id)
                if same is not None and same.notebook != change.notebook and same.notebook in self._open_names():
                    change.is_in_copy = True
                earlier = turn.cells.pop(change.id, None)
                merged = change if earlier is None else earlier.merged(change)
                if merged is not None:
                    turn.cells[change.id] = merged
                if orders is not None:
                    first, _ = turn.orders.get(change.notebook, orders)
                    turn.orders[change.notebook] = (first, orders[1])
        self._tell_if_late(turn)

    def offer(self, turn_id: str, cells: Iterable[CellRecord]) -> None:
        """The agent wrote *cells* to the file of a notebook that a page has open: redo gives them to the page."""
        with self._lock:
            turn = self._turns.setdefault(turn_id, _Turn())
            for cell in cells:
                turn.cells.setdefault(cell.id, cell)

    def open_notebook(self) -> NotebookView | None:
        """The notebook as a page has it open; None where no page told of one, or its file is not known."""
        runner = self._runner()
        try:
            notebook = None if runner is None else runner.notebook(outputs=False)
        except (AgentnbError, OSError):
            return None
        return notebook if notebook is not None and notebook.live and notebook.path is not None else None

    def _open_names(self) -> set[str]:
        runner = self._runner()
        return set() if runner is None else {each.name for each in runner.notebooks()}

    def _tell_if_late(self, turn: _Turn) -> None:
        if turn.ended:
            self.changed(next(turn_id for turn_id, each in self._turns.items() if each is turn))

    def data_checks(self, turn_id: str) -> tuple[DataCheck, ...]:
        """What may be wrong with the tables that the turn has changed so far."""
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
            undone = {each.name for each in turn.variables.names.values() if each.undone}
            return tuple(each for each in turn.data_checks if each.table not in undone)

    def watch(
        self, code: str, then: Callable[[Sequence[NameChange]], object] = lambda _changes: None
    ) -> CodeWatch | None:
        """A watch for *code*, which the agent runs now; None where there is no kernel."""
        turn_id, runner = self._current, self._runner()
        if runner is None:
            return None
        namespace = runner.namespace
        with self._lock:
            turn = self._turns.get(turn_id or "")
            if turn is not None and turn.comparison is None:
                turn.comparison = self._comparison()
            comparison = None if turn is None else turn.comparison

        def found(changes: Sequence[NameChange]) -> None:
            checks = compared(comparison, namespace.variables(), [each.name for each in changes])
            if turn is not None and checks is not None:
                turn.data_checks = checks
            self._found(turn_id, changes, watch.lost)
            then(changes)

        watch = namespace.watch(code, found)
        watch.limit = self._limit()
        watch.begins = lambda: self._code_begins(turn_id)
        compare_watched(watch, comparison, namespace.variables)
        return watch

    def _forget_tables(self, turn: _Turn) -> None:
        """Let go what the tables of a turn are compared with; freed on the main thread."""
        comparison, turn.comparison = turn.comparison, None
        runner = self._runner() if comparison is not None else None
        if runner is not None:
            runner.namespace.release([comparison])

    def _code_begins(self, turn_id: str | None) -> None:
        """Code begins, or goes on, on the main thread."""
        with self._lock:
            if (turn := self._turns.get(turn_id or "")) is not None:
                turn.variables.find_stale()
            self._trim()

    def _found(self, turn_id: str | None, changes: Sequence[NameChange], lost: Mapping[str, str]) -> None:
        """Code has ended, on the main thread."""
        for change in changes:
            for binding in change.bindings if change.rebound else ():
                binding.measure()
        with self._lock:
            turn = self._turns.get(turn_id or "")
            if turn is None:
                return
            turn.lost.update(lost)
            for change in changes:
                self._add(turn.variables, change)
            self._trim()
        if changes:
            self._tell_if_late(turn)

    def _add(self, variables: ChangeSet, change: NameChange) -> None:
        before = {*variables.references}
        variables.add(change)
        after = variables.references
        self._release(each for each in before if each not in after)
        for each in (*change.objects, change.before if change.rebound else None):
            if each is not None and each in after:
                self._hold(each)
        if change.after is not None and change.after.is_held and change.after in after:
            if change.after.is_followed:
                change.after.let_go()  # the namespace has it
            else:
                self._hold(change.after)

    # --- afterwards ---

    async def undo(
        self, turn_id: str, ids: Sequence[str], *, choices: Mapping[str, Choice] | None = None
    ) -> tuple[str, ...]:
        """Put back what was there before the turn: all of *ids*, or nothing."""
        return await self._undo_or_redo(turn_id, ids, choices or {}, undone=False)

    async def redo(
        self, turn_id: str, ids: Sequence[str], *, choices: Mapping[str, Choice] | None = None
    ) -> tuple[str, ...]:
        """Do again what was undone: all of *ids*, or nothing."""
        return await self._undo_or_redo(turn_id, ids, choices or {}, undone=True)

    def keep(self, turn_id: str, ids: Iterable[str] | None = None) -> None:
        """Accept the turn's changes, or those of *ids*: the old objects are let go."""
        wanted = None if ids is None else set(ids)
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
            for cell in turn.cells.values():
                cell.kept = cell.kept or wanted is None or cell.id in wanted
            names = turn.variables.names.values()
            for variable in names:
                variable.kept = variable.kept or wanted is None or variable.id in wanted
            still = {
                each for variable in names if not variable.kept for each in (*variable.bindings, *variable.objects)
            }
            for variable in names:
                if variable.kept:
                    self._release(each for each in (*variable.bindings, *variable.objects) if each not in still)

    def close(self) -> None:
        """The conversation is closed: nothing is held any longer."""
        with self._lock:
            self._turns.clear()
            self._current = None
            self._release([*self._held])

    async def _undo_or_redo(
        self, turn_id: str, ids: Sequence[str], choices: Mapping[str, Choice], *, undone: bool
    ) -> tuple[str, ...]:
        cells, variables = self._chosen(turn_id, ids, undone=undone)
        runner = self._runner()
        if runner is None:
            return ()
        names = runner.namespace
        if cells and variables:  # nothing is done to a cell where a variable is a conflict, or the kernel is busy
            await self._on_main_thread(
                runner, lambda: self._bring_back(names, variables, choices, undone=undone, check=True)
            )
        done = await self._change_cells(runner, turn_id, cells, choices)
        if variables:
            done += await self._on_main_thread(
                runner, lambda: self._bring_back(names, variables, choices, undone=undone)
            )
        return done

    async def _on_main_thread(self, runner: CodeRunner, bring_back: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        work = runner.look(bring_back)
        return await self._job_queue.run(work, self._owner, patience=self.patience, timeout=BRING_BACK_SECONDS)

    def _chosen(self, turn_id: str, ids: Sequence[str], *, undone: bool) -> tuple[list[CellRecord], list[NameChange]]:
        """The cells and variables with *ids* that are not undone (or redone) yet."""
        what = "redone" if undone else "undone"
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
            cells, variables = [], []
            known: dict[str, CellRecord | NameChange] = {each.id: each for each in turn.variables.names.values()}
            for named in ids:
                change = turn.cells.get(named) or known.get(named)
                if change is None:
                    message = f"{named!r} of that turn cannot be {what}: the kernel knows nothing of it."
                    hint = "Cells and variables can be undone until the kernel is restarted."
                    raise ChangesError(message, hint=hint)
                if change.undone is not undone:
                    continue
                if (refusal := change.refusal) is not None:
                    raise ChangesError(f"{change.name!r} cannot be {what}. {refusal}")
                if isinstance(change, NameChange):
                    variables.append(change)
                else:
                    cells.append(change)
            return cells, variables

    async def _change_cells(
        self, runner: CodeRunner, turn_id: str, cells: Sequence[CellRecord], choices: Mapping[str, Choice]
    ) -> tuple[str, ...]:
        """Give the cells the texts that they are to have, notebook by notebook; all cells of one notebook or none."""
        done: tuple[str, ...] = ()
        if not cells:
            return done
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
        names = _present_names(turn, runner.notebooks())
        for notebook in dict.fromkeys(names[cell.notebook] for cell in cells):
            chosen = [cell for cell in cells if names[cell.notebook] == notebook]
            known_as = [name for name, present in names.items() if present == notebook]
            done += await self._change_notebook(runner, turn, notebook, chosen, known_as=known_as, choices=choices)
        return done

    def _file_hashes(self, cells: Sequence[CellRecord]) -> tuple[str, str] | None:
        """The hashes of the file that the page has all of once it has *cells*; None where it lacks others then."""
        hashes = {cell.file_hashes if cell.offered else None for cell in cells}
        with self._lock:
            all_cells = [cell for turn in self._turns.values() for cell in turn.cells.values()]
        lacks = any(cell.offered and not any(cell is each for each in cells) for cell in all_cells)
        return None if lacks or len(hashes) > 1 else hashes.pop()

    async def _change_notebook(
        self,
        runner: CodeRunner,
        turn: _Turn,
        notebook: str,
        cells: Sequence[CellRecord],
        *,
        known_as: Sequence[str],
        choices: Mapping[str, Choice],
    ) -> tuple[str, ...]:
        expected = {cell.cell_id: cell.source for cell in cells}
        forced: set[str] = set()
        file_hashes = self._file_hashes(cells)
        for _ in range(CELL_TRIES):
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
                raise _conflicting([_cell_conflict(cell, differing[cell.cell_id]) for cell in unsettled])
            for cell in chosen:
                if cell.cell_id in differing and choices[cell.id] == "theirs":
                    expected[cell.cell_id] = differing[cell.cell_id]
                    forced.add(cell.cell_id)
                elif cell.cell_id in differing:
                    del expected[cell.cell_id]
        # The page compares each time, and the user can type between its answer and the next try.
        raise ChangesError("The cells are being changed in the notebook.", hint="Try again in a moment.")

    def _bring_back(
        self,
        namespace: Namespace,
        variables: Sequence[NameChange],
        choices: Mapping[str, Choice],
        *,
        undone: bool,
        check: bool = False,
    ) -> tuple[str, ...]:
        """Make the variables what they are to be, on the main thread; all of them or none."""
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
                raise _conflicting(conflicts)
            if check:
                return ()
            others = self._with(each for variable in ready for each in variable.turning(undone=undone))
            self._turn_objects(namespace, ready, undone=undone)
            for variable in ready:
                variable.note_binding(names)
                if variable.is_rebinding(undone=undone):
                    self._bind(namespace, variable, names)
            self._read(variables, namespace)
            for read_again in others:
                read_again()
            self._trim()
            return tuple(variable.id for variable in ready)

    def _with(self, objects: Iterable[ObjectChange]) -> list[Callable[[], object]]:
        """How to read again what leads to *objects*: that they are brought back is no change of the user's."""
        values = [value for each in objects for value in each.objects]
        changes = [each for turn in self._turns.values() for each in turn.variables.names.values()]
        bindings = [each for change in changes for each in change.bindings if values]
        leading = [(each, each.mark) for each in bindings if each.mark and each.mark.is_about(values)]
        return [each.read_beside if each.is_as_read else partial(mark.read_again, values) for each, mark in leading]

    def _turn_objects(self, namespace: Namespace, variables: Sequence[NameChange], *, undone: bool) -> None:
        """Bring back what was changed in place: all objects, or none."""
        found = dict.fromkeys(each for variable in variables for each in variable.turning(undone=undone))
        # Views can have memory in common that is not kept as one: the last change is undone first, and redone last.
        objects = sorted(found, key=lambda each: each.number, reverse=not undone)
        turned: list[ObjectChange] = []
        known = [each for turn in self._turns.values() for each in turn.variables.names.values()]
        bind = partial(_bind_instead, namespace, {each for variable in known for each in variable.bindings})
        try:
            for each in objects:
                each.turn(self._limit(), bind)
                turned.append(each)
                self._hold(each)
            for each in objects:
                each.read()
        except Exception as error:
            for each in reversed(turned):
                with contextlib.suppress(Exception):
                    each.turn(self._limit(), bind)
                    each.read()
            kind = type(error).__name__
            raise ChangesError(f"The variables could not be brought back ({kind}). Nothing was changed.") from error

    def _bind(self, namespace: Namespace, variable: NameChange, names: Mapping[str, Any]) -> None:
        is_done = variable.is_bound_to_target(names)
        replaced = variable.source if is_done else None
        if not is_done and variable.name in names:
            replaced = Binding(variable.name, names[variable.name])
            replaced.measure()
            self._hold(replaced)
        if variable.target is None:
            namespace.unbind(variable.name)
        else:
            namespace.bind(variable.name, variable.target.value)
        variable.reverse(replaced)

    def _read(self, variables: Sequence[NameChange], namespace: Namespace) -> None:
        """Remember what is there now, to see later whether somebody else changed it."""
        names = namespace.variables()
        turned = {each for variable in variables for each in variable.objects}
        for turn in self._turns.values():
            for variable in turn.variables.names.values():
                if variable in variables or turned.intersection(variable.objects):
                    for binding in variable.bindings:
                        if variable.name in names and binding.is_of(names[variable.name]):
                            binding.read()

    def _hold(self, reference: Reference) -> None:
        """Hold it until there is no more room: the oldest go first."""
        if isinstance(reference, Binding):
            reference.hold()
        self._held = [*(each for each in self._held if each is not reference), reference]

    def _trim(self) -> None:
        """Let go of what is more than the limit: what is larger by itself, and else the oldest."""
        limit = self._limit()
        for each in self._held:
            if isinstance(each, ObjectChange):
                each.measure()
        self._release([each for each in self._held if each.size > limit])
        while sum(each.size for each in self._held) > limit:
            self._release([self._held[0]])

    def _release(self, references: Iterable[Reference]) -> None:
        runner = self._runner()
        for each in references:
            if each in self._held:
                self._held.remove(each)
            if (objects := each.let_go()) and runner is not None:
                runner.namespace.release(objects)


def _bind_instead(namespace: Namespace, bindings: Iterable[Binding], old: Any, new: Any) -> tuple[str, ...]:
    """Bind the names that have *old* to *new*; returns those that lead to the old object still."""
    for binding in bindings:
        binding.replace(old, new)
    for name, value in namespace.variables().items():
        if value is old:
            namespace.bind(name, new)
    names = namespace.variables()
    return Keeper(names, 0, mode="plan").keep(names).names_to(old)


def _present_names(turn: _Turn, notebooks: Sequence[NotebookView]) -> dict[str, str]:
    """The present names of a turn's notebooks: one that was renamed meanwhile is the open one with its cells."""
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


def _cell_conflict(cell: CellRecord, current: str | None) -> KernelConflict:
    return KernelConflict(id=cell.id, name=cell.name, base=cell.source, current=current, target=cell.target)


def _conflicting(conflicts: Sequence[KernelConflict]) -> KernelChangesConflict:
    names = ", ".join(repr(each.name) for each in conflicts)
    verb, them = ("is", "it") if len(conflicts) == 1 else ("are", "them")
    message = f"{names} {verb} other than the turn left {them}."
    hint = "Nothing was changed. For each one, choose whether to keep the current version."
    return KernelChangesConflict(message, hint=hint, conflicts=tuple(conflicts))
