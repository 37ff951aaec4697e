"""The store of one workspace's snapshots: takes them, compares them, and restores files from them.

It is synchronous: the host calls it in a worker thread.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from typing import TYPE_CHECKING

from agentnb.changes.apply import Planner
from agentnb.changes.comparison import Manifest, compare
from agentnb.changes.copy_engine import MOST_FILES
from agentnb.changes.coverage import SnapshotLimits, TooSlow, WorkspaceLook, normal_names
from agentnb.changes.file_operations import FileOperations
from agentnb.changes.git_program import GitFailed, outer_excludes
from agentnb.changes.ignore import is_ignored, literal, read_rules
from agentnb.changes.journal import FileChanged, Transaction
from agentnb.changes.model import (
    FOLDER,
    FileVersion,
    PathChange,
    Snapshot,
    Step,
    folders_above,
    path_from_json,
    path_to_json,
)
from agentnb.changes.store_folder import CLOCK_NS, MOUNTS, StoreFolder, network_file_system, too_wide
from agentnb.changes.text_diff import count_lines, unified
from agentnb.clock import now_ms
from agentnb.errors import ChangesError, ContentNotStored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.changes.coverage import KnownFile
    from agentnb.changes.model import Choice, Mode
    from agentnb.changes.store_folder import EngineName

_ATTEMPTS = 3  # attempts to write if files change between the check and the write


class ChangeStore:
    def __init__(
        self,
        folder: Path,
        workspace: Path,
        *,
        limits: SnapshotLimits | None = None,
        is_sensitive: Callable[[str], bool],
        keep_sensitive: bool = False,
        own: str = "",
        mounts: Path = MOUNTS,
        engine: EngineName = "auto",
        files: FileOperations | None = None,
    ) -> None:
        self._workspace = workspace.resolve()
        self._limits = limits or SnapshotLimits()
        self._is_sensitive = (lambda _: False) if keep_sensitive else is_sensitive
        self._own_lines, self._own = own, read_rules(own)
        self._network = network_file_system(self._workspace, mounts)
        self._hashed: dict[str, KnownFile] = {}
        self._folder = StoreFolder(folder, self._workspace, lock_seconds=self._limits.lock_seconds, engine=engine)
        self._too_wide = too_wide(self._workspace)
        self._transaction = Transaction(self._workspace, folder, files or FileOperations())

    @property
    def engine(self) -> str:
        """Returns the name of the engine that stores the contents: ``git`` or ``copy``."""
        return self._folder.engine.name

    def take(self, named: Iterable[str] = ()) -> Snapshot:
        with self._folder.explained(), self._folder.held():
            self._recover()
            taken_at = now_ms()
            self._folder.records.name(normal_names(self._workspace, named))
            look = self._look()
            tree, reason = self._tree(look)
            extras = look.extras if tree else self._named_versions(look)
            self._workspace.lstat()  # raises if the workspace itself is gone, so that its files do not count as deleted
            snapshot = Snapshot(
                id=uuid.uuid4().hex,  # not a sequential id: outputs show those, so their sequence must not change
                taken_at=taken_at,
                coverage="whole" if tree else "named",
                reason=reason,
                not_covered=tuple(look.listed.values()),
                not_covered_count=len(look.listed) + look.not_listed,
                notes=(*self._folder.notes, *self._of_network()),
            )
            manifest = Manifest(
                snapshot=snapshot,
                tree=tree,
                extras={path_to_json(path): each for path, each in extras.items()},
                folders=tuple(map(path_to_json, look.empty)) if tree else (),
                named=tuple(sorted(map(path_to_json, self._folder.records.named))),
                forced=tuple(sorted(map(path_to_json, self._folder.records.force(look.forced)))),
                owner=self._folder.records.owner,
            )
            self._folder.notes.clear()
            return self._folder.records.write(manifest).snapshot

    def changes(self, before: Snapshot, after: Snapshot, between: Iterable[Snapshot] = ()) -> tuple[PathChange, ...]:
        """Returns what changed from *before* to *after*, by path."""
        with self._folder.explained():
            old, new = self._folder.records.read(before.id), self._folder.records.read(after.id)
            try:
                middles = [self._folder.records.read(each.id) for each in between]
                with self.reading():
                    differences = compare(old, new, self._folder.engine, self.content, middles)
                return tuple(each for each in differences if not is_ignored(self._own, each.path))
            except GitFailed as error:
                message = f"The snapshots {before.id} and {after.id} cannot be compared: {error}"
                raise ChangesError(message, hint="The store of changes may be damaged.") from error

    def lacks(self, snapshot: Snapshot, paths: Iterable[str]) -> frozenset[str]:
        """Returns which of *paths* are not in *snapshot*: they did not exist, or it does not cover them."""
        with self._folder.explained():
            wanted, manifest = frozenset(paths), self._folder.records.read(snapshot.id)
            left = wanted - manifest.others.keys() - {path_from_json(path) for path in manifest.named}
            return left - self._folder.engine.find(manifest.tree, left).keys() if manifest.tree and left else left

    def folders(self, snapshot: Snapshot, paths: Iterable[str]) -> frozenset[str]:
        """Returns which of *paths* are folders in *snapshot*, empty or not."""
        with self._folder.explained():
            wanted, manifest = frozenset(paths), self._folder.records.read(snapshot.id)
            kept = self._folder.engine.folders(manifest.tree, wanted) if manifest.tree and wanted else frozenset[str]()
            others = manifest.others
            above = {folder for path in others for folder in folders_above(path)}
            return kept | (wanted & above.union(path for path, version in others.items() if version == FOLDER))

    def content(self, version: FileVersion) -> bytes:
        """Returns the content of *version*; for a link, its target."""
        if version.mode == "folder":
            return b""
        if version.blob is None:
            message = "The contents of this file are not stored."
            raise ContentNotStored(message, hint="It is sensitive or large.")
        with self._folder.explained():
            return self._folder.engine.objects.read(version.blob)

    def keep(self, content: bytes, mode: Mode) -> FileVersion:
        """Store *content*, which may be in no snapshot, for as long as undone changes are kept; returns its version."""
        with self._folder.explained(), self._folder.held():
            blob = self._folder.engine.objects.write(content)
            version = FileVersion(blob=blob, digest=blob, mode=mode, size=len(content))
            self._folder.records.applied([PathChange(path="", after=version)])
            return version

    def reading(self) -> AbstractContextManager[None]:
        """Make many reads in the block (:meth:`content`, :meth:`lines`, :meth:`diff`) faster."""
        return self._folder.engine.reading()

    def lines(self, change: PathChange) -> tuple[int | None, int | None]:
        """Returns how many lines *change* added and removed; None if it is not text, or not stored."""
        try:
            return count_lines(*self._sides(change))
        except ContentNotStored:
            return None, None

    def diff(self, change: PathChange) -> str:
        """Returns a unified diff of *change*; if contents are not stored, one line that says so."""
        before, after = f"a/{change.was or change.path}", f"b/{change.path}"
        if change.before is None:
            before = os.devnull
        if change.after is None:
            after = os.devnull
        try:
            return unified(*self._sides(change), _printable(before), _printable(after))
        except ContentNotStored:
            return f"Files {_printable(before)} and {_printable(after)} differ; their contents are not stored\n"

    def apply(
        self,
        steps: Sequence[Step],
        choices: Mapping[str, Choice] | None = None,
        *,
        absent: AbstractSet[str] | None = None,
    ) -> tuple[PathChange, ...]:
        """Bring paths from one version to another, all or none; returns all changes, and folders that were empty.

        A path at its step's base gets the target; a path at its target is left alone; otherwise texts are merged (base,
        current text, target).
        """
        above = {folder for step in steps for folder in folders_above(step.path)}
        steps = [step for step in steps if step.base is not None or step.target is not None]
        if absent is not None:
            steps += self._folder_steps(above - {step.path for step in steps}, absent)
        with self._folder.explained(), self._folder.held(), self.reading():
            self._recover()
            planner = self._planner()
            for _ in range(_ATTEMPTS):
                plan = planner.plan(steps, choices or {})
                if not plan.operations:
                    return tuple(plan.changes)
                self._folder.records.applied(plan.changes)
                with contextlib.suppress(FileChanged):
                    self._transaction.run(tuple(plan.operations), plan.contents, plan.seen)
                    return tuple(plan.changes)
        message = "Files kept changing while they were being written, so nothing was written."
        raise ChangesError(message, hint="Stop the program that writes them, and try again.")

    def _folder_steps(self, folders: set[str], absent: AbstractSet[str]) -> Iterator[Step]:
        for folder in sorted(folders):
            place = self._workspace / folder
            if place.is_dir() and not place.is_symlink():
                yield Step(path=folder, base=FOLDER, target=None if folder in absent else FOLDER, is_implied=True)

    def _recover(self) -> None:
        """Finish or roll back what a killed kernel left; the next snapshot has a note about it."""
        if (note := self._transaction.recover()) is not None:
            self._folder.notes.append(note)

    def recover(self) -> str | None:
        """Finish or roll back what a killed kernel left; returns a sentence for the user, or None."""
        with self._folder.explained(), self._folder.held():
            return self._transaction.recover()

    def prune(self, keep: Iterable[str]) -> None:
        """Forget all snapshots except those with the ids *keep*, and the content that only forgotten ones have."""
        with self._folder.explained(), self._folder.held():
            self._folder.prune(set(keep), self._limits.store_bytes)

    def size(self) -> int:
        """Bytes on disk."""
        return self._folder.size()

    # ------------------------------------------------------------ inside

    def _look(self) -> WorkspaceLook:
        return WorkspaceLook(
            self._workspace,
            self._limits,
            self._is_sensitive,
            self._folder.digest,
            named=self._folder.records.named,
            own=self._own,
            clock_ns=CLOCK_NS if self._network else 0,
            known=self._hashed,
        )

    def _tree(self, look: WorkspaceLook) -> tuple[str, str]:
        """Returns the tree of the workspace and ''; or '' and the reason that only named files are covered."""
        if self._too_wide:
            return "", self._too_wide
        try:
            return self._looked_at(look)
        except TooSlow as error:
            return "", f"{error.message} Only files that were named are covered."

    def _looked_at(self, look: WorkspaceLook) -> tuple[str, str]:
        excludes = self._excludes()
        is_first = self._folder.engine.files == 0
        scan = self._folder.scan.walk(look, exclude=read_rules(excludes), weigh=is_first)
        most = min(self._limits.files, MOST_FILES) if self._folder.engine.name == "copy" else self._limits.files
        if scan.is_cut or scan.files > most:
            reason = f"The workspace has more than {most:,} files"
            if scan.bytes > self._limits.bytes:
                reason = f"The workspace has more than {self._limits.bytes / 1024**3:.3g} GB"
            if is_first:
                advice = " (without git)" if self._folder.engine.name == "copy" else ""
                return "", f"{reason}{advice}, so only files that were named are covered."
            look.leave(".", "outside limit", f"{reason}, so new files are not covered.")
        look.empty = scan.empty
        return self._folder.refresh(look, excludes, tracked_only=scan.is_cut), ""

    def _of_network(self) -> Iterator[str]:
        if self._network is not None:
            yield (
                f"The workspace is on a network file system ({self._network}): "
                "what another machine changed there in the last seconds may be missing."
            )

    def _excludes(self) -> str:
        """Returns the ignore rules for the whole workspace: those from outside, and the store itself."""
        outer = f"{outer_excludes(self._workspace)}\n{self._own_lines}"
        inside = os.path.relpath(self._folder.path, self._workspace)
        return outer if inside.startswith("..") else f"{outer}\n/{literal(inside)}/"

    def _named_versions(self, look: WorkspaceLook) -> dict[str, FileVersion]:
        """Returns the versions of the named files, for when nothing else is covered."""
        planner = self._planner()
        for path in sorted(self._folder.records.named):
            if look.verdict(path) == "store":
                entry = planner.entry(path)
                version = planner.version(path, entry, self._folder.engine.objects.write)
                if version is not None and entry is not None and entry.content is not None:
                    look.extras[path] = version
        return look.extras

    def _planner(self) -> Planner:
        return Planner(
            self._workspace,
            read=self.content,
            write=self._folder.engine.objects.write,
            is_stored=lambda path: not self._is_sensitive(path),
            digest=self._folder.digest,
            most=self._limits.file_bytes,
        )

    def _sides(self, change: PathChange) -> tuple[bytes, bytes]:
        return tuple(b"" if each is None else self.content(each) for each in (change.before, change.after))  # type: ignore[return-value]


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
