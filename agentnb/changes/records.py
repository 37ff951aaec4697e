"""The records of a store beside its contents: its snapshots, named files, what undos wrote, and who uses it."""

from __future__ import annotations

import contextlib
import itertools
import os
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agentnb.changes.comparison import Manifest
from agentnb.changes.coverage import is_file_name
from agentnb.changes.model import path_from_json, path_to_json
from agentnb.clock import now_ms
from agentnb.errors import ChangesError
from agentnb.safe_files import try_lock, write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentnb.changes.model import PathChange


_Record = TypeVar("_Record", bound=msgspec.Struct)

MOST_NAMED = 5_000
"""Named files that are remembered; later ones count only in the snapshot that they were named for."""


class Named(msgspec.Struct, frozen=True):
    """Named files; paths are in the form for JSON."""

    named: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()


class Applied(msgspec.Struct, frozen=True):
    at: int
    blobs: tuple[str, ...]


class SnapshotRecords:
    """The records in a store's folder; callers must hold its lock, except for :meth:`read`."""

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
        # Version 0.2 and earlier also wrote names that no file can have.
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
        first = manifest.snapshot.id
        names = (f"{first}-{number}" if number else first for number in itertools.count())
        name = next(each for each in names if not self._path(each).exists())
        written = msgspec.structs.replace(manifest, snapshot=msgspec.structs.replace(manifest.snapshot, id=name))
        write_atomically(self._path(name), msgspec.json.encode(written))
        return written

    def read(self, name: str) -> Manifest:
        path = self._path(name)
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

    def _path(self, name: str) -> Path:
        return self._snapshots / f"{name}.json"

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
