"""Watches the user's variables while an agent's code runs: the names it adds, rebinds, deletes or changes in place.

Everything here runs on the main thread, where the code runs.
"""

from __future__ import annotations

import contextlib
import time
import types
from typing import TYPE_CHECKING, Any

from agentnb.credentials import logger
from agentnb.kernel.variables.changes import Binding, NameChange, is_same
from agentnb.kernel.variables.fingerprint import ARRAYS, FRAMES, fingerprint, library_class
from agentnb.kernel.variables.summary import estimated_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

log = logger("agentnb.kernel")

LOOK_SECONDS = 0.25
"""Processor time that the fingerprints of all variables may take; those of the rest are not taken."""
LONGEST_LOOK_SECONDS = 2.0
"""And time in all: a busy machine takes longer, and so does an array that lies in a file far away."""
LARGEST_WHILE_RUNNING = 256 * 1024 * 1024
"""Bytes of an array or data frame that is not held while code runs, so that the code can free its memory."""
_absent = object()


class VariableWatch:
    """Watches one piece of code."""

    def __init__(
        self,
        variables: Callable[[], dict[str, Any]],
        watches: Watches,
        ended: Callable[[Sequence[NameChange]], object],
    ) -> None:
        self._variables = variables
        self._watches = watches
        self._ended = ended
        self._before: dict[str, Any] | None = None
        self._prints: dict[str, tuple[object, Binding]] = {}
        self._changes: dict[str, NameChange] = {}
        self._foreign_cells = 0
        self._is_stale = False
        self._finished = False

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While the code runs; entered again for each step of code that awaits."""
        self._watches.enter(self)
        try:
            yield
        finally:
            self._watches.leave(self)

    def finish(self) -> None:
        """The code has ended: give its changes."""
        if self._finished:
            return
        self._finished = True
        self._watches.forget(self)
        try:
            if self._before is not None and not self._is_stale:
                _carefully(self._compare_contents)
        finally:
            self._prints.clear()
            self._before = None
            changes, self._changes = [*self._changes.values()], {}
            self._ended(changes)

    # --- called by the watches of the shell ---

    def begin_step(self) -> None:
        """The code goes on: what is there now is not its doing."""
        names = self._variables()
        first, self._before = self._before is None, {name: _for_later(name, value) for name, value in names.items()}
        if first or (self._is_stale and not self._foreign_cells):
            self._prints = _fingerprints(names)
        elif self._is_stale:
            self._prints = {}  # a cell of the user's goes on, too: nobody could say whose a change is
        self._is_stale = False

    def end_step(self) -> None:
        """The code has stopped or waits: what has become of the names is its doing."""
        if self._before is None:
            return
        before, names = self._before, self._variables()
        self._before = {name: _for_later(name, value) for name, value in names.items()}
        for name in {**before, **names}:
            old, new = before.get(name, _absent), names.get(name, _absent)
            unchanged = old.is_of(new) if isinstance(old, Binding) else is_same(old, new)
            if not unchanged and not (_is_no_variable(old) and _is_no_variable(new)):
                self._add(NameChange(name, self._binding(name, old), None if new is _absent else Binding(name, new)))

    def _binding(self, name: str, old: Any) -> Binding | None:
        """The binding of *name* before the code changed it."""
        if old is _absent:
            return None
        if isinstance(old, Binding):
            return old
        _, known = self._prints.get(name, (None, None))
        return known if known is not None and known.is_of(old) else Binding(name, old)

    def user_cell_begins(self) -> None:
        """A cell of the user's begins while the code waits."""
        if self._before is None:
            return
        if not self._is_stale and not self._foreign_cells:
            self._compare_contents()
        self._foreign_cells += 1
        self._is_stale = True

    def user_cell_ended(self) -> None:
        self._foreign_cells = max(0, self._foreign_cells - 1)

    def _compare_contents(self) -> None:
        names = self._variables()
        for name, (print_before, binding) in self._prints.items():
            value = names.get(name, _absent)
            print_now = fingerprint(value) if binding.is_of(value) else None
            if print_now is not None and print_now != print_before:
                self._add(NameChange(name, binding, Binding(name, value), rebound=False, in_place=True))
        self._prints.clear()

    def _add(self, change: NameChange) -> None:
        earlier = self._changes.pop(change.name, None)
        merged = change if earlier is None else earlier.merged(change)
        if merged is not None:
            self._changes[change.name] = merged


def _for_later(name: str, value: Any) -> Any:
    """*value*; a large array or frame is not held, so that the code can free its memory."""
    if not library_class(type(value), (*ARRAYS, *FRAMES)) or estimated_size(value) <= LARGEST_WHILE_RUNNING:
        return value
    binding = Binding(name, value)
    binding.measure()
    binding.let_go()
    return binding


def _is_no_variable(value: Any) -> bool:
    return value is _absent or issubclass(type(value), types.ModuleType)


def _fingerprints(names: Mapping[str, Any]) -> dict[str, tuple[object, Binding]]:
    """The fingerprints of as many variables as can be looked at in a short time."""
    worked_until, until = time.thread_time() + LOOK_SECONDS, time.monotonic() + LONGEST_LOOK_SECONDS
    prints: dict[str, tuple[object, Binding]] = {}
    for name, value in names.items():
        print_now = fingerprint(value)
        if print_now is not None:
            later = _for_later(name, value)
            prints[name] = print_now, later if isinstance(later, Binding) else Binding(name, value)
        if time.thread_time() > worked_until or time.monotonic() > until:
            break
    return prints


class Watches:
    """The watches of one shell: code can run code of another agent, and the user's cells run between the steps."""

    def __init__(self) -> None:
        self._stack: list[VariableWatch] = []
        self._open: list[VariableWatch] = []

    @property
    def is_running(self) -> bool:
        """True if watched code has the main thread now."""
        return bool(self._stack)

    def enter(self, watch: VariableWatch) -> None:
        """The watched code goes on."""
        if self._stack:
            _carefully(self._stack[-1].end_step)
        if watch not in self._open:
            self._open.append(watch)
        self._stack.append(watch)
        try:
            _carefully(watch.begin_step)
        except BaseException:  # interrupted: the code does not run, and `leave` is not called
            self._leave(watch)
            raise

    def leave(self, watch: VariableWatch) -> None:
        """The watched code has stopped or waits."""
        try:
            _carefully(watch.end_step)
        finally:
            self._leave(watch)

    def _leave(self, watch: VariableWatch) -> None:
        self._stack.remove(watch)
        if self._stack:
            _carefully(self._stack[-1].begin_step)

    def forget(self, watch: VariableWatch) -> None:
        """The watched code has ended."""
        with contextlib.suppress(ValueError):
            self._open.remove(watch)

    def user_cell_begins(self) -> None:
        """A cell that no watched code runs begins."""
        if not self._stack:
            for watch in [*self._open]:
                _carefully(watch.user_cell_begins)

    def user_cell_ended(self) -> None:
        """Such a cell has ended."""
        if not self._stack:
            for watch in [*self._open]:
                watch.user_cell_ended()


def _carefully(look: Callable[[], None]) -> None:
    """Look; what goes wrong there is no failure of the code that is watched."""
    try:
        look()
    except Exception:
        log.exception("The variables could not be looked at")
