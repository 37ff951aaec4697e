"""The changes of an agent in the kernel and the notebook, by turn: to be shown, undone, redone and kept.

Nothing of the user's is overwritten: where they have bound a name, or changed the object, since, that is a conflict.
"""

from __future__ import annotations

import threading
from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.errors import AgentnbError, ChangesError, KernelChangesConflict
from agentnb.kernel.cell_changes import steps_in_order
from agentnb.kernel.data_checks import CheckedWatch, compared
from agentnb.kernel.variables.changes import Binding, NameChange
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

HELD_BYTES = 512 * 1024 * 1024
"""About how much memory the old objects of one conversation may hold."""
PATIENCE_SECONDS = 10.0
"""How long undo waits for a busy kernel."""
REBIND_SECONDS = 20.0
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
        self.variables: dict[str, NameChange] = {}
        self.comparison: StepComparison | None = None
        self.data_checks: tuple[DataCheck, ...] = ()
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
        limit: int = HELD_BYTES,
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
        self._held: list[Binding] = []  # the oldest first
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
            return (*map(copy, turn.cells.values()), *(copy(turn.variables[name]) for name in sorted(turn.variables)))

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
            undone = {each.name for each in turn.variables.values() if each.undone}
            return tuple(each for each in turn.data_checks if each.table not in undone)

    def watch(self, then: Callable[[Sequence[NameChange]], object] = lambda _changes: None) -> CodeWatch | None:
        """A watch for code that the agent runs now; None where there is no kernel."""
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
            self._found(turn_id, changes)
            then(changes)

        watch = namespace.watch(found)
        return watch if comparison is None else CheckedWatch(watch, comparison, namespace.variables)

    def _forget_tables(self, turn: _Turn) -> None:
        """Let go what the tables of a turn are compared with; freed on the main thread."""
        comparison, turn.comparison = turn.comparison, None
        runner = self._runner() if comparison is not None else None
        if runner is not None:
            runner.namespace.release([comparison])

    def _found(self, turn_id: str | None, changes: Sequence[NameChange]) -> None:
        """Code has ended, on the main thread."""
        if not changes:
            return
        for change in changes:
            for binding in change.bindings:
                binding.measure()
            if change.after is not None:
                change.after.read()
        with self._lock:
            turn = self._turns.get(turn_id or "")
            if turn is None:
                return
            for change in changes:
                self._add(turn.variables, change)
        self._tell_if_late(turn)

    def _add(self, variables: dict[str, NameChange], change: NameChange) -> None:
        earlier = variables.pop(change.name, None)
        old = () if earlier is None else earlier.bindings
        merged = change if earlier is None or earlier.kept or earlier.undone else earlier.merged(change)
        if merged is None:
            self._release(old)
            return
        variables[change.name] = merged
        self._release(each for each in old if each not in merged.bindings)
        if merged.rebound and merged.before is not None:
            self._hold(merged.before)
        if merged.after is not None and merged.after.is_held:
            if merged.after.is_followed:
                merged.after.let_go()  # the namespace has it
            else:
                self._hold(merged.after)

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
            for variable in turn.variables.values():
                if wanted is None or variable.id in wanted:
                    variable.kept = True
                    self._release(variable.bindings)

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
            await self._on_main_thread(runner, lambda: self._rebind(names, variables, choices, check=True))
        done = await self._change_cells(runner, turn_id, cells, choices)
        if variables:
            done += await self._on_main_thread(runner, lambda: self._rebind(names, variables, choices))
        return done

    async def _on_main_thread(self, runner: CodeRunner, rebind: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        work = runner.look(rebind)
        return await self._job_queue.run(work, self._owner, patience=self.patience, timeout=REBIND_SECONDS)

    def _chosen(self, turn_id: str, ids: Sequence[str], *, undone: bool) -> tuple[list[CellRecord], list[NameChange]]:
        """The cells and variables with *ids* that are not undone (or redone) yet."""
        what = "redone" if undone else "undone"
        with self._lock:
            turn = self._turns.get(turn_id, _Turn())
            cells, variables = [], []
            known: dict[str, CellRecord | NameChange] = {each.id: each for each in turn.variables.values()}
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

    def _rebind(
        self,
        namespace: Namespace,
        variables: Sequence[NameChange],
        choices: Mapping[str, Choice],
        *,
        check: bool = False,
    ) -> tuple[str, ...]:
        """Bind the names to what they are to be, on the main thread; all of them or none."""
        names = namespace.variables()
        with self._lock:
            ready, conflicts = [], []
            for variable in variables:
                choice = choices.get(variable.id)
                if variable.is_done(names):
                    ready.append((variable, False))
                elif variable.is_untouched(names) or choice == "theirs":
                    ready.append((variable, True))
                elif choice is None:
                    conflicts.append(_conflict(variable, names))
            if conflicts:
                raise _conflicting(conflicts)
            if check:
                return ()
            replaced = [self._replaced(variable, names) if bind else variable.source for variable, bind in ready]
            for (variable, _), source in zip(ready, replaced, strict=True):
                if variable.target is None:
                    namespace.unbind(variable.name)
                else:
                    namespace.bind(variable.name, variable.target.value)
                variable.reverse(source)
            return tuple(variable.id for variable, _ in ready)

    def _replaced(self, variable: NameChange, names: Mapping[str, Any]) -> Binding | None:
        """The object that the name is bound to now, held so that it can be bound again."""
        if variable.target is not None:
            variable.target.read()
        if variable.name not in names:
            return None
        binding = Binding(variable.name, names[variable.name])
        binding.measure()
        binding.read()
        self._hold(binding)
        return binding

    def _hold(self, binding: Binding) -> None:
        """Hold the object within the limit: one that is larger is let go, and else the oldest."""
        binding.hold()
        self._held = [*(each for each in self._held if each is not binding), binding]
        if binding.size > self._limit:
            self._release([binding])
        while sum(each.size for each in self._held) > self._limit:
            self._release([self._held[0]])

    def _release(self, bindings: Iterable[Binding]) -> None:
        runner = self._runner()
        for binding in bindings:
            if binding in self._held:
                self._held.remove(binding)
            if (objects := binding.let_go()) and runner is not None:
                runner.namespace.release(objects)


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
    hint = "Nothing was changed. Choose for each whether to leave what is there now."
    return KernelChangesConflict(message, hint=hint, conflicts=tuple(conflicts))
