"""The change stores of one host: one for each workspace, shared by the sessions that work there.

A store's work runs on its own thread, one job after another: the host's loop is never blocked, and two sessions of one
folder never disturb each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import shutil
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentnb.changes import store_folder
from agentnb.changes.coverage import SnapshotLimits, is_left_out, signature
from agentnb.changes.file_operations import TemporaryFolder
from agentnb.changes.store import ChangeStore
from agentnb.changes.store_folder import StoreLock
from agentnb.host.changes.location import store_name
from agentnb.host.changes.own_files import OwnFiles
from agentnb.host.changes.records import read_record, record_file
from agentnb.policy.sensitive import SENSITIVE, secret_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from agentnb.changes.coverage import Signature
    from agentnb.changes.model import Snapshot
    from agentnb.host.changes.own_files import OwnFilesInside
    from agentnb.policy.sensitive import Patterns

T = TypeVar("T")

MOST_ENDED = 100
"""Ended turns of a workspace whose files are remembered, to attribute changes."""
CLOSE_SECONDS = 1.0
"""Seconds that the end of a host waits for a store whose folder is removed with it."""
PRUNE_TURNS = 50
"""Turns between two searches for unneeded contents; the first search follows the first turn that changed something."""
MOST_IDLE = 50
"""Snapshots that stay stored although no conversation needs them, since forgetting takes a while."""
RUNNING_SECONDS = 24 * 3600.0
"""Seconds for which a snapshot is never forgotten, because it may belong to a running turn."""
MOST_ENTRIES = 500
"""The most entries of a workspace that :func:`read_file_times` compares; a larger one is compared by the store only."""
CLOCK_NS = 20_000_000
"""The coarsest file times, in nanoseconds: a file changed this recently before its time was read may change again and
keep that time."""


class FileTimes:
    """The times and sizes of all files of a small workspace: enough to tell that nothing has changed since."""

    def __init__(self, entries: Mapping[str, Signature], at: int, clock_ns: int = CLOCK_NS) -> None:
        self.entries = entries
        newest = max((entry[1] for entry in entries.values()), default=0)
        self.is_certain: bool = newest < at - clock_ns

    def is_unchanged_since(self, before: FileTimes | None) -> bool:
        """True if no file has changed since *before* was read; False if that is not certain."""
        return before is not None and before.is_certain and before.entries == self.entries


def read_file_times(
    workspace: Path,
    named: Iterable[str] = (),
    is_own: Callable[[str], bool] = lambda _: False,
    clock_ns: int = CLOCK_NS,
) -> FileTimes | None:
    """The times of the files of *workspace*; None if it is large or cannot be read."""
    at = time.time_ns()
    entries: dict[str, Signature] = {}
    root, folders = os.fspath(workspace), [""]
    try:
        while folders:
            folder = folders.pop()
            with os.scandir(f"{root}/{folder}") as scan:
                for entry in scan:
                    path = f"{folder}{entry.name}"
                    if is_left_out(entry.name) or is_own(path):
                        continue
                    entries[path] = signature(entry.stat(follow_symlinks=False))
                    if len(entries) > MOST_ENTRIES:
                        return None
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{path}/")
        for path in named:
            if not is_own(path) and os.path.lexists(f"{root}/{path}"):
                entries[path] = signature(os.lstat(f"{root}/{path}"))
    except OSError:
        return None
    return FileTimes(entries, at, clock_ns)


class WorkspaceTurn(NamedTuple):
    title: str
    session: str
    named: Callable[[], frozenset[str]]


class EndedTurn(NamedTuple):
    session: str
    ended_at: int
    named: frozenset[str]


class WorkspaceStore:
    """The store of one workspace. Its methods are used on the host's thread."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        *,
        keeps_sensitive: bool,
        own: OwnFilesInside,
        temporary: TemporaryFolder | None,
    ) -> None:
        self.folder = folder
        self.workspace = workspace
        self.running: dict[str, WorkspaceTurn] = {}
        self.ended: deque[EndedTurn] = deque(maxlen=MOST_ENDED)
        self.users: set[str] = set()
        self.patterns: Patterns = SENSITIVE
        self.recovered: str | None = None
        self._keeps_sensitive = keeps_sensitive
        self._own = own
        self._clock_ns = store_folder.CLOCK_NS if store_folder.network_file_system(workspace) else CLOCK_NS
        self._temporary = temporary
        self._is_closed = False
        self._store: ChangeStore | None = None
        self._snapshot: Snapshot | None = None
        self._named: frozenset[str] = frozenset()
        self._times: FileTimes | None = None
        self._turns = 0
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._thread_lock = threading.Lock()

    @property
    def records(self) -> Path:
        return self.folder / "records"

    def close(self, timeout: float) -> None:
        """End the thread, and remove the folder if it is temporary; call it from any thread but the store's own."""
        self._is_closed = True
        with self._thread_lock:
            thread = self._thread
            self._jobs.put(None)
        if thread is not None:
            thread.join(timeout)
        self._remove()

    def leave(self, user: str) -> None:
        """The conversation *user* is closed."""
        self.users.discard(user)
        self.rest()

    def rest(self) -> None:
        """End the thread and close the store's files if nobody needs them."""
        if not self.users and not self.running and self._thread is not None:
            self._submit(lambda: None)

    def named_by_others(self, session: str, since: int) -> frozenset[str]:
        """Returns the files named by tool calls of other sessions' turns since *since* (milliseconds since 1970)."""
        named_files = [each.named() for each in self.running.values() if each.session != session]
        named_files += [each.named for each in self.ended if each.session != session and each.ended_at >= since]
        return frozenset().union(*named_files)

    async def run(self, work: Callable[[ChangeStore], T]) -> T:
        """Do *work* with the store on its thread."""
        return await self._do(lambda: work(self._opened()))

    async def take(self, named: Iterable[str] = ()) -> Snapshot:
        """Returns a new snapshot, or the last one if nothing has changed since."""
        wanted = frozenset(named)
        return await self._do(lambda: self._taken(wanted))

    async def prepare(self) -> None:
        """Take the first snapshot of a large workspace, so that the first prompt need not wait for it."""
        await self._do(self._prepared)

    async def prune(self, *, at_once: bool = False) -> None:
        """Forget what no conversation needs if there is much of it or the store is too large; *at_once*: all of it."""
        await self._do(lambda: self._pruned(at_once=at_once))

    def _pruned(self, *, at_once: bool) -> None:
        """Keeps snapshots of the last day, since a turn that still runs in some kernel may need them."""
        self._turns += 1
        if not at_once and self._turns % PRUNE_TURNS != 1:
            return
        if not self.workspace.is_dir():
            self._prune_without_workspace()
            return
        records = filter(None, map(read_record, self.records.glob("*.json")))
        needed = {name for record in records for name in record.snapshots}
        stored = list((self.folder / "snapshots").glob("*.json"))
        young = {path.stem for path in stored if time.time() - path.stat().st_mtime < RUNNING_SECONDS}
        if at_once and not self.running:
            young = {each.id for each in (self._snapshot,) if each is not None}
        idle = {path.stem for path in stored} - needed - young
        store = self._opened()
        if len(idle) > (0 if at_once else MOST_IDLE) or store.size() > SnapshotLimits.from_environment().store_bytes:
            store.prune(needed | young)

    def _prune_without_workspace(self) -> None:
        """The workspace is gone, so nothing can run in it: remove the whole store once no conversation needs it."""
        if self.running or any(self.records.glob("*.json")):
            return
        with StoreLock(self.folder / "lock", seconds=SnapshotLimits.from_environment().lock_seconds).held():
            shutil.rmtree(self.folder, ignore_errors=True)
        self._store = self._snapshot = self._times = None

    def _prepared(self) -> None:
        if self._snapshot is None and read_file_times(self.workspace, (), self._own.has) is None:
            self._taken(frozenset())

    def _taken(self, named: frozenset[str]) -> Snapshot:
        times = read_file_times(self.workspace, named | self._named, self._own.has, self._clock_ns)
        if self._snapshot is not None and times is not None and named <= self._named:  # noqa: SIM102 - two questions
            if times.is_unchanged_since(self._times):
                return self._snapshot
        snapshot = self._opened().take(sorted(named | self._named))
        self._named, self._times, self._snapshot = named | self._named, times, snapshot
        return snapshot

    def _opened(self) -> ChangeStore:
        if self._store is None:
            if self._temporary is not None:
                self._temporary.make()
            store = ChangeStore(
                self.folder,
                self.workspace,
                limits=SnapshotLimits.from_environment(),
                is_sensitive=lambda path: secret_pattern(path, self.patterns) is not None,
                keep_sensitive=self._keeps_sensitive,
                own=self._own.lines,
            )
            self.recovered = store.recover()
            self._store = store
        return self._store

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.shield(asyncio.wrap_future(self._submit(work)))

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()
        with self._thread_lock:
            self._jobs.put((work, done))
            if self._thread is None:
                # A daemon thread: a long snapshot must not keep the kernel from ending.
                self._thread = threading.Thread(target=self._work, name="agentnb-changes", daemon=True)
                self._thread.start()
        return done

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            if self._is_closed:
                done.cancel()
                continue
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed to who waits
                done.set_exception(error)
            del work, done, job  # otherwise they keep the store alive until the next job
            if self._rests():
                return
        self._remove()  # again: a job that was not awaited may have created it anew

    def _rests(self) -> bool:
        """True if nobody needs the store now: then its files are closed, and the thread ends."""
        with self._thread_lock:
            if self.users or self.running or self._is_closed or not self._jobs.empty():
                return False
            self._store = self._snapshot = self._times = None
            self._thread = None
            return True

    def _remove(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # other stores are in it
                self._temporary.path.rmdir()


class WorkspaceStores:
    def __init__(self, folder: Path | None, *, within: Path | None = None, own: OwnFiles | None = None) -> None:
        self.own: OwnFiles = own or OwnFiles(None)
        self._temporary = None
        if folder is None:
            self._temporary = TemporaryFolder(within)
            folder = self._temporary.path
        self._folder = folder
        self._stores: dict[Path, WorkspaceStore] = {}

    def of(self, workspace: Path, *, keeps_sensitive: bool = False) -> WorkspaceStore:
        """Returns the store of *workspace*, without creating or reading anything yet."""
        real = workspace.resolve()
        if real not in self._stores:
            self._stores[real] = WorkspaceStore(
                self._folder / store_name(real),
                real,
                keeps_sensitive=keeps_sensitive,
                own=self.own.of(real),
                temporary=self._temporary,
            )
        return self._stores[real]

    async def forget(self, workspace: Path, tab_id: str) -> None:
        """The conversation *tab_id* is deleted: forget its changes, and the contents that only it needs."""
        store = self.of(workspace)
        if await asyncio.to_thread(_removed, record_file(store.records, tab_id)):
            await store.prune(at_once=True)

    def close(self) -> None:
        if self._temporary is not None:
            for store in self._stores.values():
                store.close(CLOSE_SECONDS)
            self._temporary.remove()


def _removed(path: Path) -> bool:
    """Remove *path*; returns True if it existed."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
