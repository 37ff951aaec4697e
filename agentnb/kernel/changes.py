"""What an agent changed in the kernel and the notebook, by turn: to be shown, undone, redone and kept.

Variables are watched while an agent's code runs (:mod:`agentnb.kernel.variable_watch`); what a name was bound to before
is held, within a limit, until the change is kept or the conversation is closed. Undo binds it again. Nothing of the
user's is overwritten: where they have bound a name, or changed the object, since, that is a conflict.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.errors import ChangesError, KernelChangesConflict
from agentnb.kernel.value_fingerprint import fingerprint
from agentnb.kernel.value_summary import ValueSummary, difference, summarize_value
from agentnb.kernel.variable_watch import Binding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.kernel.code_runner import CodeRunner, CodeWatch, Namespace
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variable_watch import NameChange

Status = Literal["added", "changed", "deleted"]
Choice = Literal["mine", "theirs"]
"""What to do about a conflict: leave what is there now (``"mine"``), or replace it (``"theirs"``)."""

HELD_BYTES = 512 * 1024 * 1024
"""About how much memory the old objects of one conversation may hold."""
PATIENCE_SECONDS = 10.0
"""How long undo waits for a busy kernel."""
REBIND_SECONDS = 20.0
_KEPT = "It was kept: the old object is no longer held."
_IN_PLACE = "It was changed in place, which cannot be undone."
_PARTLY = "Before, the object was changed in place, too: undo binds it again as it is now."


class VariableChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A variable that is other after a turn.

    Attributes:
        id: ``variable:<name>``.
        name: The variable's name.
        status: ``"added"``, ``"changed"`` or ``"deleted"``.
        before: A line on the object before; None where there was none.
        after: A line on the object after; None where there is none.
        detail: What became of it, in a line, such as ``DataFrame (100, 3) → DataFrame (100, 4)``.
        undoable: Whether it can be undone, or redone where it is undone.
        undone: Whether it is undone.
        reason: Why it cannot be undone, or not wholly; a sentence.
    """

    id: str
    name: str
    status: Status
    before: str | None
    after: str | None
    detail: str
    undoable: bool
    undone: bool = False
    reason: str | None = None


class KernelConflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell or variable that is other than the turn left it.

    Attributes:
        id: The change's id.
        name: The cell's or the variable's name.
        base: What the turn left: a cell's text, or a line on an object; None where there was nothing.
        current: What is there now, likewise.
        target: What undo or redo would put there, likewise.
    """

    id: str
    name: str
    base: str | None
    current: str | None
    target: str | None


class _Variable:
    """One changed variable of one turn."""

    def __init__(self, change: NameChange) -> None:
        self.change = change
        self.undone = False
        self.kept = False

    @property
    def source(self) -> Binding | None:
        """What the name has to be bound to so that it can be undone, or redone."""
        return self.change.before if self.undone else self.change.after

    @property
    def target(self) -> Binding | None:
        """What it is bound to then."""
        return self.change.after if self.undone else self.change.before

    @property
    def refusal(self) -> str | None:
        """Why it cannot be undone, or redone."""
        if not self.change.rebound:
            return _IN_PLACE
        if self.kept:
            return _KEPT
        if self.target is not None and not self.target.is_available:
            return f"The {'new' if self.undone else 'old'} object is no longer held: {_room(self.target)}."
        if self.source is not None and not self.source.is_known:
            return f"Whether the variable is still as the turn left it is not known: {_room(self.source)}."
        return None

    def turn_back(self, replaced: Binding | None) -> None:
        """The name is bound to the target now; *replaced* is what it was bound to."""
        if self.undone:
            self.change.before = replaced
        else:
            self.change.after = replaced
        self.undone = not self.undone

    def told(self) -> VariableChange:
        change = self.change
        before = None if change.before is None else change.before.summary
        after = None if change.after is None else change.after.summary
        refusal = self.refusal
        return VariableChange(
            id=variable_id(change.name),
            name=change.name,
            status="added" if before is None else "deleted" if after is None else "changed",
            before=None if before is None else before.text,
            after=None if after is None else after.text,
            detail=_detail(before, after),
            undoable=refusal is None,
            undone=self.undone,
            reason=refusal if refusal is not None else _PARTLY if change.in_place else None,
        )


class KernelChanges:
    """The changes of one conversation. Used on the host's thread, but for what the watches tell on the main thread.

    Args:
        owner: The tab's id.
        runner: The kernel and its notebook; None where there is none.
        job_queue: The jobs of the main thread.
        limit: Bytes that the old objects may hold; the oldest are let go first.

    Attributes:
        changed: Called with a turn's id when code that was still running after the turn's end has changed something;
            on the main thread.
        patience: Seconds that undo and redo wait for a busy kernel.
    """

    def __init__(
        self,
        owner: str,
        runner: Callable[[], CodeRunner | None],
        job_queue: JobQueue,
        *,
        limit: int = HELD_BYTES,
    ) -> None:
        self.changed: Callable[[str], object] = lambda _turn_id: None
        self._owner = owner
        self._runner = runner
        self._job_queue = job_queue
        self._limit = limit
        self.patience = PATIENCE_SECONDS
        self._lock = threading.RLock()
        self._turns: dict[str, dict[str, _Variable]] = {}
        self._held: list[Binding] = []  # the oldest first
        self._current: str | None = None
        self._ended: set[str] = set()

    # --- while a turn runs ---

    def begin(self, turn_id: str) -> None:
        """A turn begins: what the agent's code changes from now on is the turn's."""
        with self._lock:
            self._current = turn_id
            self._turns.setdefault(turn_id, {})

    def end(self, turn_id: str) -> tuple[VariableChange, ...]:
        """The turn has ended, or is to be shown while it runs: what it has changed so far.

        Code that goes on after the turn's end can change more; then :attr:`changed` is called.
        """
        with self._lock:
            self._ended.add(turn_id)
            found = self._turns.get(turn_id, {})
            return tuple(found[name].told() for name in sorted(found))

    def watch(self) -> CodeWatch | None:
        """A watch for code that the agent runs now; None where no turn has begun."""
        turn_id, runner = self._current, self._runner()
        if turn_id is None or runner is None:
            return None
        return runner.namespace.watch(lambda changes: self._found(turn_id, changes))

    def _found(self, turn_id: str, changes: Sequence[NameChange]) -> None:
        """Code has ended, on the main thread."""
        if not changes:
            return
        for change in changes:
            for binding in filter(None, (change.before, change.after)):
                binding.measure()
            if change.after is not None and change.after.is_available:
                change.after.contents = fingerprint(change.after.value)
        with self._lock:
            variables = self._turns.get(turn_id)
            if variables is None:
                return
            for change in changes:
                self._add(variables, change)
            late = turn_id in self._ended
        if late:
            self.changed(turn_id)

    def _add(self, variables: dict[str, _Variable], change: NameChange) -> None:
        earlier = variables.pop(change.name, None)
        merged = change if earlier is None or earlier.kept or earlier.undone else earlier.change.merged(change)
        if merged is None:
            self._release(_bindings(earlier))
            return
        variables[change.name] = _Variable(merged)
        self._release(each for each in _bindings(earlier) if each not in (merged.before, merged.after))
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
        """Put back what was there before the turn: all of *ids*, or nothing.

        Args:
            turn_id: The turn.
            ids: The changes' ids.
            choices: What to do about conflicts, by id.

        Returns:
            The ids of what was undone, or was as before already.

        Raises:
            KernelChangesConflict: If something is other than the turn left it, and no choice says what to do.
            ChangesError: If something cannot be undone.
            KernelBusy: If the kernel is busy for too long.
        """
        return await self._turn_back(turn_id, ids, choices or {}, undone=False)

    async def redo(
        self, turn_id: str, ids: Sequence[str], *, choices: Mapping[str, Choice] | None = None
    ) -> tuple[str, ...]:
        """Do again what was undone: all of *ids*, or nothing. As :meth:`undo`."""
        return await self._turn_back(turn_id, ids, choices or {}, undone=True)

    def keep(self, turn_id: str, ids: Iterable[str] | None = None) -> None:
        """Accept the turn's changes, or those of *ids*: the old objects are let go."""
        wanted = None if ids is None else set(ids)
        with self._lock:
            for variable in self._turns.get(turn_id, {}).values():
                if wanted is None or variable_id(variable.change.name) in wanted:
                    variable.kept = True
                    self._release(_bindings(variable))

    def close(self) -> None:
        """The conversation is closed: nothing is held any longer."""
        with self._lock:
            self._turns.clear()
            self._current = None
            self._release([*self._held])

    async def _turn_back(
        self, turn_id: str, ids: Sequence[str], choices: Mapping[str, Choice], *, undone: bool
    ) -> tuple[str, ...]:
        runner = self._runner()
        variables = self._chosen(turn_id, ids, undone=undone)
        if not variables or runner is None:
            return ()
        work = runner.look(lambda: self._rebind(runner.namespace, variables, choices))
        return await self._job_queue.run(work, self._owner, patience=self.patience, timeout=REBIND_SECONDS)

    def _chosen(self, turn_id: str, ids: Sequence[str], *, undone: bool) -> list[_Variable]:
        """The variables with *ids* that are to be turned back."""
        what = "redone" if undone else "undone"
        with self._lock:
            found = {variable_id(name): each for name, each in self._turns.get(turn_id, {}).items()}
            chosen = []
            for named in ids:
                variable = found.get(named)
                if variable is None:
                    message = f"{named!r} of that turn cannot be {what}: the kernel knows nothing of it."
                    raise ChangesError(message, hint="Variables can be undone until the kernel is restarted.")
                if variable.undone is undone:
                    if (refusal := variable.refusal) is not None:
                        raise ChangesError(f"The variable {variable.change.name!r} cannot be {what}. {refusal}")
                    chosen.append(variable)
            return chosen

    def _rebind(
        self, namespace: Namespace, variables: Sequence[_Variable], choices: Mapping[str, Choice]
    ) -> tuple[str, ...]:
        """Bind the names to what they are to be, on the main thread; all of them or none."""
        names = namespace.variables()
        with self._lock:
            ready, conflicts = [], []
            for variable in variables:
                name, choice = variable.change.name, choices.get(variable_id(variable.change.name))
                if _is_at(variable.target, names, name):
                    ready.append((variable, False))
                elif _is_untouched(variable.source, names, name) or choice == "theirs":
                    ready.append((variable, True))
                elif choice is None:
                    conflicts.append(_conflict(variable, names))
            if conflicts:
                raise _conflicting(conflicts)
            replaced = [self._replaced(variable, names) if bind else variable.source for variable, bind in ready]
            for (variable, _), source in zip(ready, replaced, strict=True):
                if variable.target is None:
                    namespace.unbind(variable.change.name)
                else:
                    namespace.bind(variable.change.name, variable.target.value)
                variable.turn_back(source)
            return tuple(variable_id(variable.change.name) for variable, _ in ready)

    def _replaced(self, variable: _Variable, names: Mapping[str, Any]) -> Binding | None:
        """What the name is bound to now, held so that it can be bound again."""
        if variable.target is not None:
            variable.target.contents = fingerprint(variable.target.value)
        name = variable.change.name
        if name not in names:
            return None
        binding = Binding(name, names[name])
        binding.measure()
        binding.contents = fingerprint(names[name])
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


def variable_id(name: str) -> str:
    """The id of the change of the variable *name*."""
    return f"variable:{name}"


def _bindings(variable: _Variable | None) -> Iterable[Binding]:
    return () if variable is None else filter(None, (variable.change.before, variable.change.after))


def _is_at(target: Binding | None, names: Mapping[str, Any], name: str) -> bool:
    """Whether *name* is bound to *target* already."""
    return name not in names if target is None else name in names and target.is_of(names[name])


def _is_untouched(source: Binding | None, names: Mapping[str, Any], name: str) -> bool:
    """Whether *name* is bound to *source*, and that has not been changed in place since it was seen."""
    if source is None or not _is_at(source, names, name):
        return source is None and name not in names
    return source.contents is None or fingerprint(names[name]) == source.contents


def _conflict(variable: _Variable, names: Mapping[str, Any]) -> KernelConflict:
    name = variable.change.name
    source, target = variable.source, variable.target
    return KernelConflict(
        id=variable_id(name),
        name=name,
        base=None if source is None else source.summary.text,
        current=summarize_value(names[name], name).text if name in names else None,
        target=None if target is None else target.summary.text,
    )


def _conflicting(conflicts: Sequence[KernelConflict]) -> KernelChangesConflict:
    names = ", ".join(repr(each.name) for each in conflicts)
    one = len(conflicts) == 1
    message = (
        f"{'A variable is' if one else 'Variables are'} other than the turn left {'it' if one else 'them'}: {names}."
    )
    hint = "Nothing was changed. Choose for each whether to leave what is there now."
    return KernelChangesConflict(message, hint=hint, conflicts=tuple(conflicts))


def _detail(before: ValueSummary | None, after: ValueSummary | None) -> str:
    if before is None or after is None:
        return (before or after or ValueSummary("")).text
    return difference(before, after)


def _room(binding: Binding) -> str:
    return f"it holds about {max(1, round(binding.size / 1_000_000)):,} MB, and room is limited"
