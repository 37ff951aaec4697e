"""Snapshots without git: every file that changed is copied, compressed, under the name of its content."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec

from agentnb.atomic_write import write_atomically
from agentnb.changes.coverage import (
    KnownFile,
    TooSlow,
    file_mode,
    first_spellings,
    ignores_case,
    is_settled,
    read_file,
    signature,
)
from agentnb.changes.ignore import read_rules
from agentnb.changes.model import FileVersion, folders_above, path_from_json, path_to_json
from agentnb.changes.objects import ObjectFolder, blob_id
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.changes.coverage import WorkspaceLook
    from agentnb.changes.folder_scan import FolderScan
    from agentnb.changes.model import Differences

MOST_FILES = 20_000
"""Files of a workspace; with more, only named files are covered."""


class CopyEngine:
    """Stores snapshots as copies."""

    name = "copy"

    def __init__(self, folder: Path, workspace: Path, scan: FolderScan) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root = os.fspath(workspace)
        self._scan = scan
        self._ignores_case = ignores_case(workspace)
        self.reading: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
        self.objects: ObjectFolder = ObjectFolder(folder / "objects")
        self._trees = ObjectFolder(folder / "trees")
        self._index = folder / "index.json"
        self._known = self._read_index()
        self._cache: tuple[str, dict[str, FileVersion]] = ("", {})
        self._last: str | None = None

    @property
    def files(self) -> int:
        """Returns how many files the last tree has."""
        return len(self._known)

    def refresh(self, look: WorkspaceLook, excludes: str, *, tracked_only: bool = False) -> str:
        """Store what changed since the last tree; give the name of the tree of what there is now."""
        paths: dict[str, None] = dict.fromkeys(self._known)
        if not tracked_only:
            paths |= dict.fromkeys(self._scan.files(look, read_rules(excludes)))
        forced = look.named - paths.keys()
        now: dict[str, KnownFile] = {}
        until = time.monotonic() + look.limits.seconds
        names = [*paths, *sorted(forced)]
        for path in first_spellings(names) if self._ignores_case else names:
            verdict = look.verdict(path)
            if verdict not in {"store", "unknown"}:
                continue
            known = self._look_at(path, look) if verdict == "store" else self._known.get(path)
            if known is not None:
                now[path] = known
                if path in forced:
                    look.forced.add(path)
            if time.monotonic() > until:
                raise TooSlow(look.limits.seconds)
        if self._last is None or now != self._known:
            self._known = now
            raw = msgspec.json.encode({path_to_json(path): each for path, each in now.items()})
            write_atomically(self._index, raw)
            tree = {path_to_json(path): now[path].version for path in sorted(now)}
            self._last = self._trees.write(msgspec.json.encode(tree))
        return self._last

    def differences(self, before: str, after: str) -> Differences:
        """The files that two trees have in different versions."""
        if before == after:
            return {}
        old, new = self._tree(before), self._tree(after)
        return {
            path: (old.get(path), new.get(path)) for path in old.keys() | new.keys() if old.get(path) != new.get(path)
        }

    def find(self, tree: str, paths: Iterable[str]) -> dict[str, FileVersion]:
        """The versions that *tree* has of *paths*, and of what is below them."""
        wanted = frozenset(paths)
        entries = self._tree(tree).items()
        return {
            path: version for path, version in entries if path in wanted or wanted.intersection(folders_above(path))
        }

    def folders(self, tree: str, paths: Iterable[str]) -> frozenset[str]:
        """Returns which of *paths* are folders with files in *tree*."""
        return frozenset(paths).intersection(above for path in self._tree(tree) for above in folders_above(path))

    def keep(self, trees: Iterable[str], blobs: Iterable[str]) -> None:
        """Forget all content but that of *trees* and *blobs*, and of the last tree."""
        kept_trees = set(trees)
        kept = set(blobs) | {each.version.blob for each in self._known.values()}
        for tree in kept_trees:
            kept |= {each.blob for each in self._tree(tree).values()}
        for name in self._trees.names():
            if name not in kept_trees and name != self._last:
                self._trees.remove(name)
        for name in self.objects.names():
            if name not in kept:
                self.objects.remove(name)

    def _look_at(self, path: str, look: WorkspaceLook) -> KnownFile | None:
        """The version of one file, read only where the file system says that it changed."""
        full = f"{self._root}/{path}"
        try:
            state = os.lstat(full)
            known = self._known.get(path)
            if known is not None and known.signature == signature(state):  # noqa: SIM102 - two questions
                if is_settled(known.signature, known.read_at, look.clock_ns):
                    return known
            read_at = time.time_ns()
            if stat.S_ISLNK(state.st_mode):
                content = os.readlink(os.fsencode(full))  # noqa: PTH115 - undecodable bytes
            else:
                content = read_file(full, look.limits.file_bytes + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            look.unreadable(path, error)
            return self._known.get(path)
        name = blob_id(content)
        if known is None or known.version.blob != name:
            self.objects.write(content)
        mode = "link" if stat.S_ISLNK(state.st_mode) else file_mode(state)
        return KnownFile(FileVersion(blob=name, digest=name, mode=mode, size=len(content)), signature(state), read_at)

    def _tree(self, name: str) -> dict[str, FileVersion]:
        if self._cache[0] != name:
            tree = read_record(self._trees.read(name), dict[str, FileVersion])
            self._cache = (name, {path_from_json(path): each for path, each in tree.items()})
        return self._cache[1]

    def _read_index(self) -> dict[str, KnownFile]:
        try:
            index = read_record(self._index.read_bytes(), dict[str, KnownFile])
        except (FileNotFoundError, ValueError):
            return {}
        return {path_from_json(path): each for path, each in index.items()}
