"""Records what each turn of one conversation changed: snapshots at its start and end, their differences, and counts.

A turn is prompted only after its first snapshot, so everything that the agent does lies between the two. A slow
snapshot delays the prompt by two seconds at most.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.changes.model import FOLDER, PathChange, folders_above
from agentnb.clock import now_ms
from agentnb.credentials import logger
from agentnb.errors import AgentnbError, ChangesError, unexpected
from agentnb.host.changes.items import (
    attributed,
    by_others,
    file_item,
    kernel_item,
    named_files,
    numbers,
    record_files,
    runs_commands,
    shown_outside,
    split_by_workspace,
)
from agentnb.host.changes.notebook_cells import SUFFIX, count_cell_lines
from agentnb.host.changes.open_notebook import was_only_autosaved, written_notebook
from agentnb.host.changes.records import (
    ConversationRecord,
    Item,
    TurnChangeRecord,
    read_record,
    record_file,
    write_record,
)
from agentnb.host.changes.workspace_store import EndedTurn, WorkspaceTurn
from agentnb.kernel.variables.kinds import lost_words
from agentnb.state import ErrorInfo, TurnChanges, XTurnChanges, find_turn
from agentnb.state.session_state import model_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
    from logging import Logger
    from pathlib import Path

    from agentnb.changes.model import Snapshot
    from agentnb.changes.store import ChangeStore
    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.changes.records import By
    from agentnb.host.changes.workspace_store import WorkspaceStore
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.loop import HostLoop
    from agentnb.kernel.changes import KernelChanges
    from agentnb.policy.sensitive import Patterns
    from agentnb.state import DataCheck, ResponsePart

log: Logger = logger("agentnb.changes")

BEGIN_SECONDS = 2.0
"""Seconds that a prompt waits for its first snapshot."""
END_SECONDS = 1.0
"""Seconds that code waiting for a turn also waits for its last snapshot, which must not have the code's writes."""
LOOK_SECONDS = 3.0
"""Seconds that an action that was just allowed waits for a snapshot of the files that it names."""
MOST_ITEMS = 2_000
"""Changed files of one turn that are listed one by one."""
MOST_NAMED = 5
"""Files that are named in notes."""
MOST_COUNTED = 500
"""Changed files of one turn whose lines are counted."""
_LATE = (
    "The first snapshot took longer than two seconds. It was taken while the turn ran, so earlier changes are missing."
)
_KERNEL_GONE = "The kernel ended before the changes of this turn were known."
_OTHER_KERNEL = "It was changed in another kernel or conversation."
_COMMANDS = "Commands ran. What they did outside the workspace or over the network is not known and cannot be undone."


class _Running:
    """One turn between its snapshots."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.began_at = now_ms()
        self.before: Snapshot | None = None
        self.error: AgentnbError | None = None
        self.notes: list[str] = []
        self.between: list[Snapshot] = []
        self.looked_for: set[str] = set()
        self.begun = asyncio.Event()
        self.compared = asyncio.Event()


class ChangeTracker:
    """Follows the changes of one conversation's turns. Everything here runs on the host's thread."""

    def __init__(
        self,
        channels: SessionChannels,
        loop: HostLoop,
        store: WorkspaceStore | None,
        *,
        patterns: Callable[[], Patterns],
        answered: Callable[[], Awaitable[None]],
        environment: Environment,
        cwd: Path,
        kernel: KernelChanges | None,
        lifecycle: AgentLifecycle,
    ) -> None:
        self.store = store
        if store is not None:
            store.users.add(channels.session.uri)
        self.changed: Callable[[str], None] = lambda _turn_id: None
        self._lifecycle = lifecycle
        self._channels = channels
        self._loop = loop
        self._patterns = patterns
        self._answered = answered
        self._environment = environment
        self.workspace: Path = cwd if store is None else store.workspace
        self.kernel = kernel
        if kernel is not None:
            kernel.changed = lambda turn_id: loop.post(self.refresh_kernel, turn_id)
        self._running: dict[str, _Running] = {}
        self._record: ConversationRecord | None = None

    def close(self) -> None:
        """The conversation is closed: leave the store, which then frees what others do not need."""
        if self.store is not None:
            self.store.leave(self._channels.session.uri)

    # --- what is known ---

    @property
    def record(self) -> ConversationRecord:
        """Returns the record of all turns; it is read from its file on first use."""
        if self._record is None:
            store, session = self.store, self._channels.session.uri
            known = None if store is None else read_record(record_file(store.records, self._channels.tab_id))
            new = ConversationRecord(session=session, workspace="" if store is None else str(store.workspace))
            self._record = new if known is None else _of_an_earlier_kernel(known)
        return self._record

    def is_settled(self, turn_id: str) -> bool:
        """True if the changes of turn *turn_id* are final: later changes do not belong to it."""
        return turn_id not in self._running

    def has_ended(self, turn_id: str) -> bool:
        return not self._channels.is_active(turn_id) and self._channels.queued(turn_id) is None

    async def compared(self, turn_id: str | None = None) -> None:
        """Wait until the changes of turn *turn_id*, or of all turns that have ended, are known."""
        waiting = [each for each in self._running.values() if turn_id in (None, each.turn_id)]
        for running in waiting:
            if not self._channels.is_active(running.turn_id):
                await running.compared.wait()

    # --- round a turn ---

    async def prepare(self) -> None:
        """The session was opened: take the first snapshot of a large workspace before the first prompt."""
        if self.store is not None:
            self.store.patterns = self._patterns()
            try:
                await self.store.prepare()
            except Exception as error:  # noqa: BLE001 - the first turn says so
                log.info("No snapshot of %s: %s", self.store.workspace, error)

    async def begin(self, turn_id: str) -> None:
        """Take the first snapshot of a turn before it is prompted; returns after two seconds at the latest."""
        if self.store is None:
            return
        await self.compared()
        if not self._channels.is_active(turn_id):
            return  # the turn was cancelled meanwhile, so its end would never be reported
        running = self._running[turn_id] = _Running(turn_id)
        workspace = str(self.store.workspace)
        self.store.running[turn_id] = WorkspaceTurn(
            self._channels.title,
            self._channels.session.uri,
            lambda: named_files(self._parts(turn_id), workspace)[0],
        )
        self.store.patterns = self._patterns()
        if self.kernel is not None:
            self.kernel.begin(turn_id)
        self._loop.spawn(self._take_first(running, self.store))
        try:
            await asyncio.wait_for(running.begun.wait(), BEGIN_SECONDS)
        except asyncio.TimeoutError:
            running.notes.append(_LATE)

    async def _take_first(self, running: _Running, store: WorkspaceStore) -> None:
        try:
            running.before = await store.take()
        except Exception as error:  # noqa: BLE001 - a turn goes on without its snapshot, and says so
            running.error = _explained(error)
        finally:
            running.begun.set()

    async def look(self, paths: Iterable[str]) -> None:
        """Something that names *paths* was allowed: snapshot them before it runs, even if they are ignored."""
        turn = self._channels.chat.state.active_turn
        running = None if turn is None else self._running.get(turn.id)
        if self.store is None or running is None or running.before is None:
            return
        named = split_by_workspace(paths, str(self.store.workspace))[0] - running.looked_for
        if not named:
            return
        running.looked_for |= named
        try:
            seen = await asyncio.wait_for(self._look(self.store, running.before, named), LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 - it runs all the same; the end of the turn says what is not known
            log.info("No snapshot of %s: %s", self.store.workspace, error)
        else:
            running.between += [] if seen is None else [seen]

    @staticmethod
    async def _look(store: WorkspaceStore, before: Snapshot, named: frozenset[str]) -> Snapshot | None:
        """Returns a snapshot if *before* lacks one of *named*, else None."""
        missing = await store.run(lambda opened: opened.lacks(before, named))
        seen = await store.take(missing) if missing else before
        return None if seen.id == before.id else seen

    def ended(self, turn_id: str) -> None:
        running = self._running.get(turn_id)
        if running is not None and self.store is not None:
            self._loop.spawn(self._finish(running, self.store))

    async def _finish(self, running: _Running, store: WorkspaceStore) -> None:
        turn_id, record = running.turn_id, None
        try:
            await self._answered()
            await running.begun.wait()
            if running.before is not None:
                record = await self._difference(running, store, running.before)
        except Exception as error:  # noqa: BLE001 - as above
            running.error = _explained(error)
        finally:
            store.running.pop(turn_id, None)
            store.rest()
        self._tell(turn_id, record, running.error)
        self._running.pop(turn_id, None)
        running.compared.set()
        self._channels.notify()

    async def _difference(self, running: _Running, store: WorkspaceStore, before: Snapshot) -> TurnChangeRecord:
        turn_id = running.turn_id
        named, outside = named_files(self._parts(turn_id), str(store.workspace))
        after = await store.take(named)
        session, ended_at = self._channels.session.uri, now_ms()
        store.ended.append(EndedTurn(session, ended_at, named))
        notes = [
            *running.notes,
            *_not_covered(after, frozenset(shown_outside(path, store.workspace) for path in outside)),
        ]
        if store.recovered is not None:
            notes.append(store.recovered)
            store.recovered = None
        between = tuple(running.between)
        record = TurnChangeRecord(
            turn_id=turn_id,
            before=before,
            between=between,
            after=after,
            notes=tuple(notes),
            model=model_id(self._channels.session.state),
        )
        of_kernel = self._of_kernel(turn_id, ())
        if before.id == after.id and not of_kernel:
            return record
        self._dispatch(turn_id, TurnChanges(status="computing"))
        changes, counted = await store.run(lambda store: _compared(store, before, after, between))
        was, now = await store.run(lambda opened: [opened.folders(each, _folders(changes)) for each in (before, after)])
        record = replace(record, made_folders=tuple(sorted(now - was)), removed_folders=tuple(sorted(was - now)))
        environment, workspace, began_at = self._environment, store.workspace, running.began_at
        others = store.named_by_others(session, began_at)

        def by(change: PathChange) -> tuple[By, ...]:
            saved = {each for each in change.paths if environment.was_saved(str(workspace / each), began_at, ended_at)}
            return attributed(change.paths, named, others, frozenset(saved))

        # Recording to the cassette is not a change of a turn.
        everything = [each for each in changes if not environment.cassette.owns(workspace / each.path)]
        everything = [
            each
            for each in everything
            if each.path in named or not was_only_autosaved(environment, str(workspace / each.path), began_at, ended_at)
        ]
        changes = tuple(change for each in everything for change in _between(each, was, now))
        listed = changes[:MOST_ITEMS]
        files = [file_item(change, counted.get(change.path), by(change)) for change in listed]
        wrote = await written_notebook(environment, self.kernel, turn_id, store, listed)
        if wrote is not None:
            files = [replace(each, detail=wrote.detail) if each.file is wrote.change else each for each in files]
            self._channels.say(turn_id, wrote.notice)
        cells = self._of_kernel(turn_id, ())
        written = None if wrote is None else wrote.change
        items = (*(each for each in files if each.file is written or not _shows_again(each, cells)), *cells)
        own = [each for each in everything if not by_others(by(each))]
        await record_files(self._lifecycle, environment.cassette, store, own)
        if len(changes) > MOST_ITEMS:
            notes.append(f"{len(changes) - MOST_ITEMS:,} more files changed but are not listed.")
        if items and self.kernel is not None and (lost := self.kernel.lost(turn_id)):
            notes.append(lost_words(lost))
        if items and runs_commands(self._parts(turn_id)):
            notes.append(_COMMANDS)
        record = replace(record, items=items, notes=tuple(notes), data_checks=self._data_checks(turn_id))
        if items:
            await self.save(self.record.with_turn(record))
            await store.prune()
        return record

    def _of_kernel(self, turn_id: str, known: Sequence[Item]) -> tuple[Item, ...]:
        """Returns the current cells and variables that turn *turn_id* changed; *known* tells which were kept."""
        if self.kernel is None:
            return ()
        kept = {each.id for each in known if each.state == "kept"}
        return tuple(kernel_item(change, is_kept=change.id in kept) for change in self.kernel.end(turn_id))

    def _data_checks(self, turn_id: str) -> tuple[DataCheck, ...]:
        return () if self.kernel is None else self.kernel.data_checks(turn_id)

    def refresh_kernel(self, turn_id: str) -> None:
        """Update turn *turn_id* from the kernel: code that ran on has changed more, or an undo has."""
        turn = self.record.turn(turn_id)
        known = () if turn is None else turn.items
        of_kernel = self._of_kernel(turn_id, known)
        if turn_id in self._running or self.kernel is None:
            return  # checked when the turn has ended
        items, checks = (*(each for each in known if each.kind == "file"), *of_kernel), self._data_checks(turn_id)
        if items == known and (turn is None or checks == turn.data_checks):
            return
        turn = replace(turn or TurnChangeRecord(turn_id=turn_id), items=items, data_checks=checks)
        self._record = self.record.with_turn(turn)  # before the write: it is shown now, and others may add to it
        self._loop.spawn(self._write())
        self.tell(turn_id)

    async def save(self, record: ConversationRecord) -> None:
        self._record = record
        await self._write()

    async def _write(self) -> None:
        record = self.record
        if self.store is not None:
            path = record_file(self.store.records, self._channels.tab_id)
            await self.store.run(lambda _: write_record(path, record))

    def restored(self) -> None:
        """The conversation is from an earlier kernel: end the comparison of its last turn that was pending there."""
        turns = self._channels.chat.state.turns
        if turns and (known := turns[-1].changes) is not None and known.status == "computing":
            turn = self.record.turn(turns[-1].id)
            self._tell(turns[-1].id, turn, ChangesError(_KERNEL_GONE) if turn is None else None)

    async def adopt(self, other: ChangeTracker) -> None:
        """The conversation is a copy of *other*'s: it has the same turns, and can undo their file changes, too."""
        if other.record.turns and self.store is not None:
            await self.save(replace(_of_an_earlier_kernel(other.record), session=self._channels.session.uri))

    def tell(self, turn_id: str) -> None:
        """Put the counts of turn *turn_id*, from its current record, into the chat's state."""
        self._tell(turn_id, self.record.turn(turn_id), None)

    def _tell(self, turn_id: str, record: TurnChangeRecord | None, error: AgentnbError | None) -> None:
        if error is not None:
            info = ErrorInfo(error_type=type(error).__name__, message=str(error))
            self._dispatch(turn_id, TurnChanges(status="error", error=info))
        elif record is not None:
            self._dispatch(turn_id, numbers(record))
        self.changed(turn_id)

    def _dispatch(self, turn_id: str, changes: TurnChanges) -> None:
        self._channels.dispatch(XTurnChanges(turn_id=turn_id, changes=changes, time=now_ms()))

    # --- read from the state ---

    def _parts(self, turn_id: str) -> Sequence[ResponsePart]:
        turn = find_turn(self._channels.chat.state, turn_id)
        return () if turn is None else turn.response_parts


def _compared(
    store: ChangeStore, before: Snapshot, after: Snapshot, between: tuple[Snapshot, ...]
) -> tuple[tuple[PathChange, ...], dict[str, tuple[int | None, int | None]]]:
    """Returns what changed, and the added and removed lines by path."""
    changes = store.changes(before, after, between)
    with store.reading():
        return changes, {change.path: _counted(store, change) for change in changes[:MOST_COUNTED]}


def _counted(store: ChangeStore, change: PathChange) -> tuple[int | None, int | None]:
    return count_cell_lines(store, change) if change.path.endswith(SUFFIX) else store.lines(change)


def _between(change: PathChange, was: frozenset[str], now: frozenset[str]) -> Iterator[PathChange]:
    """*change*, with folders on either side, even those with files; nothing if a folder remains one."""
    if change.was is not None and change.path not in was and change.was not in now:
        yield change
        return
    before = {change.was or change.path: change.before}
    after = {change.path: change.after}
    for path in change.paths:
        old = FOLDER if path in was else before.get(path)
        new = FOLDER if path in now else after.get(path)
        if old != new:
            yield PathChange(path=path, before=old, after=new)


def _folders(changes: Iterable[PathChange]) -> set[str]:
    """Returns the paths that *changes* may have made or removed as folders; a change of content alone does neither."""
    moved = (each for each in changes if each.was or {None, FOLDER} & {each.before, each.after})
    paths = {path for each in moved for path in each.paths}
    return paths.union(*map(folders_above, paths))


def _of_an_earlier_kernel(record: ConversationRecord) -> ConversationRecord:
    """*record* as it is now: changes of a kernel that has ended can no longer be undone."""

    def now(item: Item) -> Item:
        return item if item.kind == "file" else replace(item, undoable=False, reason=_OTHER_KERNEL)

    turns = (replace(turn, items=tuple(map(now, turn.items))) for turn in record.turns)
    return replace(record, turns=tuple(turns))


def _not_covered(snapshot: Snapshot, outside: frozenset[str]) -> Iterator[str]:
    """Yields a sentence for each thing that snapshots leave out."""
    if snapshot.reason:
        yield snapshot.reason
    yield from snapshot.notes
    for each in snapshot.not_covered[:MOST_NAMED]:
        yield f"Not covered: {each.path}. {each.detail}".strip()
    if (more := snapshot.not_covered_count - len(snapshot.not_covered[:MOST_NAMED])) > 0:
        yield f"Not covered: {more:,} more."
    for path in sorted(outside)[:MOST_NAMED]:
        yield f"Not covered: {path}. It is outside the workspace."


def _shows_again(file: Item, cells: Sequence[Item]) -> bool:
    """True if *file* is a notebook whose cells were changed in its page, which the user then saved."""
    is_notebook = file.name.endswith(SUFFIX) and {"toolCall", "user"} <= {*file.by}
    return is_notebook and any(each.kind == "cell" for each in cells)


def _explained(error: Exception) -> AgentnbError:
    """*error* in words for the user; an unexpected one is logged in full."""
    if isinstance(error, AgentnbError):
        return error
    log.error("the changes of a turn could not be found", exc_info=error)
    return ChangesError(f"The comparison failed: {unexpected(error)}.", hint="Report it with this line.")
