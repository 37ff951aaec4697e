"""A store's folder: its lock, its records, and the engine that keeps the contents; what is damaged is put aside."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from agentnb.changes.copy_engine import CopyEngine, FolderScan
from agentnb.changes.git_engine import GitEngine
from agentnb.changes.git_program import GitFailed, find_git
from agentnb.changes.records import SnapshotRecords
from agentnb.clock import now_ms
from agentnb.errors import ChangesUnavailable
from agentnb.folders import home
from agentnb.safe_files import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.changes.comparison import Engine
    from agentnb.changes.coverage import WorkspaceLook


MOUNTS = Path("/proc/self/mountinfo")
CLOCK_NS = 120_000_000_000  # nanoseconds that a file server's clock may lag without a change being missed

_TYPES = frozenset(
    {
        *("afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "panfs", "smb2", "smb3", "smbfs"),
    }
)
_FUSE = frozenset(
    {
        *("blobfuse", "blobfuse2", "curlftpfs", "davfs", "davfs2", "gcsfuse", "glusterfs", "goofys", "juicefs"),
        *("mount-s3", "mountpoint-s3", "rclone", "s3fs", "seaweedfs", "smbnetfs", "sshfs"),
    }
)
_AGAIN_SECONDS = 0.02
EngineName: TypeAlias = Literal["auto", "git", "copy"]
_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
)
_GITS_OWN_WORDS = "Out of diskspace"  # git's message about a full disk if the system gave git no reason


def network_file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """Returns the type of network file system that *folder* is on, such as ``nfs4``; None for a local one."""
    path = os.fspath(folder)
    if path.startswith("\\\\"):
        return "smb"
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    kind, length = "", -1
    for line in lines:
        fields = line.split(b" ")
        if len(fields) < 7 or b"-" not in fields[6:-1]:  # noqa: PLR2004 - the fields before the optional ones
            continue
        place = _unescaped(fields[4])
        if len(place) >= length and f"{path}/".startswith(f"{place.rstrip('/')}/"):
            kind, length = os.fsdecode(fields[fields.index(b"-", 6) + 1]), len(place)  # a later mount covers an earlier
    is_network = kind.removeprefix("fuse.") in _FUSE if kind.startswith("fuse.") else kind in _TYPES
    return kind if is_network else None


def _unescaped(field: bytes) -> str:
    """Decode the octal escapes of spaces, tabs, line breaks and backslashes in *field*."""
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 0xFF]), field))


class StoreLock:
    """A lock between threads and between processes; a killed process releases it."""

    def __init__(self, path: Path, *, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._thread = threading.RLock()
        self._is_held = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        if not self._thread.acquire(timeout=self._seconds):
            raise self._busy()
        try:
            if self._is_held:  # already held by this thread
                yield
                return
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                self._wait_for(descriptor)
                self._is_held = True
                yield
            finally:
                self._is_held = False
                os.close(descriptor)
        finally:
            self._thread.release()

    def _wait_for(self, descriptor: int) -> None:
        until = time.monotonic() + self._seconds
        pause = threading.Event()
        while not try_lock(descriptor):
            if time.monotonic() > until:
                raise self._busy()
            pause.wait(_AGAIN_SECONDS)

    def _busy(self) -> ChangesUnavailable:
        message = f"Another kernel has used the store of changes {self._path.parent} for {self._seconds:.0f} seconds."
        return ChangesUnavailable(message, hint="Try again when it is done.")


class StoreFolder:
    """The folder of one workspace's store, opened."""

    engine: Engine

    def __init__(self, path: Path, workspace: Path, *, lock_seconds: float, engine: EngineName) -> None:
        self.path: Path = path.resolve()
        self.scan: FolderScan = FolderScan(workspace)
        self.notes: list[str] = []  # notes for the next snapshot
        self._workspace = workspace
        self._chosen = engine
        self._lock = StoreLock(path / "lock", seconds=lock_seconds)
        with self.explained():
            self._make()
            with self._lock.held():
                self._open()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the store's lock; if somebody removed the folder, start a new one."""
        if not self.path.is_dir():
            self._make()
        with self._lock.held():
            if not self.records.is_there:
                self._open()
            yield

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the file system into errors that tell the user what to do."""
        try:
            yield
        except OSError as error:
            raise unavailable(error, self.path, self._workspace) from error

    def refresh(self, look: WorkspaceLook, excludes: str, *, tracked_only: bool) -> str:
        """Store what changed since the last tree; returns the name of the new one."""
        try:
            return self.engine.refresh(look, excludes, tracked_only=tracked_only)
        except GitFailed as error:
            self._put_aside(error)
            self.engine = self._opened_engine()
        try:
            return self.engine.refresh(look, excludes)
        except GitFailed as error:
            message = f"git cannot take a snapshot of {self._workspace}: {error}"
            raise ChangesUnavailable(message, hint="Turns continue; their changes are not recorded.") from error

    def prune(self, keep: set[str], most: int) -> None:
        """Forget all snapshots except *keep*, then the oldest of these while the store has more than *most* bytes."""
        self.records.prune(keep)
        self.engine.keep(*self.records.roots())
        while self.size() > most and self.records.drop_oldest():
            self.engine.keep(*self.records.roots())

    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with contextlib.suppress(OSError):
                    state = os.lstat(os.path.join(folder, name))  # noqa: PTH118
                    total += getattr(state, "st_blocks", 0) * 512 or state.st_size
        return total

    def digest(self, content: bytes) -> str:
        """Returns a digest of *content* that only this store can make."""
        return "keyed:" + hashlib.blake2b(content, key=self._key, digest_size=20).hexdigest()

    def _make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.path.stat().st_mode & 0o077:
            self.path.chmod(0o700)

    def _open(self) -> None:
        self.records: SnapshotRecords = SnapshotRecords(self.path)
        self._key = _secret(self.path / "key")
        self.engine = self._opened_engine()

    def _opened_engine(self) -> Engine:
        program = find_git(self._workspace) if self._chosen != "copy" else None
        if program is not None:
            try:
                return GitEngine(program, self.path / "git", self._workspace)
            except GitFailed as error:
                self._put_aside(error)
                return GitEngine(program, self.path / "git", self._workspace)
        if self._chosen == "git":
            raise ChangesUnavailable("git 2.30 or later was not found.", hint="Install git.")
        return CopyEngine(self.path / "copy", self._workspace, self.scan)

    def _put_aside(self, error: GitFailed) -> None:
        """Rename damaged contents, so that new ones can take their place; raises if the file system refused."""
        _raise_if_refused(error, self.path)
        for old in self.path.glob("damaged-*"):
            shutil.rmtree(old, ignore_errors=True)
        aside = self.path / f"damaged-{now_ms()}"
        (self.path / "git").rename(aside)
        self.notes.append(
            f"The store of changes was damaged ({error}) and was moved to {aside}; a new one was started. "
            "Earlier changes cannot be shown or undone."
        )


def _secret(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        key = os.urandom(32)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(key)
        return key


def too_wide(workspace: Path) -> str:
    """Returns the reason the workspace is not covered as a whole, or '' if it is."""
    own = home().resolve()
    if workspace.parent == workspace:
        return "The workspace is the root folder, so only files that were named are covered."
    if workspace == own:
        return "The workspace is your home folder, so only files that were named are covered."
    if workspace in own.parents:
        return "The workspace has your home folder in it, so only files that were named are covered."
    return ""


def unavailable(error: OSError, folder: Path, workspace: Path) -> ChangesUnavailable:
    """Returns the error to raise if the file system refuses an operation."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        message = "The disk is full: nothing was written."
        return ChangesUnavailable(message, hint=f"Free up space for {folder} and {workspace}.")
    if error.errno == errno.EROFS:
        place = folder if str(error.filename or "").startswith(str(folder)) else workspace
        message = f"{place} is on a read-only file system: nothing was written."
        return ChangesUnavailable(message, hint="Mount it as writable, and try again.")
    if not workspace.is_dir():
        return ChangesUnavailable(f"The workspace {workspace} no longer exists.", hint="Create the folder again.")
    where = error.filename if isinstance(error.filename, str) else folder
    if error.errno == errno.ENOENT:
        message = f"{where} was removed in the meantime: nothing was written."
        return ChangesUnavailable(message, hint="Create it again, or leave its files as they are, and try again.")
    message = f"{where} cannot be used: {error.strerror or error}."
    return ChangesUnavailable(message, hint=f"Fix the permissions of {folder} and {workspace}.")


def _raise_if_refused(error: GitFailed, folder: Path) -> None:
    """Raise git's error as one of the file system if it is one: it does not mean that the store is damaged."""
    message = str(error).replace(_GITS_OWN_WORDS, os.strerror(errno.ENOSPC))
    for number in _REFUSALS:
        if os.strerror(number) in message:
            raise unavailable(OSError(number, os.strerror(number)), folder, folder) from error
