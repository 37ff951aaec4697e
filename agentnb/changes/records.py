"""A store's contents by their hash, its snapshots, named files, what undos wrote, and who uses it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agentnb.changes.comparison import Manifest
from agentnb.changes.coverage import is_file_name
from agentnb.changes.model import path_from_json, path_to_json
from agentnb.clock import now_ms
from agentnb.errors import ChangesError, ContentNotStored
from agentnb.safe_files import try_lock, write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.changes.model import PathChange


_FOLDER, _FILE = 0o700, 0o400
_HEADER = re.compile(rb"[a-z]+ ([0-9]{1,18})\0")
_LONGEST_HEADER = 32


def blob_id(content: bytes) -> str:
    """Returns the name of *content*, the same as ``git hash-object`` gives it."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


class ObjectFolder:
    """A folder of stored contents; *elsewhere* reads those that are no files of it."""

    def __init__(self, folder: Path, elsewhere: Callable[[str], bytes | None] = lambda _: None) -> None:
        self.folder = folder
        self._elsewhere = elsewhere

    def write(self, content: bytes) -> str:
        """Store *content* and return its name."""
        return self._write(b"blob", content)

    def write_empty_tree(self) -> str:
        """Store the tree of a folder without files, and return its name."""
        return self._write(b"tree", b"")

    def _write(self, kind: bytes, content: bytes) -> str:
        whole = b"%b %d\0%b" % (kind, len(content), content)
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self._path(name)
        if os.path.exists(path):  # noqa: PTH110 - a Path takes longer than the check
            return name
        self._make_folder(name[:2])
        temporary = Path(f"{self.folder}/{name[:2]}/new-{os.urandom(8).hex()}")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE), "wb") as file:  # noqa: PTH123
                file.write(zlib.compress(whole, 1))
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return name

    def read(self, name: str) -> bytes:
        try:
            with open(self._path(name), "rb") as file:  # noqa: PTH123 - as above
                raw = file.read()
        except FileNotFoundError:
            content = self._elsewhere(name)
            if content is None:
                raise ContentNotStored(f"The content {name} is no longer stored.") from None
            return content
        try:
            content = zlib.decompress(raw).partition(b"\0")[2]
        except zlib.error as error:
            raise _damaged(name) from error
        if blob_id(content) != name:
            raise _damaged(name)
        return content

    def size(self, name: str) -> int | None:
        """Returns the size of the content *name* in bytes, from its header; None if no file of this folder has it."""
        try:
            with open(self._path(name), "rb") as file:  # noqa: PTH123 - as above
                head = zlib.decompressobj().decompress(file.read(2 * _LONGEST_HEADER), _LONGEST_HEADER)
        except (OSError, zlib.error):
            return None
        match = _HEADER.match(head)
        return int(match[1]) if match else None

    def names(self) -> list[str]:
        """Returns the names of all contents that are stored as files of their own."""
        return [
            f"{folder.name}{each.name}"
            for folder in (self.folder.iterdir() if self.folder.is_dir() else ())
            if len(folder.name) == 2  # noqa: PLR2004 - the first byte of the hash
            for each in folder.iterdir()
            if not each.name.startswith("new-")
        ]

    def remove(self, name: str) -> None:
        Path(self._path(name)).unlink(missing_ok=True)

    def _make_folder(self, name: str) -> None:
        try:
            os.mkdir(f"{self.folder}/{name}", _FOLDER)  # noqa: PTH102 - as above
        except FileExistsError:
            return
        except FileNotFoundError:
            self.folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER)
            (self.folder / name).mkdir(exist_ok=True, mode=_FOLDER)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name[:2]}/{name[2:]}"


def _damaged(name: str) -> ChangesError:
    return ChangesError(f"The stored content {name} is damaged.", hint="It cannot be restored from here.")


_Record = TypeVar("_Record", bound=msgspec.Struct)

MOST_NAMED = 5_000
"""Named files that are remembered; later ones count only in the snapshot that they were named for."""


class Named(msgspec.Struct, frozen=True):
    """Named files; paths are in the form for JSON."""

    named: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()


class Applied(msgspec.Struct, frozen=True):
    """Contents that an undo stored, and when."""

    at: int
    blobs: tuple[str, ...]


class SnapshotRecords:
    """The records in a store's folder; whoever calls holds its lock, except for :meth:`read`."""

    def __init__(self, folder: Path) -> None:
        self._snapshots = folder / "snapshots"
        self._undos = folder / "undos"
        self._users = folder / "users"
        self._named_file = folder / "named.json"
        for each in (self._snapshots, self._undos, self._users):
            each.mkdir(exist_ok=True, mode=0o700)
        self.owner: str = os.urandom(8).hex()
        self._user = os.open(self._users / self.owner, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
        try_lock(self._user)
        named = _decoded(self._named_file, Named) or Named()
        # One that no file can have was written by 0.2 and earlier.
        self.named: frozenset[str] = frozenset(filter(is_file_name, map(path_from_json, named.named)))
        self._forced = frozenset(map(path_from_json, named.forced))

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._user)

    @property
    def is_there(self) -> bool:
        """True if nobody removed the folders."""
        return (self._users / self.owner).exists() and self._snapshots.is_dir() and self._undos.is_dir()

    def name(self, paths: Iterable[str]) -> None:
        """Remember *paths* as named files."""
        new = set(paths) - self.named
        if new and len(self.named) < MOST_NAMED:
            self.named |= new
            self._write_named()

    def force(self, paths: Iterable[str]) -> frozenset[str]:
        """Remember files that are covered only because they are named; returns all of them."""
        new = set(paths) - self._forced
        if new:
            self._forced |= new
            self._write_named()
        return self._forced

    def write(self, manifest: Manifest) -> Manifest:
        """Write a snapshot under an id that no other kernel's has (counted ids start anew in each process)."""
        number = 0
        while True:
            name = f"{manifest.snapshot.id}-{number}" if number else manifest.snapshot.id
            path = self._snapshots / f"{name}.json"
            if not path.exists():
                break
            number += 1
        written = msgspec.structs.replace(manifest, snapshot=msgspec.structs.replace(manifest.snapshot, id=name))
        write_atomically(path, msgspec.json.encode(written))
        return written

    def read(self, name: str) -> Manifest:
        path = self._snapshots / f"{name}.json"
        record = _decoded(path, Manifest) if path.parent == self._snapshots else None
        if record is None:
            message = f"The snapshot {name} is no longer stored."
            raise ChangesError(message, hint="Its changes can be neither shown nor undone.")
        return record

    def applied(self, changes: Iterable[PathChange]) -> None:
        """Remember the contents of an undo, since they may be in no snapshot."""
        versions = [version for each in changes for version in (each.before, each.after) if version is not None]
        blobs = sorted({each.blob for each in versions if each.blob is not None})
        if blobs:
            path = self._undos / f"{os.urandom(8).hex()}.json"
            write_atomically(path, msgspec.json.encode(Applied(now_ms(), tuple(blobs))))

    def prune(self, keep: set[str]) -> None:
        """Forget snapshots except *keep* and those of other running kernels, and undos older than all that stay."""
        alive = self._other_users()
        oldest = None
        for path, manifest in self._all():
            if manifest is None or (path.stem not in keep and manifest.owner not in alive):
                path.unlink()
            else:
                oldest = min(oldest or manifest.snapshot.taken_at, manifest.snapshot.taken_at)
        self._prune_undos(oldest)

    def drop_oldest(self) -> bool:
        """Forget the older half of the snapshots; returns False if only one is left."""
        records = [(each.snapshot.taken_at, path) for path, each in self._all() if each is not None]
        if len(records) < 2:  # noqa: PLR2004 - nothing to halve
            return False
        records.sort()
        half = len(records) // 2
        for _, path in records[:half]:
            path.unlink()
        self._prune_undos(records[half][0])
        return True

    def roots(self) -> tuple[set[str], set[str]]:
        """Returns the trees and blobs that must be kept."""
        manifests = [each for _, each in self._all() if each is not None]
        blobs = {each.blob for one in manifests for each in one.extras.values() if each.blob is not None}
        for path in self._undos.glob("*.json"):
            blobs |= set((_decoded(path, Applied) or Applied(0, ())).blobs)
        return {each.tree for each in manifests if each.tree}, blobs

    def _prune_undos(self, oldest: int | None) -> None:
        for path in self._undos.glob("*.json"):
            undo = _decoded(path, Applied)
            if undo is None or oldest is None or undo.at < oldest:
                path.unlink()

    def _all(self) -> list[tuple[Path, Manifest | None]]:
        return [(path, _decoded(path, Manifest)) for path in sorted(self._snapshots.glob("*.json"))]

    def _other_users(self) -> set[str]:
        """Returns the store objects of other running processes: each holds a lock as long as it lives."""
        alive = set()
        for path in self._users.iterdir():
            if path.name == self.owner:
                continue
            try:
                descriptor = os.open(path, os.O_RDWR)
            except FileNotFoundError:  # another kernel was faster
                continue
            try:
                if try_lock(descriptor):
                    path.unlink(missing_ok=True)
                else:
                    alive.add(path.name)
            finally:
                os.close(descriptor)
        return alive

    def _write_named(self) -> None:
        record = Named(tuple(sorted(map(path_to_json, self.named))), tuple(sorted(map(path_to_json, self._forced))))
        write_atomically(self._named_file, msgspec.json.encode(record))


def _decoded(path: Path, kind: type[_Record]) -> _Record | None:
    """Returns the decoded file, or None if it is missing or damaged."""
    try:
        return read_record(path.read_bytes(), kind)
    except (FileNotFoundError, ValueError):
        return None
