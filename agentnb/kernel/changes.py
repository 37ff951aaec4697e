"""An agent's changes in the kernel and the notebook, by turn: they can be shown, undone, redone and kept.

The user's work is never overwritten: if they have since bound a name, or changed the object, that is a conflict.
"""

from __future__ import annotations

import threading
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from agentnb.errors import AgentnbError, ChangesError
from agentnb.kernel.data_checks import compare_watched, compared
from agentnb.kernel.undo import CellUndo, HeldReferences, KernelTurn, VariableUndo
from agentnb.kernel.variables.changes import NameChange
from agentnb.kernel.variables.references import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.changes.model import Choice
    from agentnb.kernel.cell_changes import CellOrder, CellRecord
    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, NotebookView
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.ports import StepComparison
    from agentnb.state import DataCheck

PATIENCE_SECONDS = 10.0  # seconds that undo waits for a busy kernel
BRING_BACK_SECONDS = 20.0


class KernelChanges:
    """The changes of one conversation. Used on the host's thread, except for what watches report on the main thread."""

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
        self._comparison = comparison
        self.patience = PATIENCE_SECONDS
        self._lock = threading.RLock()
        self._turns: dict[str, KernelTurn] = {}
        self.held: HeldReferences = HeldReferences(runner, limit)
        self._cells = CellUndo(self._turns, self._lock)
        self._variables = VariableUndo(self._turns, self._lock, self.held)
        self._current: str | None = None

    # --- while a turn runs ---

    def begin(self, turn_id: str) -> None:
        """Attribute the agent's changes to this turn from now on."""
        with self._lock:
            self._current = turn_id
            self._turns.setdefault(turn_id, KernelTurn())

    def end(self, turn_id: str) -> tuple[CellRecord | NameChange, ...]:
        """Returns the turn's changes so far, cells first; called when it ends or is to be shown while it runs."""
        with self._lock:
            turn = self._turns.get(turn_id)
            if turn is None:
                return ()
            turn.ended = True
            self._forget_tables(turn)
            names = turn.variables.names
            return (*map(copy, turn.cells.values()), *(copy(names[name]) for name in sorted(names)))

    def lost(self, turn_id: str) -> tuple[str, ...]:
        """The names that the agent's code could reach in a turn and undo cannot restore, without the listed changes."""
        with self._lock:
            turn = self._turns.get(turn_id, KernelTurn())
            return tuple(sorted(turn.lost.keys() - turn.variables.names.keys()))

    def cells_changed(self, changes: Iterable[CellRecord], orders: tuple[CellOrder, CellOrder] | None = None) -> None:
        """Note that the agent has changed cells of one notebook with one of our tools."""
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
        """Record *cells* that the agent wrote to the file of a notebook open in a page: redo gives them to the page."""
        with self._lock:
            turn = self._turns.setdefault(turn_id, KernelTurn())
            for cell in cells:
                turn.cells.setdefault(cell.id, cell)

    def open_notebook(self) -> NotebookView | None:
        """The notebook as a page has it open; None if no page has reported one, or its file is unknown."""
        runner = self._runner()
        try:
            notebook = None if runner is None else runner.notebook(outputs=False)
        except (AgentnbError, OSError):
            return None
        return notebook if notebook is not None and notebook.live and notebook.path is not None else None

    def _open_names(self) -> set[str]:
        runner = self._runner()
        return set() if runner is None else {each.name for each in runner.notebooks()}

    def _tell_if_late(self, turn: KernelTurn) -> None:
        if turn.ended:
            self.changed(next(turn_id for turn_id, each in self._turns.items() if each is turn))

    def data_checks(self, turn_id: str) -> tuple[DataCheck, ...]:
        """Possible problems in the tables that the turn has changed so far."""
        with self._lock:
            turn = self._turns.get(turn_id, KernelTurn())
            undone = {each.name for each in turn.variables.names.values() if each.undone}
            return tuple(each for each in turn.data_checks if each.table not in undone)

    def watch(
        self, code: str, then: Callable[[Sequence[NameChange]], object] = lambda _changes: None
    ) -> CodeWatch | None:
        """A watch for *code*, which the agent runs now; None if there is no kernel."""
        turn_id, runner = self._current, self._runner()
        if runner is None:
            return None
        namespace = runner.namespace
        with self._lock:
            turn = self._turns.get(turn_id or "")
            if turn is not None and turn.comparison is None:
                turn.comparison = self._comparison()
            comparison = None if turn is None else turn.comparison

        def record_changes(changes: Sequence[NameChange]) -> None:
            checks = compared(comparison, namespace.variables(), [each.name for each in changes])
            if turn is not None and checks is not None:
                turn.data_checks = checks
            self._code_ended(turn_id, changes, watch.lost)
            then(changes)

        watch = namespace.watch(code, record_changes)
        watch.limit = self.held.limit()
        watch.begins = lambda: self._code_begins(turn_id)
        compare_watched(watch, comparison, namespace.variables)
        return watch

    def _forget_tables(self, turn: KernelTurn) -> None:
        """Release what a turn's tables are compared with; it is freed on the main thread."""
        comparison, turn.comparison = turn.comparison, None
        runner = self._runner() if comparison is not None else None
        if runner is not None:
            runner.namespace.release([comparison])

    def _code_begins(self, turn_id: str | None) -> None:
        """Called on the main thread when code begins or resumes."""
        with self._lock:
            if (turn := self._turns.get(turn_id or "")) is not None:
                turn.variables.find_stale()
            self.held.trim()

    def _code_ended(self, turn_id: str | None, changes: Sequence[NameChange], lost: Mapping[str, str]) -> None:
        """Called on the main thread when code has ended."""
        for change in changes:
            for binding in change.bindings if change.rebound else ():
                binding.measure()
        with self._lock:
            turn = self._turns.get(turn_id or "")
            if turn is None:
                return
            turn.lost.update(lost)
            for change in changes:
                self.held.add(turn.variables, change)
            self.held.trim()
        if changes:
            self._tell_if_late(turn)

    # --- afterwards ---

    async def undo(
        self, turn_id: str, ids: Sequence[str], *, choices: Mapping[str, Choice] | None = None
    ) -> tuple[str, ...]:
        """Restore what was there before the turn: all of *ids*, or nothing."""
        return await self._undo_or_redo(turn_id, ids, choices or {}, undone=False)

    async def redo(
        self, turn_id: str, ids: Sequence[str], *, choices: Mapping[str, Choice] | None = None
    ) -> tuple[str, ...]:
        """Redo what was undone: all of *ids*, or nothing."""
        return await self._undo_or_redo(turn_id, ids, choices or {}, undone=True)

    def keep(self, turn_id: str, ids: Iterable[str] | None = None) -> None:
        """Accept the turn's changes, or those in *ids*, and release the old objects."""
        wanted = None if ids is None else set(ids)
        with self._lock:
            turn = self._turns.get(turn_id, KernelTurn())
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
                    self.held.release(each for each in (*variable.bindings, *variable.objects) if each not in still)

    def close(self) -> None:
        """Release everything held when the conversation is closed."""
        with self._lock:
            self._turns.clear()
            self._current = None
            self.held.release([*self.held.references])

    async def _undo_or_redo(
        self, turn_id: str, ids: Sequence[str], choices: Mapping[str, Choice], *, undone: bool
    ) -> tuple[str, ...]:
        turn, cells, variables = self._chosen(turn_id, ids, undone=undone)
        runner = self._runner()
        if runner is None:
            return ()
        bring_back = partial(self._variables.bring_back, runner.namespace, variables, choices, undone=undone)
        if cells and variables:  # change no cell if a variable conflicts or the kernel is busy
            await self._on_main_thread(runner, partial(bring_back, check=True))
        done = await self._cells.change(runner, turn, cells, choices)
        if variables:
            done += await self._on_main_thread(runner, bring_back)
        return done

    async def _on_main_thread(self, runner: CodeRunner, bring_back: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        work = runner.look(bring_back)
        return await self._job_queue.run(work, self._owner, patience=self.patience, timeout=BRING_BACK_SECONDS)

    def _chosen(
        self, turn_id: str, ids: Sequence[str], *, undone: bool
    ) -> tuple[KernelTurn, list[CellRecord], list[NameChange]]:
        """The turn, and its cells and variables with *ids* that are not undone (or redone) yet."""
        what = "redone" if undone else "undone"
        with self._lock:
            turn = self._turns.get(turn_id, KernelTurn())
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
            return turn, cells, variables
