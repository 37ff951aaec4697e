"""Undoes, redoes and keeps changes: single ones, those of a turn, from a turn on, or of the whole conversation.

Files are undone newest first, each from the turn's last version to its first. Later changes are never overwritten: the
store merges texts, or refuses. What an undo really did is remembered, so that redo reverts exactly that.
"""

from __future__ import annotations

import difflib
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from agentnb.changes.apply import followed_by
from agentnb.changes.model import FOLDER, PathChange, path_to_json
from agentnb.errors import AgentnbError, ChangesError, ChangesUnavailable, SessionError, UsageError
from agentnb.host.changes.hunks import decide_hunk
from agentnb.host.changes.items import is_left_alone
from agentnb.host.changes.records import Undone, count_by_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from agentnb.changes.model import Choice, Step
    from agentnb.changes.store import ChangeStore
    from agentnb.host.changes.change_tracker import ChangeTracker
    from agentnb.host.changes.hunks import Hunk
    from agentnb.host.changes.records import ConversationRecord, Item, State, TurnChangeRecord

Operation: TypeAlias = Literal["undo", "redo", "keep", "apply"]
"""The operations on changes; ``apply`` gives an open notebook the cells that an agent wrote to its file."""

_DONE: dict[Operation, str] = {"undo": "undone", "redo": "redone", "keep": "kept", "apply": "applied"}
_WANTED: dict[Operation, frozenset[State]] = {
    "undo": frozenset({"open"}),
    "redo": frozenset({"undone"}),
    "keep": frozenset({"open", "offered"}),
    "apply": frozenset({"offered"}),
}
MOST_NAMED = 3
"""Files that are named in an answer."""
_OVERWRITE = "If Jupyter says that its file has changed when you save the notebook, choose Overwrite."
_OTHERS = "Apply the others, too, before you save the notebook: saving it replaces its file."


class Selected(NamedTuple):
    turn_id: str
    item: Item

    @property
    def key(self) -> tuple[str, str]:
        return self.turn_id, self.item.id


class Outcome(NamedTuple):
    done: tuple[tuple[str, str], ...]
    message: str


class Undo:
    """Undoes, redoes and keeps the changes of one conversation. Runs on the host's thread."""

    def __init__(self, tracker: ChangeTracker, recorded: Callable[[str, str, str], None]) -> None:
        self._tracker = tracker
        self._recorded = recorded

    async def do(
        self,
        operation: Operation,
        turn_id: str | None = None,
        ids: Iterable[str] = (),
        *,
        onwards: bool = False,
        among: AbstractSet[str] | None = None,
        choices: Mapping[str, Choice] | None = None,
        hunk: Hunk | None = None,
        by: str = "user",
    ) -> Outcome:
        """Undo, redo or keep changes, only of the turns *among* if given, or the part *hunk* of one change."""
        tracker = self._tracker
        if tracker.store is None:
            message = "Changes are not tracked here: AGENTNB_CHANGES or %config Agentnb.changes switches that off."
            raise ChangesUnavailable(message)
        await tracker.compared()
        if turn_id is not None and not tracker.has_ended(turn_id):
            message = "The turn has not ended, so its changes are not known yet."
            raise SessionError(message, hint="Wait until it ends, or cancel it.")
        if operation != "keep":
            self._refuse_while_turns_run(operation)
        if (part := self._part(operation, turn_id, tuple(ids), hunk)) is not None and operation != "apply":
            message = await decide_hunk(tracker, operation, *part, hunk, choices=choices or {})
            self._recorded(operation, part[1].name, by)
            tracker.tell(part[0])
            return Outcome(((part[0], part[1].id),), message)
        selected = _selected(tracker.record, operation, turn_id, tuple(ids), onwards=onwards)
        if among is not None:
            selected = [each for each in selected if each.turn_id in among]
        selected, left = _without_others_work(operation, selected, is_named=bool(ids))
        if not selected:
            return Outcome((), _and_left(f"There is nothing to {operation}.", left))
        outcome = await self._carry_out(operation, selected, choices or {})
        what = ", ".join(each.item.name for each in selected if each.key in outcome.done)
        self._recorded(operation, what, by)
        for each in dict.fromkeys(turn for turn, _ in outcome.done):
            tracker.tell(each)
        return Outcome(outcome.done, _and_left(outcome.message, left))

    def _part(
        self, operation: Operation, turn_id: str | None, ids: tuple[str, ...], hunk: Hunk | None
    ) -> tuple[str, Item] | None:
        """Returns the turn and the change of which a part is meant; None if whole changes are."""
        turn = None if turn_id is None else self._tracker.record.turn(turn_id)
        item = turn.item(ids[0]) if turn is not None and len(ids) == 1 else None
        if hunk is None:
            is_part = operation == "redo" and item is not None and item.state == "open" and item.undone_parts
            return (turn.turn_id, item) if is_part and turn is not None and item is not None else None
        if turn is None or item is None or operation not in {"undo", "keep"}:
            raise UsageError("Lines can only be given when one change is undone or kept.", hint="Leave them out.")
        return turn.turn_id, item

    async def diff(self, item: Item) -> str:
        """The change as a unified diff; empty for a variable."""
        store, file = self._tracker.store, item.file
        if file is not None and store is not None:
            return await store.run(lambda opened: opened.diff(file))
        if item.kind == "variable":  # its texts describe objects; they are not contents
            return ""
        before, after = ((text or "").splitlines(keepends=True) for text in (item.before, item.after))
        return "".join(difflib.unified_diff(before, after, f"a/{item.name}", f"b/{item.name}"))

    async def file_diffs(self, items: Iterable[Item]) -> list[str]:
        """Returns the changes of files as unified diffs, all in one job of the store.

        The diff is empty if the file cannot be undone, or if its contents are no longer stored.
        """
        store, files = self._tracker.store, [item.file if item.undoable else None for item in items]
        if store is None or not any(files):
            return [""] * len(files)
        return await store.run(lambda opened: [_diff_if_stored(opened, file) for file in files])

    async def _carry_out(
        self, operation: Operation, selected: Sequence[Selected], choices: Mapping[str, Choice]
    ) -> Outcome:
        tracker = self._tracker
        if operation == "keep":
            keys = tuple(each.key for each in selected)
            if tracker.kernel is not None:
                for turn_id in dict.fromkeys(each.turn_id for each in selected):
                    tracker.kernel.keep(turn_id, [each.item.id for each in selected if each.turn_id == turn_id])
            await tracker.save(tracker.record.with_states(keys, "kept"))
            return Outcome(keys, _sentence(operation, selected))
        if (refused := next((each.item for each in selected if not each.item.undoable), None)) is not None:
            raise ChangesError(f"{refused.name} cannot be {_DONE[operation]}. {refused.reason or ''}".strip())
        files = [each for each in selected if each.item.file is not None]
        turned = await self._undo_or_redo_in_kernel(
            operation, [each for each in selected if each.item.file is None], choices
        )
        try:
            done = await (self._undo if operation == "undo" else self._redo)(files, choices)
        except BaseException:
            await self._undo_or_redo_in_kernel("redo" if operation == "undo" else "undo", turned, {})
            raise
        for turn_id in dict.fromkeys(each.turn_id for each in turned):
            tracker.refresh_kernel(turn_id)
        done += turned
        sentence = _sentence(operation, done)
        if operation == "apply" and done:
            sentence = f"{sentence} {self._next_save()}"
        return Outcome(tuple(each.key for each in done), sentence)

    def _next_save(self) -> str:
        """Returns a warning about the next save: JupyterLab asks before it replaces a changed file."""
        items = (item for turn in self._tracker.record.turns for item in turn.items)
        return _OTHERS if any(item.state == "offered" and item.undoable for item in items) else _OVERWRITE

    async def _undo_or_redo_in_kernel(
        self, operation: Operation, selected: Sequence[Selected], choices: Mapping[str, Choice]
    ) -> list[Selected]:
        """Undo or redo cells and variables, turn by turn: all, or none."""
        kernel, done = self._tracker.kernel, list[Selected]()
        if kernel is None or not selected:
            return done
        by_id = {
            each.item.id: choices[key] for each in selected for key in (each.item.name, each.item.id) if key in choices
        }
        turns = list(dict.fromkeys(each.turn_id for each in selected))
        back = operation == "undo"
        try:
            for turn_id in reversed(turns) if back else turns:
                ids = [each.item.id for each in selected if each.turn_id == turn_id]
                turn = kernel.undo if back else kernel.redo
                turned = await turn(turn_id, ids, choices=by_id)
                done += [each for each in selected if each.turn_id == turn_id and each.item.id in turned]
        except AgentnbError:
            await self._undo_or_redo_in_kernel("redo" if back else "undo", done, {})
            raise
        return done

    async def _undo(self, selected: Sequence[Selected], choices: Mapping[str, Choice]) -> list[Selected]:
        tracker = self._tracker
        if not selected:
            return []
        by_turn = groupby(reversed(selected), key=lambda each: each.turn_id)
        folders = tracker.record.with_states([each.key for each in selected], "undone").folders
        groups = [_settled((step for each in of_turn for step in _backward(each)), folders) for _, of_turn in by_turn]
        changed = await self._apply(groups, choices, folders)
        done = [each for each in selected if not _is_left(each, choices, changed)]
        record = tracker.record.with_states([each.key for each in done], "undone")
        await tracker.save(replace(record, undone=(*record.undone, *_apart(done, changed, record.next_time))))
        return done

    async def _redo(self, selected: Sequence[Selected], choices: Mapping[str, Choice]) -> list[Selected]:
        tracker = self._tracker
        if not selected:
            return []
        keys = {each.key for each in selected}
        after = tracker.record.with_states(keys, "open")
        folders = after.folders
        remaining = {each.key: each for each in selected}
        groups: list[list[Step]] = []
        for undone in sorted(tracker.record.undone, key=lambda each: each.time, reverse=True):
            chosen = [each for each in (remaining.pop(key, None) for key in undone.items) if each is not None]
            if undone.is_whole and len(chosen) == len(undone.items):  # redo takes back exactly that undo
                others = (each.items for each in tracker.record.undone if each.time == undone.time)
                left = after.paths(key for items in others for key in items if key not in keys)
                paths = after.paths(undone.items)
                inverse = (step for change in reversed(undone.files) for step in change.backward)
                steps = [_again(step, folders, paths, left) for step in inverse]
                groups.append([each for each in steps if each.target is not None or each.path not in left])
                again = _forward((each for each in chosen if _is_made_and_stayed(each, undone)), folders)
                groups += [[replace(each, is_implied=True) for each in group] for group in again]
            else:
                groups += _forward(chosen, folders)
        groups += _forward([*remaining.values()], folders)
        changed = await self._apply(groups, choices, folders)
        done = [each for each in selected if not _is_left(each, choices, changed)]
        keys = {each.key for each in done}
        record = tracker.record.with_states(keys, "open")
        remains = (each.without(keys) for each in record.undone)
        await tracker.save(replace(record, undone=tuple(each for each in remains if each.items)))
        return done

    async def _apply(
        self, groups: Iterable[Sequence[Step]], choices: Mapping[str, Choice], folders: Mapping[str, bool]
    ) -> tuple[PathChange, ...]:
        """Apply groups of steps that belong together, one group after another; *folders*: whether each is to exist."""
        store, batches = self._tracker.store, _batches(groups)
        if store is None or not batches:
            return ()
        absent = frozenset(each for each in folders if not folders[each])
        return await store.run(lambda opened: _applied(opened, batches, choices, absent))

    def _refuse_while_turns_run(self, operation: Operation) -> None:
        store = self._tracker.store
        running = next(iter(store.running.values()), None) if store is not None else None
        if running is not None:
            message = (
                f"A turn of {running.title!r} runs in this workspace: nothing can be {_DONE[operation]} meanwhile."
            )
            raise SessionError(message, hint="Wait until it ends, or cancel it.")


def _diff_if_stored(store: ChangeStore, change: PathChange | None) -> str:
    try:
        return "" if change is None else store.diff(change)
    except ChangesError:
        return ""


def _selected(
    record: ConversationRecord, operation: Operation, turn_id: str | None, ids: tuple[str, ...], *, onwards: bool
) -> list[Selected]:
    """The changes that are meant and that *operation* applies to, the oldest first."""
    turns = record.turns
    if turn_id is not None:
        at = next((i for i, turn in enumerate(turns) if turn.turn_id == turn_id), len(turns))
        turns = turns[at:] if onwards else turns[at : at + 1]
    items = [item for turn in turns for item in turn.items]
    unknown = [each for each in ids if not any(each in (item.id, item.name) for item in items)]
    if unknown:
        raise UsageError(f"Nothing named {unknown[0]!r} was changed.", hint="Check the changes.")
    wanted = _WANTED[operation] | ({"kept"} if operation == "undo" and ids else set())
    return [
        Selected(turn.turn_id, item)
        for turn in turns
        for item in turn.items
        if item.state in wanted and ({item.id, item.name} & {*ids} if ids else item.undoable or operation == "keep")
    ]


def _without_others_work(
    operation: Operation, selected: Sequence[Selected], *, is_named: bool
) -> tuple[list[Selected], list[Selected]]:
    """Returns what to apply and what to leave alone: an undo of everything removes nobody else's work."""
    if operation != "undo" or is_named:
        return list(selected), []
    left = [each for each in selected if is_left_alone(each.item.by)]
    return [each for each in selected if each not in left], left


def _and_left(message: str, left: Sequence[Selected]) -> str:
    names = list(dict.fromkeys(each.item.name for each in left))
    if not names:
        return message
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    stays, them = ("stays as it is", "it") if len(names) == 1 else ("stay as they are", "them")
    who = "you saved" if any("user" in each.item.by for each in left) else "another tab changed"
    return f"{message} {_joined([*names[:MOST_NAMED], *more])} {stays}, since {who} {them} meanwhile."


def _backward(selected: Selected) -> tuple[Step, ...]:
    return () if selected.item.file is None else selected.item.file.backward


def _settled(steps: Iterable[Step], folders: Mapping[str, bool]) -> list[Step]:
    """*steps*, with folders made or removed as *folders* says, since other turns that did so are undone, too."""
    wanted = {True: FOLDER, False: None}
    return [
        replace(each, target=wanted[folders[each.path]])
        if each.path in folders and (each.target == FOLDER or (each.target is None and each.base == FOLDER))
        else each
        for each in steps
    ]


def _again(step: Step, folders: Mapping[str, bool], paths: AbstractSet[str], left: AbstractSet[str]) -> Step:
    """*step*, which redoes an undo of *paths*, without a folder that was there only for the paths *left*."""
    is_unwanted = step.target == FOLDER and folders.get(step.path) is False
    is_for_others = is_unwanted and any(each.startswith(f"{step.path}/") for each in left)
    return replace(step, target=None if is_for_others else step.target, is_implied=step.path not in paths)


def _is_made_and_stayed(selected: Selected, undone: Undone) -> bool:
    """True if it made a folder that the undo kept because of others' files: that may have been removed with them."""
    file = selected.item.file
    if file is None or file.after != FOLDER or not _is_bare(file):
        return False
    changes = [each for each in undone.files if each.path == file.path]
    return bool(changes) and all(each.before == each.after == FOLDER for each in changes)


def _forward(selected: Iterable[Selected], folders: Mapping[str, bool]) -> list[list[Step]]:
    """The steps that redo changes, turn by turn."""
    by_turn = groupby(selected, key=lambda each: each.turn_id)
    files = ([each.item.file for each in of_turn if each.item.file is not None] for _, of_turn in by_turn)
    return [_settled((step for file in of_turn for step in file.forward), folders) for of_turn in files]


def _apart(done: Sequence[Selected], changed: Sequence[PathChange], time: int) -> list[Undone]:
    """Returns what one undo did, split so that changes without a common path can be redone separately.

    A folder that was created or removed along with them belongs to all changes in it.
    """
    parts: list[tuple[set[str], list[Selected]]] = []
    for each in done:
        paths = {step.path for step in _backward(each)}
        same = [part for part in parts if part[0] & paths]
        parts = [part for part in parts if part not in same]
        parts.append((paths.union(*(part[0] for part in same)), [*(one for part in same for one in part[1]), each]))
    return [
        Undone(
            time=time,
            items=tuple(each.key for each in of_part),
            files=tuple(each for each in changed if each.path in paths or (_is_bare(each) and _is_above(each, paths))),
        )
        for paths, of_part in parts
    ]


def _is_bare(change: PathChange) -> bool:
    return {change.before, change.after} <= {None, FOLDER}


def _is_above(change: PathChange, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{change.path}/") for path in paths)


def _batches(groups: Iterable[Sequence[Step]]) -> list[list[Step]]:
    """Returns the steps of *groups* in batches; steps of one path that fit together are joined.

    Two steps of one path do not fit if the file changed in between. The second one's whole group, which may make room
    for it, then comes after the first.
    """
    batches: list[dict[str, Step]] = [{}]
    for group in groups:
        last = batches[-1]
        if not all(step.path not in last or _can_be_joined(last[step.path], step) for step in group):
            batches.append(last := {})
        for step in group:
            last[step.path] = _then(last[step.path], step) if step.path in last else step
    return [[*batch.values()] for batch in batches if batch]


def _then(first: Step, second: Step) -> Step:
    """Both steps as one; a folder that *second* makes is made, even if *first* found one."""
    is_made = second.target == FOLDER != second.base
    joined = followed_by(first, second)
    return replace(joined, base=None) if is_made and first.base == FOLDER else joined


def _can_be_joined(first: Step, second: Step) -> bool:
    """True if *second* starts from the version that *first* leads to; a folder is made and removed as needed."""
    if first.target in {None, FOLDER} or second.base in {None, FOLDER}:
        return {first.target, second.base} <= {None, FOLDER}
    return (first.target.digest, first.target.mode) == (second.base.digest, second.base.mode)


def _applied(
    store: ChangeStore, batches: Sequence[Sequence[Step]], choices: Mapping[str, Choice], absent: frozenset[str]
) -> tuple[PathChange, ...]:
    """Apply the batches one after another; if one fails, those before it are reverted."""
    done: list[tuple[PathChange, ...]] = []
    try:
        for batch in batches:
            changes = store.apply(batch, choices, absent=absent)
            done.append(changes)
    except AgentnbError:
        for changes in reversed(done):
            store.apply([step for change in changes for step in change.backward])
        raise
    return tuple(change for changes in done for change in changes)


def _is_left(selected: Selected, choices: Mapping[str, Choice], changed: Iterable[PathChange]) -> bool:
    """True if the user chose ``"mine"`` for the file, and it was indeed not written."""
    change = selected.item.file
    paths = () if change is None else (change.path, change.was)
    touched = {each.path for each in changed}
    return any(choices.get(path) == "mine" and path not in touched for path in paths if path is not None)


def _sentence(operation: Operation, selected: Sequence[Selected]) -> str:
    counts = count_by_kind(each.item for each in selected)
    words = [f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in counts.items() if count]
    if not words:
        return f"Nothing was {_DONE[operation]}."
    return f"{_joined(words)} {'was' if sum(counts.values()) == 1 else 'were'} {_DONE[operation]}."


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def merged(turns: Iterable[TurnChangeRecord]) -> list[Item]:
    """The changes of several turns, one for each file, cell or variable: from before the first to after the last."""
    chains: dict[str, list[Item]] = {}
    for turn in turns:
        for item in turn.items:
            moved = f"file:{item.was}" if item.kind == "file" and item.was is not None else item.id
            chains.setdefault(item.id, chains.pop(moved, []) if moved != item.id else []).append(item)
    items = (_merged_chain(chain) for chain in chains.values())
    return [each for each in items if each is not None]


def _merged_chain(chain: Sequence[Item]) -> Item | None:
    """Several changes merged into one, the oldest first; None if they cancel out."""
    effective = [each for each in chain if each.state not in {"undone", "offered"}] or list(chain)
    first, last = effective[0], effective[-1]
    if first is last:
        return last
    file = _merged_file(first.file, last.file)
    if file is not None and file.was is None and file.before == file.after:
        return None
    if last.kind == "cell" and first.before == last.after and not any(each.detail for each in effective):
        return None
    counts = [(each.added, each.removed) for each in effective]
    whole = next((each for each in effective if not each.undoable), None)
    states = {each.state for each in effective}
    return replace(
        last,
        was=None if file is None or file.was is None else path_to_json(file.was),
        status=last.status if file is None else file.status,
        state=states.pop() if len(states) == 1 else "open",
        by=tuple(dict.fromkeys(by for each in effective for by in each.by)),
        added=_sum(each for each, _ in counts),
        removed=_sum(each for _, each in counts),
        undoable=whole is None,
        reason=None if whole is None else whole.reason,
        before=first.before,
        file=file,
    )


def _merged_file(first: PathChange | None, last: PathChange | None) -> PathChange | None:
    if first is None or last is None:
        return last
    origin = first.was if first.was is not None else first.path
    is_moved = first.before is not None and last.after is not None and origin != last.path
    return PathChange(path=last.path, was=origin if is_moved else None, before=first.before, after=last.after)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None
