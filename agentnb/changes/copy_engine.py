"""Snapshots without git: every changed file is copied, compressed, and named by a hash of its content."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agentnb.changes.coverage import (
    ENVIRONMENT_MARKS,
    KnownFile,
    TooSlow,
    file_mode,
    first_spellings,
    ignores_case,
    is_left_out_name,
    is_settled,
    read_file,
    signature,
)
from agentnb.changes.ignore import MOST_BYTES, IgnoreRule, decide, read_rules
from agentnb.changes.model import FileVersion, folders_above, path_from_json, path_to_json
from agentnb.changes.objects import ObjectFolder, blob_id
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.changes.coverage import Signature, WorkspaceLook
    from agentnb.changes.model import Differences


_SETTLED_NS = 2_000_000_000  # a folder changed this recently may change again without a new modification time
MOST_FILES = 20_000  # the most files in a workspace; with more, only named files are covered


class IgnoreRules(NamedTuple):
    """The ignore rules of a folder: its own, after those of the folders above."""

    above: IgnoreRules | None
    folder: str
    rules: tuple[IgnoreRule, ...]

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """True if *path* is ignored, given that the folders above it are not."""
        here: IgnoreRules | None = self
        while here is not None:
            inside = path[len(here.folder) + 1 :] if here.folder else path
            decision = decide(here.rules, inside, is_folder=is_folder) if here.rules else None
            if decision is not None:
                return decision
            here = here.above
        return False


@dataclass
class Listed:
    """The entries of a folder when it was last listed."""

    signature: Signature
    listed_at: int
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    is_empty: bool = False
    has_rules: bool = False
    is_environment: bool = False
    is_cut: bool = False  # True if it has more than were listed
    rules: IgnoreRules | None = None
    rules_signature: Signature = ()
    kept: tuple[str, ...] | None = None  # its folders that are not ignored by `rules`


@dataclass
class Scan:
    empty: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    is_cut: bool = False


class FolderScan:
    """Walks the folders of one workspace; from one walk to the next it remembers them, so that few are read again."""

    def __init__(self, workspace: Path) -> None:
        self._root = os.fspath(workspace)
        self._listed: dict[str, Listed] = {}
        self._top = IgnoreRules(None, "", ())

    def walk(self, look: WorkspaceLook, *, exclude: tuple[IgnoreRule, ...] = (), weigh: bool = False) -> Scan:
        """Walk the folders; list in *look* what is not covered."""
        scan = Scan()
        for path, listed in self._folders(look, exclude):
            scan.files += len(listed.files)
            if weigh:
                scan.bytes += self._weight(path, listed, look.limits.file_bytes)
            for name in listed.special:
                look.verdict(f"{path}/{name}" if path else name)
            if path and listed.is_empty:
                scan.empty.append(path)
            if listed.is_cut or scan.files > look.limits.files or scan.bytes > look.limits.bytes:
                scan.is_cut = True
                break
        return scan

    def files(self, look: WorkspaceLook, exclude: tuple[IgnoreRule, ...]) -> Iterator[str]:
        """Yields every file and link that is not ignored, without a limit: call `walk` first."""
        for path, listed in self._folders(look, exclude):
            rules = listed.rules
            for name in listed.files:
                inside = f"{path}/{name}" if path else name
                if rules is None or not rules.ignores(inside, is_folder=False):
                    yield inside

    def _folders(self, look: WorkspaceLook, exclude: tuple[IgnoreRule, ...]) -> Iterator[tuple[str, Listed]]:
        device = os.lstat(self._root).st_dev
        if self._top.rules != exclude:
            self._top = IgnoreRules(None, "", exclude)
        waiting = [("", self._top)]
        known, self._listed = self._listed, {}
        until = time.monotonic() + look.limits.seconds
        while waiting:
            if time.monotonic() > until:
                raise TooSlow(look.limits.seconds)
            path, above = waiting.pop()
            listed = self._list(path, known.get(path), look, device)
            if listed is None:
                continue
            self._listed[path] = listed
            if listed.is_environment and path:
                look.environments.add(f"{path}/")
                continue
            self._read_rules(path, listed, above)
            yield path, listed
            assert listed.kept is not None  # noqa: S101 - the line before set it
            rules = listed.rules or above
            waiting += [(f"{path}/{name}" if path else name, rules) for name in reversed(listed.kept)]

    def _list(self, path: str, known: Listed | None, look: WorkspaceLook, device: int) -> Listed | None:
        """Returns the entries of a folder, or None if it is not covered."""
        full = f"{self._root}/{path}" if path else self._root
        try:
            state = os.lstat(full)
            if state.st_dev != device:
                look.leave(path, "other file system", "It is on another file system.")
                look.mounted.add(f"{path}/")
                return None
            if not stat.S_ISDIR(state.st_mode):
                return None
            now = signature(state)
            is_old = known is not None and now[0] < known.listed_at - max(_SETTLED_NS, look.clock_ns)
            if known is not None and known.signature == now and is_old:
                return known
            return _listing(full, Listed(now, time.time_ns()), look.limits.files)
        except FileNotFoundError:
            return None
        except OSError as error:
            if not path:
                raise
            look.leave(path, "unreadable", f"The folder cannot be read: {error.strerror}.")
            return None

    def _read_rules(self, path: str, listed: Listed, above: IgnoreRules) -> None:
        """Update a folder's rules, and which of its folders are not ignored."""
        place = f"{self._root}/{path}/.gitignore" if path else f"{self._root}/.gitignore"
        now: Signature = ()
        if listed.has_rules:
            try:
                now = signature(os.lstat(place))
            except OSError:
                listed.has_rules = False
        same = listed.rules is not None and listed.rules_signature == now
        if same and listed.rules is not None and (listed.rules is above or listed.rules.above is above):
            return
        listed.rules_signature = now
        listed.rules = above
        if listed.has_rules:
            try:
                text = os.fsdecode(read_file(place, MOST_BYTES))
            except OSError:  # a link: git does not follow it either
                text = ""
            listed.rules = IgnoreRules(above, path, read_rules(text))
        listed.kept = tuple(
            name
            for name in sorted(listed.folders)
            if not is_left_out_name(name)
            and not listed.rules.ignores(f"{path}/{name}" if path else name, is_folder=True)
        )

    def _weight(self, path: str, listed: Listed, most: int) -> int:
        total = 0
        for name in listed.files:
            try:
                size = os.lstat(f"{self._root}/{path}/{name}").st_size
            except OSError:
                continue
            total += size if size <= most else 0
        return total


def _listing(full: str, listed: Listed, most: int) -> Listed:
    """List a folder, up to one file more than the whole workspace may have."""
    folders, files, special = [], [], []
    with os.scandir(full) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                files.append(entry.name)
            else:
                special.append(entry.name)
            if len(files) + len(folders) + len(special) > most:
                listed.is_cut = True
                break
    listed.folders = tuple(folders)
    listed.files = tuple(each for each in files if each != ".git")
    listed.special = tuple(special)
    listed.is_empty = not (files or folders or special)
    listed.has_rules = os.path.lexists(f"{full}/.gitignore") if listed.is_cut else ".gitignore" in files
    if listed.is_cut:
        listed.is_environment = any(os.path.lexists(f"{full}/{each}") for each in ENVIRONMENT_MARKS)
    else:
        listed.is_environment = any(each in files or each in folders for each in ENVIRONMENT_MARKS)
    return listed


class CopyEngine:
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
        """Store what changed since the last tree; returns the name of the current tree."""
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
        if before == after:
            return {}
        old, new = self._tree(before), self._tree(after)
        return {
            path: (old.get(path), new.get(path)) for path in old.keys() | new.keys() if old.get(path) != new.get(path)
        }

    def find(self, tree: str, paths: Iterable[str]) -> dict[str, FileVersion]:
        """Returns the versions in *tree* of *paths*, and of everything below them."""
        wanted = frozenset(paths)
        entries = self._tree(tree).items()
        return {
            path: version for path, version in entries if path in wanted or wanted.intersection(folders_above(path))
        }

    def folders(self, tree: str, paths: Iterable[str]) -> frozenset[str]:
        """Returns which of *paths* are folders with files in *tree*."""
        return frozenset(paths).intersection(above for path in self._tree(tree) for above in folders_above(path))

    def keep(self, trees: Iterable[str], blobs: Iterable[str]) -> None:
        """Remove all content except that of *trees*, *blobs* and the last tree."""
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
        """Returns the version of a file; reads it only if the file system says that it changed."""
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
