"""Watches the user's variables while an agent's code runs: the names it adds, rebinds, deletes or changes in place.

Everything here runs on the main thread, where the code runs.
"""

from __future__ import annotations

import contextlib
import types
from itertools import count
from typing import TYPE_CHECKING, Any

from agentnb.credentials import logger
from agentnb.kernel.variables.arrays import share_memory
from agentnb.kernel.variables.changes import ChangeSet, NameChange
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.kinds import ARRAYS, FRAMES, is_same, library_class
from agentnb.kernel.variables.references import LIMIT, Binding, ObjectChange
from agentnb.kernel.variables.snapshot import VariableSnapshot
from agentnb.kernel.variables.summary import estimated_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from logging import Logger

    from agentnb.kernel.variables.kinds import Reach
    from agentnb.kernel.variables.snapshot import KeptObject

log: Logger = logger("agentnb.kernel")

LARGEST_WHILE_RUNNING = 256 * 1024 * 1024
"""The largest array or data frame, in bytes, that is held while code runs: the code can free a larger one's memory."""
_absent = object()
_looks = count()


class VariableWatch:
    """Watches one piece of code."""

    def __init__(
        self,
        variables: Callable[[], dict[str, Any]],
        reach: Reach,
        watches: Watches,
        ended: Callable[[Sequence[NameChange]], object],
    ) -> None:
        self._variables = variables
        self._reach = reach
        self._watches = watches
        self._ended = ended
        self._before: dict[str, Any] | None = None
        self._snapshot = VariableSnapshot()
        self._bindings: dict[str, Binding] = {}
        self._changes = ChangeSet()
        self._foreign_cells = 0
        self._is_stale = False
        self._finished = False
        self.begins: Callable[[], object] = lambda: None  # called before the objects that the code can reach are kept
        self.kept: Callable[[VariableSnapshot], object] = lambda _: None  # called then, before any of the code runs
        self.limit = LIMIT  # the most bytes of copies that are kept
        self.lost: dict[str, str] = {}  # names that the code could reach and that cannot be restored, with the reason

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """A context for the time the code runs; entered again for each step of code that awaits."""
        self._watches.enter(self)
        try:
            yield
        finally:
            self._watches.leave(self)

    def finish(self) -> None:
        """Report the changes when the code has ended."""
        if self._finished:
            return
        self._finished = True
        self._watches.forget(self)
        try:
            if self._before is not None and not self._is_stale:
                _carefully(self._compare_contents)
            _carefully(self._mark)
        finally:
            changes, self._changes = self._changes, ChangeSet()
            self._snapshot, self._bindings, self._before = VariableSnapshot(), {}, None
            self._ended([*changes.names.values()])

    def _mark(self) -> None:
        """Remember the state that the code left, to detect later changes by somebody else."""
        for change in self._changes.names.values():
            if change.after is not None:
                change.after.read(self._snapshot.objects)

    # --- called by the watches of the shell ---

    def begin_step(self) -> None:
        """Note the current state when the code resumes: it is not the code's doing."""
        names = self._variables()
        first, self._before = self._before is None, _for_later(names)
        if first or (self._is_stale and not self._foreign_cells):
            self._keep(names)
            if first:
                self.kept(self._snapshot)
        elif self._is_stale:  # a user's cell runs at the same time: a change's author would be unknown
            self._snapshot, self._bindings = VariableSnapshot(), {}
        self._is_stale = False

    def _keep(self, names: dict[str, Any]) -> None:
        self._changes.find_stale()
        self.begins()
        self._snapshot = Keeper(names, self.limit).keep(self._reach.of(names))
        self.lost |= self._snapshot.lost
        self._bindings = {}
        for name in self._snapshot.names:
            held = (self._before or {})[name]
            self._bindings[name] = held if type(held) is Binding else Binding(name, held)

    def end_step(self) -> None:
        """Attribute the changes to names up to now to the code, which has stopped or waits."""
        if self._before is None:
            return
        before, names = self._before, self._variables()
        self._before = _for_later(names)
        for name in {**before, **names}:
            old, new = before.get(name, _absent), names.get(name, _absent)
            unchanged = old.is_of(new) if type(old) is Binding else is_same(old, new)
            if not unchanged and not (_is_no_variable(old) and _is_no_variable(new)):
                after = None if new is _absent else Binding(name, new)
                self._changes.add(NameChange(name, self._binding(name, old), after))

    def _binding(self, name: str, old: Any) -> Binding | None:
        """The binding of *name* before the code changed it."""
        if old is _absent:
            return None
        if type(old) is Binding:
            return old
        known = self._bindings.get(name)
        return known if known is not None and known.is_of(old) else Binding(name, old)

    def user_cell_begins(self) -> None:
        """Called when a cell of the user's begins while the code waits."""
        if self._before is None:
            return
        if not self._is_stale and not self._foreign_cells:
            self._compare_contents()
        self._foreign_cells += 1
        self._is_stale = True

    def user_cell_ended(self) -> None:
        self._foreign_cells = max(0, self._foreign_cells - 1)

    def _compare_contents(self) -> None:
        changed = self._snapshot.changed()
        if not changed:
            return
        names = self._variables()
        number = next(_looks)
        live = [(each, value) for each in changed if (value := each.follow()) is not None]
        objects = {each.at: ObjectChange(value, each.state, number) for each, value in live}
        leading = self._snapshot.names_of(changed)
        same = {id(names[name]): those for name, those in leading.items() if name in names}
        for name, value in names.items():
            if (those := same.get(id(value))) is not None and name not in leading:
                leading[name] = those
                self._bindings[name] = alias = Binding(name, value)
                alias.summary = next(each.summary for each in self._bindings.values() if each.is_of(value))
        for name, kept in _sharing_memory(names, changed):
            leading.setdefault(name, [kept])
        for name, those in leading.items():
            own = [objects[at] for at in dict.fromkeys(each.at for each in those) if at in objects]
            self._add_content(name, names, own)

    def _add_content(self, name: str, names: dict[str, Any], objects: list[ObjectChange]) -> None:
        """Note that the code changed *objects*, to which *name* led when it began."""
        binding, value = self._bindings.get(name), names.get(name, _absent)
        known = self._changes.names.get(name)
        if known is not None and known.rebound:
            if known.before is not None and (binding is None or known.before is binding):
                known.objects = [*dict.fromkeys([*known.objects, *objects])]
                known.lost = self._snapshot.lost.get(name, "")
            return
        if value is _absent or (binding is not None and not binding.is_of(value)):
            return
        change = NameChange(name, binding or Binding(name, value), Binding(name, value), rebound=False, objects=objects)
        change.lost = self._snapshot.lost.get(name, "")
        self._changes.add(change)


def _sharing_memory(names: dict[str, Any], changed: Iterable[KeptObject]) -> Iterator[tuple[str, KeptObject]]:
    """The names of arrays that share memory with changed ones."""
    arrays = [(value, each) for each in changed if library_class(type(value := each.follow()), ARRAYS)]
    for name, value in names.items() if arrays else ():
        if library_class(type(value), ARRAYS):
            yield from ((name, kept) for array, kept in arrays if share_memory(array, value))


def _for_later(names: dict[str, Any]) -> dict[str, Any]:
    """*names* with what they are bound to; a large array or frame is not held, so that the code can free its memory."""
    held, large = dict(names), dict[type, bool]()
    for name, value in names.items():
        kind = type(value)
        is_large = large.get(kind)
        if is_large is None:
            is_large = large[kind] = library_class(kind, (*ARRAYS, *FRAMES)) is not None
        if is_large and estimated_size(value) > LARGEST_WHILE_RUNNING:
            binding = Binding(name, value)
            binding.measure()
            binding.let_go()
            held[name] = binding
    return held


def _is_no_variable(value: Any) -> bool:
    return value is _absent or issubclass(type(value), types.ModuleType)


class Watches:
    """The watches of one shell: code can run code of another agent, and the user's cells run between the steps."""

    def __init__(self) -> None:
        self._stack: list[VariableWatch] = []
        self._open: list[VariableWatch] = []

    @property
    def is_running(self) -> bool:
        """True if watched code is running on the main thread now."""
        return bool(self._stack)

    def enter(self, watch: VariableWatch) -> None:
        if self._stack:
            _carefully(self._stack[-1].end_step)
        if watch not in self._open:
            self._open.append(watch)
        self._stack.append(watch)
        try:
            _carefully(watch.begin_step)
        except BaseException:  # interrupted: the code will not run, and `leave` will not be called
            self._leave(watch)
            raise

    def leave(self, watch: VariableWatch) -> None:
        try:
            _carefully(watch.end_step)
        finally:
            self._leave(watch)

    def _leave(self, watch: VariableWatch) -> None:
        self._stack.remove(watch)
        if self._stack:
            _carefully(self._stack[-1].begin_step)

    def forget(self, watch: VariableWatch) -> None:
        with contextlib.suppress(ValueError):
            self._open.remove(watch)

    def user_cell_begins(self) -> None:
        """Called when a cell that no watched code runs begins."""
        if not self._stack:
            for watch in [*self._open]:
                _carefully(watch.user_cell_begins)

    def user_cell_ended(self) -> None:
        """Called when a cell that no watched code runs has ended."""
        if not self._stack:
            for watch in [*self._open]:
                watch.user_cell_ended()


def _carefully(look: Callable[[], None]) -> None:
    """Call *look*; an error in it does not count as a failure of the watched code."""
    try:
        look()
    except Exception:
        log.exception("The variables could not be looked at")
