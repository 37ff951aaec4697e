"""The store of one workspace's snapshots: takes them, compares them, and brings files back to what they were.

It lies outside the workspace, and touches nothing in it but the files of :meth:`ChangeStore.apply`. Synchronous: the
host calls it in a worker thread.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from agentnb.changes.apply import Planner
from agentnb.changes.coverage import Limits, Look, normal_names
from agentnb.changes.file_operations import FileOperations
from agentnb.changes.git_engine import GitEngine
from agentnb.changes.git_program import find_git
from agentnb.changes.journal import FileChanged, Transaction
from agentnb.changes.model import FOLDER, FileChange, Snapshot, Version, path_from_json, path_to_json
from agentnb.changes.moves import with_moves
from agentnb.changes.store_lock import StoreLock
from agentnb.changes.text_diff import count_lines, unified
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, ChangesError, ChangesUnavailable, ContentNotStored
from agentnb.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentnb.changes.engine import Engine
    from agentnb.changes.model import Choice, Step

_ATTEMPTS = 3  # to write, where files change between the look and the write


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the store knows of a snapshot.

    Args:
        snapshot: What callers know of it.
        tree: The engine's tree.
        extras: Versions of files that the engine does not store: sensitive and large ones.
        folders: Empty folders.
        named: Paths that counted although they are ignored or left out.
    """

    snapshot: Snapshot
    tree: str
    extras: dict[str, Version] = {}
    folders: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class ChangeStore:
    """Snapshots of one workspace.

    Args:
        folder: The store's own folder; it is made, for its owner only.
        workspace: The folder to look at.
        limits: How much is covered and stored.
        is_sensitive: Whether a path (relative to the workspace) holds secrets: only a keyed digest of it is stored.
        keep_sensitive: Store the contents of sensitive files, too.
        files: Changes files; another one is for tests.

    Raises:
        ChangesUnavailable: If the store cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        *,
        limits: Limits | None = None,
        is_sensitive: Callable[[str], bool],
        keep_sensitive: bool = False,
        files: FileOperations | None = None,
    ) -> None:
        self._folder = folder
        self._workspace = workspace.resolve()
        self._limits = limits or Limits()
        self._is_sensitive = (lambda _: False) if keep_sensitive else is_sensitive
        self._known: dict[str, object] = {}
        with self._explained():
            (folder / "snapshots").mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            self._lock = StoreLock(folder / "lock", seconds=self._limits.lock_seconds)
            with self._lock.held():
                self._key = _secret(folder / "key")
                self._engine = self._chosen_engine()
        self._transaction = Transaction(self._workspace, folder, files or FileOperations())

    @property
    def engine(self) -> str:
        """What stores the contents: ``git`` or ``copy``."""
        return self._engine.name

    def take(self, named: Iterable[str] = ()) -> Snapshot:
        """Take a snapshot.

        Args:
            named: Ignored or left-out files that count, relative to the workspace or absolute.

        Raises:
            ChangesUnavailable: If the workspace cannot be looked at, or the store not be written.
        """
        with self._explained(), self._lock.held():
            taken_at = now_ms()
            look = Look(
                self._workspace,
                self._limits,
                self._is_sensitive,
                self._digest,
                named=normal_names(self._workspace, named),
            )
            tree = self._engine.refresh(look)
            snapshot = Snapshot(
                id=new_id(),
                taken_at=taken_at,
                not_covered=tuple(look.listed.values()),
                not_covered_count=len(look.listed) + look.not_listed,
            )
            manifest = Manifest(
                snapshot=snapshot,
                tree=tree,
                extras={path_to_json(path): each for path, each in look.extras.items()},
                named=tuple(sorted(map(path_to_json, look.named))),
            )
            return self._written(manifest).snapshot

    def changes(self, before: Snapshot, after: Snapshot) -> tuple[FileChange, ...]:
        """What is other in *after* than in *before*, by path.

        Raises:
            ChangesError: If one of them is stored no longer.
        """
        with self._explained():
            old, new = self._manifest(before), self._manifest(after)
            found = dict(self._engine.differences(old.tree, new.tree))
            kept = _others(old), _others(new)
            for path in sorted(kept[0].keys() | kept[1].keys()):
                was, now = kept[0].get(path), kept[1].get(path)
                if was != now:
                    pair = found.get(path, (None, None))
                    found[path] = (was or pair[0], now or pair[1])
            changes = [FileChange(path=path, before=each[0], after=each[1]) for path, each in found.items()]
            return with_moves(changes, self.content)

    def content(self, version: Version) -> bytes:
        """The content of *version*; where a link leads to, for a link.

        Raises:
            ContentNotStored: If it was never stored, or is stored no longer.
        """
        if version.mode == "folder":
            return b""
        if version.blob is None:
            message = "The contents of this file are not stored."
            raise ContentNotStored(message, hint="It is sensitive or large.")
        with self._explained():
            return self._engine.read(version.blob)

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

    def apply(self, steps: Sequence[Step], choices: Mapping[str, Choice] | None = None) -> tuple[FileChange, ...]:
        """Bring paths from one version to another, all or none.

        A path that is at a step's base gets its target; one that is at its target is left alone; otherwise texts are
        merged (base, what is there, target). Nothing outside of the workspace is written, and nothing through a link.

        Args:
            steps: What to do.
            choices: For conflicts, by path: ``"mine"`` leaves the file as it is now, ``"theirs"`` takes the target.

        Returns:
            What really changed; contents that were overwritten are stored, so it can be undone.

        Raises:
            FilesConflict: If files cannot be merged; nothing was written.
            ContentNotStored: If a content is not stored, or would be lost; nothing was written.
            ChangesError: If the file system refuses; nothing was written.
        """
        with self._explained(), self._lock.held():
            self._transaction.recover()
            planner = Planner(
                self._workspace,
                read=self.content,
                write=self._engine.write,
                is_stored=lambda path: not self._is_sensitive(path),
                digest=self._digest,
                most=self._limits.file_bytes,
            )
            for attempt in range(_ATTEMPTS):
                plan = planner.plan(steps, choices or {})
                if not plan.operations:
                    return ()
                try:
                    self._transaction.run(tuple(plan.operations), plan.contents, plan.seen)
                except FileChanged as error:
                    if attempt + 1 == _ATTEMPTS:
                        message = f"{error.message} changes all the time; nothing was written."
                        raise ChangesError(message, hint="Stop the program that writes it, and try again.") from error
                else:
                    return tuple(plan.changes)
        raise AssertionError

    def recover(self) -> str | None:
        """Finish or roll back what a killed kernel left; a sentence for the user, or None."""
        with self._explained(), self._lock.held():
            return self._transaction.recover()

    def prune(self, keep: Iterable[str]) -> None:
        """Forget all snapshots but those with the ids *keep*, and content that only they have."""
        with self._explained(), self._lock.held():
            kept = set(keep)
            for path in self._manifests():
                if path.stem not in kept:
                    path.unlink()
            manifests = [self._read(path) for path in self._manifests()]
            blobs = {each.blob for one in manifests for each in one.extras.values() if each.blob is not None}
            self._engine.keep([each.tree for each in manifests], blobs)

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

    def _chosen_engine(self) -> Engine:
        program = find_git(self._workspace)
        if program is None:
            message = "git 2.30 or later was not found."
            raise ChangesUnavailable(message, hint="Install git.")
        return GitEngine(program, self._folder / "git", self._workspace)

    def _digest(self, content: bytes) -> str:
        return "keyed:" + hashlib.blake2b(content, key=self._key, digest_size=20).hexdigest()

    def _sides(self, change: FileChange) -> tuple[bytes, bytes]:
        return tuple(b"" if each is None else self.content(each) for each in (change.before, change.after))  # type: ignore[return-value]

    def _manifests(self) -> list[Path]:
        return sorted((self._folder / "snapshots").glob("*.json"))

    def _written(self, manifest: Manifest) -> Manifest:
        """Write *manifest*, under an id that no other kernel's has (counted ids begin anew in each process)."""
        name = manifest.snapshot.id
        for number in range(1, 1_000_000):
            path = self._folder / "snapshots" / f"{name}.json"
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                name = f"{manifest.snapshot.id}-{number}"
                continue
            snapshot = msgspec.structs.replace(manifest.snapshot, id=name)
            manifest = msgspec.structs.replace(manifest, snapshot=snapshot)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(msgspec.json.encode(manifest))
            return manifest
        raise AssertionError

    def _manifest(self, snapshot: Snapshot) -> Manifest:
        path = self._folder / "snapshots" / f"{snapshot.id}.json"
        if "/" in snapshot.id or not path.is_file():
            message = f"The snapshot {snapshot.id} is stored no longer."
            raise ChangesError(message, hint="Its changes can be neither shown nor undone.")
        return self._read(path)

    @staticmethod
    def _read(path: Path) -> Manifest:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what the file system says in words that help."""
        try:
            yield
        except AgentnbError:
            raise
        except OSError as error:
            raise unavailable(error, self._folder, self._workspace) from error


def unavailable(error: OSError, folder: Path, workspace: Path) -> ChangesUnavailable:
    """What to raise where the file system refuses."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        message = "The disk is full: nothing was written."
        return ChangesUnavailable(message, hint=f"Make room for {folder} and {workspace}.")
    if not workspace.is_dir():
        return ChangesUnavailable(f"The workspace {workspace} does not exist any more.", hint="Make the folder again.")
    where = error.filename if isinstance(error.filename, str) else folder
    message = f"{where} cannot be used: {error.strerror or error}."
    return ChangesUnavailable(message, hint=f"Mend the permissions of {folder} and {workspace}.")


def _others(manifest: Manifest) -> dict[str, Version]:
    """What the engine's tree does not have, by path."""
    found = {path_from_json(path): each for path, each in manifest.extras.items()}
    return found | {path_from_json(path): FOLDER for path in manifest.folders}


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
