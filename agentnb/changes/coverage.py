"""Decides which files snapshots cover: all except ignored files, environments, caches, and files listed as not covered.

Not checked: whether the project's repository tracks a file. If its ``.gitignore`` matches the file, it counts as
ignored here; the user's own ignore file (``core.excludesFile``) does not count.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.changes.ignore import IgnoreRule, is_ignored
from agentnb.changes.model import FileVersion, NotCovered, Why, path_to_json
from agentnb.errors import ChangesUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

Verdict: TypeAlias = Literal["store", "skip", "unknown", "gone"]
Signature: TypeAlias = tuple[int, ...]
_SETTLED_NS = 50_000_000  # a file changed this recently may have changed again without a new modification time
_SETTLED_COARSE_NS = 2_000_000_000  # the same, for file times in whole seconds

VARIABLE = "AGENTNB_CHANGES_MAX"
LEFT_OUT = (
    *(".git", ".hg", ".svn", ".jj", ".bzr", "CVS"),
    *(".venv", "venv", ".venv-*", ".pixi", ".conda", ".tox", ".nox", ".direnv", ".eggs"),
    *("node_modules", "bower_components"),
    *("__pycache__", ".ipynb_checkpoints", ".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"),
    *(".parcel-cache", ".gradle", ".terraform", ".Trash", ".Trash-*", ".virtual_documents"),
)
"""Names of folders that are left out unless a file in them is named: environments, caches, data of version control."""

PENDING = ".agentnb-pending-"
"""The prefix of the folder that holds files being written; a killed kernel may leave one until the next start."""

ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")  # they mark a folder as an environment, whatever its name

_LISTED = 100
_NAMES = frozenset(each for each in LEFT_OUT if "*" not in each)
_BEGINNINGS = (*(each[:-1] for each in LEFT_OUT if each.endswith("*")), PENDING)
_KINDS: tuple[tuple[Callable[[int], bool], Why, str], ...] = (
    (stat.S_ISSOCK, "socket", "It is a socket."),
    (stat.S_ISFIFO, "pipe", "It is a named pipe."),
    (stat.S_ISCHR, "device", "It is a device."),
    (stat.S_ISBLK, "device", "It is a device."),
)
_LONGEST_NAME = 4_096  # the longest path, in bytes: Linux opens no longer one


@dataclass(frozen=True, kw_only=True)
class SnapshotLimits:
    """The limits of a snapshot: files, bytes and seconds."""

    files: int = 100_000
    bytes: int = 2 * 1024**3
    file_bytes: int = 20 * 1024**2
    seconds: float = 120.0
    sensitive_files: int = 2_000
    store_bytes: int = 4 * 1024**3
    lock_seconds: float = 30.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> SnapshotLimits:
        """Returns the limits; ``AGENTNB_CHANGES_MAX`` sets the store's size in bytes, or with the suffix K, M or G."""
        limit = environ.get(VARIABLE, "").strip().upper().removesuffix("B")
        number, unit = (limit[:-1], "KMG".find(limit[-1]) + 1) if limit[-1:] in {"K", "M", "G"} else (limit, 0)
        return cls(store_bytes=int(number) * 1024**unit) if number.isdecimal() else cls()


class TooSlow(ChangesUnavailable):
    def __init__(self, seconds: float) -> None:
        super().__init__(f"Scanning the workspace took longer than {seconds:.0f} seconds.")


def is_left_out(path: str) -> bool:
    """True if a part of *path* is named like an environment, a cache or a repository's own data."""
    return any(map(is_left_out_name, path.split("/")))


def is_left_out_name(name: str) -> bool:
    return name in _NAMES or name.startswith(_BEGINNINGS)


def signature(state: os.stat_result) -> Signature:
    """Returns the times, size and inode of a file: while they are the same, its content is taken to be the same."""
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino, state.st_mode)


def is_settled(known: Signature, read_at: int, clock_ns: int = 0) -> bool:
    """True if any change to the file after it was read must have changed its signature."""
    changed = max(known[:2])
    margin = _SETTLED_NS if changed % 1_000_000_000 else _SETTLED_COARSE_NS
    return changed < read_at - max(margin, clock_ns)


class KnownFile(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was last read."""

    version: FileVersion
    signature: Signature
    read_at: int


@dataclass
class WorkspaceLook:
    """One look at the workspace: decides about each path, and collects what no engine stores."""

    workspace: Path
    limits: SnapshotLimits
    is_sensitive: Callable[[str], bool]
    digest: Callable[[bytes], str]
    named: frozenset[str] = frozenset()
    clock_ns: int = 0
    own: tuple[IgnoreRule, ...] = ()
    known: dict[str, KnownFile] = field(default_factory=dict)
    extras: dict[str, FileVersion] = field(default_factory=dict)
    listed: dict[str, NotCovered] = field(default_factory=dict)
    not_listed: int = 0
    environments: set[str] = field(default_factory=set)
    mounted: set[str] = field(default_factory=set)
    forced: set[str] = field(default_factory=set)
    empty: list[str] = field(default_factory=list)
    _behind_links: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._device = self.workspace.lstat().st_dev
        self._root = os.fspath(self.workspace)

    def verdict(self, path: str) -> Verdict:
        """Decides if the engine stores *path*, skips it, keeps its known version, or, if it does not exist, forgets it.

        A path behind a link is not in the workspace, even if its name is: a folder may have become a link.
        """
        if self._is_behind_link(os.path.dirname(path)):  # noqa: PTH120 - a Path takes longer
            return "gone"
        try:
            state = os.lstat(f"{self._root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError as error:
            return self.unreadable(path, error)
        return "skip" if self._is_left_out(path) else self._kind(path, state)

    def _is_behind_link(self, folder: str) -> bool:
        unknown: list[str] = []
        while folder and folder not in self._behind_links:
            unknown.append(folder)
            folder = os.path.dirname(folder)  # noqa: PTH120 - a Path takes longer
        is_behind = self._behind_links.get(folder, False)
        for each in reversed(unknown):
            is_behind = is_behind or os.path.islink(f"{self._root}/{each}")  # noqa: PTH114 - as above
            self._behind_links[each] = is_behind
        return is_behind

    def _kind(self, path: str, state: os.stat_result) -> Verdict:
        if ".git" in path.lower().split("/"):
            return self.leave(path, "name", "Git reserves this name.")
        if state.st_dev != self._device:
            return self.leave(path, "other file system", "It is on another file system.")
        if stat.S_ISLNK(state.st_mode):
            return "store"
        if stat.S_ISREG(state.st_mode):
            return self._file(path, state)
        for is_kind, why, detail in _KINDS:
            if is_kind(state.st_mode):
                return self.leave(path, why, detail)
        return "gone"

    def unreadable(self, path: str, error: OSError) -> Literal["unknown"]:
        """List *path* as unreadable: nothing is known about it, so it counts as unchanged."""
        self.leave(path, "unreadable", f"It cannot be read: {error.strerror or error}.")
        return "unknown"

    def leave(self, path: str, why: Why, detail: str) -> Literal["skip"]:
        """List *path* as not covered."""
        if path in self.listed or len(self.listed) < _LISTED:
            self.listed.setdefault(path, NotCovered(path=path_to_json(path), why=why, detail=detail))
        else:
            self.not_listed += 1
        return "skip"

    def _is_left_out(self, path: str) -> bool:
        if self.own and is_ignored(self.own, path):
            return True
        if path in self.named:
            return False
        return is_left_out(path) or any(path.startswith(each) for each in self.environments)

    def _file(self, path: str, state: os.stat_result) -> Verdict:
        if state.st_size > self.limits.file_bytes:
            digest = f"unread:{state.st_size}:{state.st_mtime_ns}"
            self.extras[path] = FileVersion(digest=digest, mode=file_mode(state), size=state.st_size)
            limit = self.limits.file_bytes // 1024**2
            return self.leave(path, "large", f"It is larger than {limit} MB; its contents are not stored.")
        if self.is_sensitive(path):
            return self._sensitive(path, state)
        if not os.access(f"{self._root}/{path}", os.R_OK):
            return self.unreadable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        return "store"

    def _sensitive(self, path: str, state: os.stat_result) -> Verdict:
        seen = self.known.get(path)
        is_same = seen is not None and seen.signature == signature(state)
        if seen is None or not is_same or not is_settled(seen.signature, seen.read_at, self.clock_ns):
            if len(self.extras) >= self.limits.sensitive_files:
                return self.leave(path, "outside limit", "There are too many sensitive files to check each one.")
            read_at = time.time_ns()
            try:
                content = read_file(f"{self._root}/{path}", self.limits.file_bytes)
            except OSError as error:
                return self.unreadable(path, error)
            version = FileVersion(digest=self.digest(content), mode=file_mode(state), size=len(content))
            self.known[path] = seen = KnownFile(version, signature(state), read_at)
        self.extras[path] = seen.version
        return "skip"


def file_mode(state: os.stat_result) -> Literal["file", "executable"]:
    """``executable`` if the owner of a file may run it, else ``file``."""
    return "executable" if state.st_mode & stat.S_IXUSR else "file"


def read_file(path: str, most: int, folder: int | None = None) -> bytes:
    """Returns a regular file's content, at most *most* bytes; follows no link and does not wait for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123 - a descriptor
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return file.read(min(most, state.st_size + 4096))


def normal_names(workspace: Path, named: Iterable[str]) -> frozenset[str]:
    """Returns *named* relative to *workspace*, dropping paths outside it, in ``.git``, or that name no file."""
    names = set()
    root = os.fspath(workspace)
    for each in filter(is_file_name, named):
        path = os.path.relpath(os.path.join(root, each), root)  # noqa: PTH118 - names with undecodable bytes
        parts = PurePath(path).parts
        if path != "." and parts[0] != ".." and not any(part.lower() == ".git" for part in parts):
            names.add("/".join(parts))
    return frozenset(names)


def is_file_name(path: str) -> bool:
    """True if a file may have the name *path*: agents send any names, and programs refuse invalid ones."""
    try:
        name = os.fsencode(path)
        return 0 < len(name) <= _LONGEST_NAME and b"\0" not in name
    except UnicodeEncodeError:
        return False


def ignores_case(workspace: Path) -> bool:
    """True if the file system treats ``A`` and ``a`` as one name, as far as the workspace's own name tells."""
    name = workspace.name.swapcase()
    try:
        return name != workspace.name and workspace.with_name(name).samefile(workspace)
    except OSError:
        return False


def first_spellings(paths: Iterable[str]) -> list[str]:
    """Returns *paths* without those that differ from an earlier one only in case: one file if names ignore case."""
    spellings: dict[str, str] = {}
    for path in paths:
        spellings.setdefault(path.casefold(), path)
    return list(spellings.values())
