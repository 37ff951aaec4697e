"""Walks the workspace's folders: finds empty folders, what is no file, environments, and how much there is."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from agentnb.changes.coverage import ENVIRONMENT_MARKS, TooSlow, is_left_out_name, read_file, signature
from agentnb.changes.ignore import MOST_BYTES, IgnoreRule, decide, read_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentnb.changes.coverage import Signature, WorkspaceLook

_SETTLED_NS = 2_000_000_000  # a folder that changed so lately may change again without another time


class IgnoreRules(NamedTuple):
    """The ignore rules that hold in a folder: its own, behind those of the folders above."""

    above: IgnoreRules | None
    folder: str
    rules: tuple[IgnoreRule, ...]

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """True if *path*, whose folders are not ignored, is."""
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
    """The entries of a folder, as it was listed last."""

    signature: Signature
    listed_at: int
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    is_empty: bool = False
    has_rules: bool = False
    is_environment: bool = False
    is_cut: bool = False
    """True if it has more than were listed."""
    rules: IgnoreRules | None = None
    rules_signature: Signature = ()
    kept: tuple[str, ...] | None = None
    """Its folders that are not ignored, by :attr:`rules`."""


@dataclass
class Scan:
    """The result of one walk."""

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
        """Walk the folders; what is not covered goes into *look*."""
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
        """Every file and link that is not ignored, without a limit: walk first."""
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
        """Returns what a folder has; None where it is not covered."""
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
        """Bring a folder's rules and its folders that are not ignored up to date."""
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
            except OSError:  # a link, as for git
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
    """List a folder; no further than one file more than the whole workspace may have."""
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
    found = _marks(full) if listed.is_cut else (*files, *folders)
    listed.is_environment = any(each in ENVIRONMENT_MARKS for each in found)
    return listed


def _marks(full: str) -> Iterator[str]:
    return (each for each in ENVIRONMENT_MARKS if os.path.lexists(f"{full}/{each}"))
