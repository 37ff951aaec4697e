"""The variables of one IPython shell: which are the user's, and what runs when an agent's code is watched."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from agentnb.api.interrupts import interrupt_main_thread
from agentnb.ipython.capture import copied
from agentnb.ipython.mentions import visible
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.reach import Reach
from agentnb.kernel.variables.watch import VariableWatch, Watches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.kernel.code_runner import CellWatch
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variables.changes import NameChange


LATE_SECONDS = 5.0
"""How long after a cell's end one that waited behind it begins, at most."""


class _ExpectedCell(NamedTuple):
    """A cell that a page is about to run for an agent."""

    cell_id: str
    source: str
    watch: CellWatch
    late: bool


class _WatchedCell:
    """Such a cell while it runs."""

    def __init__(self, cell_id: str, watch: CellWatch) -> None:
        self.cell_id = cell_id
        self.depth = 1
        self._watch = watch
        self._running = contextlib.ExitStack()
        self._running.enter_context(copied(watch.write))
        self._running.enter_context(watch.running())

    def close(self) -> None:
        """It has ended."""
        self._running.close()
        self._watch.finish()


class ShellNamespace:
    """The user's variables in one shell (implements :class:`agentnb.kernel.code_runner.Namespace`)."""

    def __init__(self, shell: Any, job_queue: JobQueue) -> None:
        self._shell = shell
        self._job_queue = job_queue
        self._watches: Watches | None = None
        self._released: list[object] = []
        self._expected: list[_ExpectedCell] = []
        self._cell: _WatchedCell | None = None
        self._idle_since = 0.0

    def variables(self) -> dict[str, Any]:
        """The user's own, as ``%whos`` lists them: nothing private, and nothing that IPython put there."""
        held = {name: value for name, value in [*self._shell.user_ns.items()] if isinstance(name, str)}
        hidden = self._shell.user_ns_hidden
        return {name: held[name] for name in visible(held) if held[name] is not hidden.get(name, _nothing)}

    def bind(self, name: str, value: Any) -> None:
        self._shell.user_ns[name] = value

    def unbind(self, name: str) -> None:
        """Delete *name*."""
        self._shell.user_ns.pop(name, None)

    def watch(self, code: str, ended: Callable[[Sequence[NameChange]], object]) -> VariableWatch:
        """A watch for *code*."""
        return VariableWatch(self.variables, _reach(code), self._following(), ended)

    def unrestorable(self, code: str, limit: int) -> tuple[str, ...]:
        """The names that *code* can reach and that could not be restored; from any thread."""
        names = self.variables()
        return tuple(Keeper(names, limit, mode="plan").keep(_reach(code).of(names)).lost)

    def watch_cell(self, cell_id: str, source: str, watch: CellWatch, *, late: bool) -> Callable[[], None]:
        """Watch the next run of the cell, as IPython's events tell of it."""
        self._following()
        expected = _ExpectedCell(cell_id, source, watch, late)
        self._expected.append(expected)
        self._idle_since = time.monotonic()

        def end() -> None:
            with contextlib.suppress(ValueError):
                self._expected.remove(expected)

        return end

    def stop_cell(self, cell_id: str) -> bool:
        """Interrupt the cell as Jupyter's own interrupt does; from any thread."""
        cell = self._cell
        if cell is None or cell.cell_id != cell_id:
            return False
        interrupt_main_thread()
        return True

    def release(self, objects: Sequence[object]) -> None:
        """Free *objects* on the main thread: as soon as its loop is free, else around the next cell."""
        self._released.extend(objects)
        if self._job_queue.schedule is not None:
            self._job_queue.schedule(self._free)

    def _following(self) -> Watches:
        """The watches of this shell, which hear of its cells from now on."""
        if self._watches is None:
            self._watches = Watches()
            self._shell.events.register("pre_run_cell", self._cell_begins)
            self._shell.events.register("post_run_cell", self._cell_ended)
        return self._watches

    def _cell_begins(self, info: Any) -> None:
        self._free()
        if self._cell is not None:
            self._cell.depth += 1  # code of the cell runs another
            return
        watches = self._following()
        expected = None if watches.is_running else self._expected_as(info)
        if expected is None:
            watches.user_cell_begins()
            return
        self._expected.remove(expected)
        self._cell = _WatchedCell(expected.cell_id, expected.watch)

    def _cell_ended(self, _result: Any) -> None:
        if self._cell is not None:
            self._cell.depth -= 1
            if not self._cell.depth:
                self._cell.close()
                self._cell = None
        else:
            self._following().user_cell_ended()
        self._idle_since = time.monotonic()
        self._free()

    def _expected_as(self, info: Any) -> _ExpectedCell | None:
        if time.monotonic() - self._idle_since > LATE_SECONDS:
            # The cell that it waited behind has ended long ago and it did not run: somebody stopped the queue.
            self._expected = [each for each in self._expected if not each.late]
        cell_id, source = getattr(info, "cell_id", None), getattr(info, "raw_cell", None)
        return next((each for each in self._expected if each.source == source and each.cell_id == cell_id), None)

    def _free(self) -> None:
        self._released.clear()


def _reach(code: str) -> Reach:
    try:
        return Reach(TransformerManager().transform_cell(code))
    except Exception:  # noqa: BLE001 - what IPython cannot read does not run
        return Reach(code)


_nothing = object()
