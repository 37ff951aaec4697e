"""The store of one workspace's snapshots: takes them, compares them, and brings files back to what they were.

It lies outside the workspace, and touches nothing in it but the files of :meth:`ChangeStore.apply`. Synchronous: the
host calls it in a worker thread. Two kernels may use one store at the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from typing import TYPE_CHECKING, Literal, TypeAlias

from agentnb.changes.apply import Planner
from agentnb.changes.comparison import Manifest, compare
from agentnb.changes.copy_engine import MOST_FILES, CopyEngine
from agentnb.changes.coverage import Limits, Look, TooSlow, normal_names
from agentnb.changes.file_operations import FileOperations
from agentnb.changes.folder_scan import FolderScan
from agentnb.changes.git_engine import GitEngine
from agentnb.changes.git_program import GitFailed, find_git
from agentnb.changes.ignore import is_ignored, literal, read_rules
from agentnb.changes.journal import FileChanged, Transaction
from agentnb.changes.model import (
    FOLDER,
    FileChange,
    Snapshot,
    Step,
    Version,
    folders_above,
    path_from_json,
    path_to_json,
)
from agentnb.changes.network_mounts import CLOCK_NS, MOUNTS, network_file_system
from agentnb.changes.records import Records
from agentnb.changes.refusals import raise_if_refused, too_wide, unavailable
from agentnb.changes.repository import outer_excludes
from agentnb.changes.store_lock import StoreLock
from agentnb.changes.text_diff import count_lines, unified
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, ChangesError, ChangesUnavailable, ContentNotStored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.changes.comparison import Engine
    from agentnb.changes.coverage import HashedFile
    from agentnb.changes.model import Choice

EngineName: TypeAlias = Literal["auto", "git", "copy"]

_ATTEMPTS = 3  # to write, where files change between the look and the write


class ChangeStore:
    """Snapshots of one workspace."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        *,
        limits: Limits | None = None,
        is_sensitive: Callable[[str], bool],
        keep_sensitive: bool = False,
        own: str = "",
        mounts: Path = MOUNTS,
        engine: EngineName = "auto",
        files: FileOperations | None = None,
    ) -> None:
        self._folder = folder.resolve()
        self._workspace = workspace.resolve()
        self._limits = limits or Limits()
        self._is_sensitive = (lambda _: False) if keep_sensitive else is_sensitive
        self._own_lines, self._own = own, read_rules(own)
        self._network = network_file_system(self._workspace, mounts)
        self._hashed: dict[str, HashedFile] = {}
        self._notes: list[str] = []
        self._chosen = engine
        self._files = files or FileOperations()
        self._scan = FolderScan(self._workspace)
        self._lock = StoreLock(folder / "lock", seconds=self._limits.lock_seconds)
        with self._explained():
            self._make_folder()
            with self._lock.held():
                self._open()
        self._too_wide = too_wide(self._workspace)
        self._transaction = Transaction(self._workspace, folder, self._files)

    @property
    def engine(self) -> str:
        """What stores the contents: ``git`` or ``copy``."""
        return self._engine.name

    def take(self, named: Iterable[str] = ()) -> Snapshot:
        """Take a snapshot."""
        with self._explained(), self._held():
            self._note(self._transaction.recover())
            taken_at = now_ms()
            self._records.name(normal_names(self._workspace, named))
            look = self._look()
            tree, reason = self._tree(look)
            extras = look.extras if tree else self._named_versions(look)
            self._workspace.lstat()  # where it went meanwhile, its files were not deleted one by one
            snapshot = Snapshot(
                id=uuid.uuid4().hex,  # not a counted one: those are seen in outputs, and must come as ever
                taken_at=taken_at,
                coverage="whole" if tree else "named",
                reason=reason,
                not_covered=tuple(look.listed.values()),
                not_covered_count=len(look.listed) + look.not_listed,
                notes=(*self._notes, *self._of_network()),
            )
            manifest = Manifest(
                snapshot=snapshot,
                tree=tree,
                extras={path_to_json(path): each for path, each in extras.items()},
                folders=tuple(map(path_to_json, look.empty)) if tree else (),
                named=tuple(sorted(map(path_to_json, self._records.named))),
                forced=tuple(sorted(map(path_to_json, self._records.force(look.forced)))),
                owner=self._records.owner,
            )
            self._notes.clear()
            return self._records.write(manifest).snapshot

    def changes(self, before: Snapshot, after: Snapshot, between: Iterable[Snapshot] = ()) -> tuple[FileChange, ...]:
        """What is other in *after* than in *before*, by path."""
        with self._explained():
            old, new = self._records.read(before.id), self._records.read(after.id)
            try:
                middles = [self._records.read(each.id) for each in between]
                with self.reading():
                    found = compare(old, new, self._engine, self.content, middles)
                return tuple(each for each in found if not is_ignored(self._own, each.path))
            except GitFailed as error:
                message = f"The snapshots {before.id} and {after.id} cannot be compared: {error}"
                raise ChangesError(message, hint="The store of changes may be damaged.") from error

    def lacks(self, snapshot: Snapshot, paths: Iterable[str]) -> frozenset[str]:
        """Which of *paths* are not in *snapshot*: they did not exist, or it does not cover them."""
        with self._explained():
            wanted, manifest = frozenset(paths), self._records.read(snapshot.id)
            left = wanted - manifest.others.keys() - {path_from_json(path) for path in manifest.named}
            return left - self._engine.find(manifest.tree, left).keys() if manifest.tree and left else left

    def folders(self, snapshot: Snapshot, paths: Iterable[str]) -> frozenset[str]:
        """Which of *paths* are folders in *snapshot*, empty or not.

        Args:
            snapshot: One of this store.
            paths: Relative to the workspace.

        Raises:
            ChangesError: If it is stored no longer.
        """
        with self._explained():
            wanted, manifest = frozenset(paths), self._records.read(snapshot.id)
            found = self._engine.folders(manifest.tree, wanted) if manifest.tree and wanted else frozenset[str]()
            others = manifest.others
            above = {folder for path in others for folder in folders_above(path)}
            return found | (wanted & above.union(path for path, version in others.items() if version == FOLDER))

    def content(self, version: Version) -> bytes:
        """The content of *version*; where a link leads to, for a link."""
        if version.mode == "folder":
            return b""
        if version.blob is None:
            message = "The contents of this file are not stored."
            raise ContentNotStored(message, hint="It is sensitive or large.")
        with self._explained():
            return self._engine.read(version.blob)

    def reading(self) -> AbstractContextManager[None]:
        """Say that many contents will be read (:meth:`content`, :meth:`lines`, :meth:`diff`), which makes it faster."""
        return self._engine.reading()

    def lines(self, change: FileChange) -> tuple[int | None, int | None]:
        """How many lines *change* added and removed; None for what is no text, or is not stored."""
        try:
            return count_lines(*self._sides(change))
        except ContentNotStored:
            return None, None

    def diff(self, change: FileChange) -> str:
        """A unified diff of *change*; where contents are not stored, one line that says so."""
        before, after = f"a/{change.was or change.path}", f"b/{change.path}"
        if change.before is None:
            before = os.devnull
        if change.after is None:
            after = os.devnull
        try:
            return unified(*self._sides(change), _shown(before), _shown(after))
        except ContentNotStored:
            return f"Files {_shown(before)} and {_shown(after)} differ; their contents are not stored\n"

    def apply(
        self,
        steps: Sequence[Step],
        choices: Mapping[str, Choice] | None = None,
        *,
        absent: AbstractSet[str] | None = None,
    ) -> tuple[FileChange, ...]:
        """Bring paths from one version to another, all or none; gives all that changed, and folders that were empty.

        A path that is at a step's base gets its target; one that is at its target is left alone; otherwise texts are
        merged (base, what is there, target). Nothing outside of the workspace is written, and nothing through a link.

        Args:
            steps: What is to be done. A folder goes only if it gets empty.
            choices: Which side of a conflict to take, by path.
            absent: Which of the folders above the steps go when nothing is in them; None: those that get empty.
        """
        above = {folder for step in steps for folder in folders_above(step.path)}
        steps = [step for step in steps if step.base is not None or step.target is not None]
        if absent is not None:
            steps += self._folder_steps(above - {step.path for step in steps}, absent)
        with self._explained(), self._held(), self.reading():
            self._note(self._transaction.recover())
            planner = self._planner()
            for _ in range(_ATTEMPTS):
                plan = planner.plan(steps, choices or {})
                if not plan.operations:
                    return tuple(plan.changes)
                self._records.applied(plan.changes)
                with contextlib.suppress(FileChanged):
                    self._transaction.run(tuple(plan.operations), plan.contents, plan.seen)
                    return tuple(plan.changes)
        message = "Files change all the time while they are written; nothing was written."
        raise ChangesError(message, hint="Stop the program that writes them, and try again.")

    def _folder_steps(self, folders: set[str], absent: AbstractSet[str]) -> Iterator[Step]:
        for folder in sorted(folders):
            place = self._workspace / folder
            if place.is_dir() and not place.is_symlink():
                yield Step(path=folder, base=FOLDER, target=None if folder in absent else FOLDER, is_implied=True)

    def recover(self) -> str | None:
        """Finish or roll back what a killed kernel left; a sentence for the user, or None."""
        with self._explained(), self._held():
            return self._transaction.recover()

    def prune(self, keep: Iterable[str]) -> None:
        """Forget all snapshots but those with the ids *keep*, and content that only they have.

        What another kernel that is still running took is kept, too. Where the store is larger than its limit, the
        oldest snapshots go, although they count.
        """
        with self._explained(), self._held():
            self._records.prune(set(keep))
            self._sweep()
            while self.size() > self._limits.store_bytes and self._records.drop_oldest():
                self._sweep()

    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with contextlib.suppress(OSError):
                    state = os.lstat(os.path.join(folder, name))  # noqa: PTH118
                    total += getattr(state, "st_blocks", 0) * 512 or state.st_size
        return total

    # ------------------------------------------------------------ inside

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._folder.stat().st_mode & 0o077:
            self._folder.chmod(0o700)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the store's lock; where somebody removed the folder, begin anew."""
        if not self._folder.is_dir():
            self._make_folder()
        with self._lock.held():
            if not self._records.is_there:
                self._open()
            yield

    def _open(self) -> None:
        self._records = Records(self._folder)
        self._key = _secret(self._folder / "key")
        self._engine = self._opened_engine()

    def _opened_engine(self) -> Engine:
        program = find_git(self._workspace) if self._chosen != "copy" else None
        if program is not None:
            try:
                return GitEngine(program, self._folder / "git", self._workspace)
            except GitFailed as error:
                raise_if_refused(error, self._folder)
                self._put_aside(error)
                return GitEngine(program, self._folder / "git", self._workspace)
        if self._chosen == "git":
            raise ChangesUnavailable("git 2.30 or later was not found.", hint="Install git.")
        return CopyEngine(self._folder / "copy", self._workspace, self._scan)

    def _look(self) -> Look:
        return Look(
            self._workspace,
            self._limits,
            self._is_sensitive,
            self._digest,
            named=self._records.named,
            own=self._own,
            clock_ns=CLOCK_NS if self._network else 0,
            known=self._hashed,
        )

    def _tree(self, look: Look) -> tuple[str, str]:
        """The engine's tree of the workspace, and an empty reason; or no tree, and why only named files count."""
        if self._too_wide:
            return "", self._too_wide
        try:
            return self._looked_at(look)
        except TooSlow as error:
            return "", f"{error.message} Only files that were named are covered."

    def _looked_at(self, look: Look) -> tuple[str, str]:
        excludes = self._excludes()
        is_first = self._engine.files == 0
        scan = self._scan.walk(look, exclude=read_rules(excludes), weigh=is_first)
        most = min(self._limits.files, MOST_FILES) if self._engine.name == "copy" else self._limits.files
        if scan.is_cut or scan.files > most:
            reason = f"The workspace has more than {most:,} files"
            if scan.bytes > self._limits.bytes:
                reason = f"The workspace has more than {self._limits.bytes / 1024**3:.3g} GB"
            if is_first:
                advice = " (without git)" if self._engine.name == "copy" else ""
                return "", f"{reason}{advice}, so only files that were named are covered."
            look.leave(".", "outside limit", f"{reason}, so new files are not covered.")
        look.empty = scan.empty
        return self._refreshed(look, excludes, tracked_only=scan.is_cut), ""

    def _refreshed(self, look: Look, excludes: str, *, tracked_only: bool) -> str:
        try:
            return self._engine.refresh(look, excludes, tracked_only=tracked_only)
        except GitFailed as error:
            raise_if_refused(error, self._folder)
            self._put_aside(error)
            self._engine = self._opened_engine()
        try:
            return self._engine.refresh(look, excludes)
        except GitFailed as error:
            message = f"git cannot take a snapshot of {self._workspace}: {error}"
            raise ChangesUnavailable(message, hint="Turns continue; their changes are not recorded.") from error

    def _of_network(self) -> Iterator[str]:
        if self._network is not None:
            yield (
                f"The workspace is on a network file system ({self._network}): "
                "what another machine changed there in the last seconds may be missing."
            )

    def _note(self, said: str | None) -> None:
        """Let the next snapshot say it."""
        if said is not None:
            self._notes.append(said)

    def _excludes(self) -> str:
        """Ignore rules that hold in the whole workspace: those from outside, and the store itself."""
        outer = f"{outer_excludes(self._workspace)}\n{self._own_lines}"
        inside = os.path.relpath(self._folder, self._workspace)
        return outer if inside.startswith("..") else f"{outer}\n/{literal(inside)}/"

    def _named_versions(self, look: Look) -> dict[str, Version]:
        """The versions of the files that were named, where nothing else is covered."""
        planner = self._planner()
        for path in sorted(self._records.named):
            if look.verdict(path) == "store":
                entry = planner.entry(path)
                version = planner.version(path, entry)
                if version is not None and entry is not None and entry.content is not None:
                    self._engine.write(entry.content)
                    look.extras[path] = version
        return look.extras

    def _planner(self) -> Planner:
        return Planner(
            self._workspace,
            read=self.content,
            write=self._engine.write,
            is_stored=lambda path: not self._is_sensitive(path),
            digest=self._digest,
            most=self._limits.file_bytes,
        )

    def _sweep(self) -> None:
        trees, blobs = self._records.roots()
        self._engine.keep(trees, blobs)

    def _put_aside(self, error: GitFailed) -> None:
        """Rename damaged contents, so that new ones can take their place."""
        for old in self._folder.glob("damaged-*"):
            shutil.rmtree(old, ignore_errors=True)
        aside = self._folder / f"damaged-{now_ms()}"
        (self._folder / "git").rename(aside)
        self._notes.append(
            f"The store of changes was damaged ({error}) and was put aside as {aside}; a new one was begun. "
            "Earlier changes can be neither shown nor undone."
        )

    def _digest(self, content: bytes) -> str:
        return "keyed:" + hashlib.blake2b(content, key=self._key, digest_size=20).hexdigest()

    def _sides(self, change: FileChange) -> tuple[bytes, bytes]:
        return tuple(b"" if each is None else self.content(each) for each in (change.before, change.after))  # type: ignore[return-value]

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what the file system says in words that help."""
        try:
            yield
        except AgentnbError:
            raise
        except OSError as error:
            raise unavailable(error, self._folder, self._workspace) from error


def _secret(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        key = os.urandom(32)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(key)
        return key


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
