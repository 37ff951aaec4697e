"""A workspace of its own for an input: a copy of the folder, and what the agent changed in it."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from agentnb.changes.file_operations import TemporaryFolder
from agentnb.errors import FilesConflict, UsageError
from agentnb.policy.sensitive import holds_secrets
from agentnb.safe_files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_READ = 1 << 20
ISOLATED = "isolated"
"""``cwd=`` of :func:`agentnb.map` for an isolated workspace."""
MOST_FILES = 50_000
MOST_BYTES = 2_000_000_000
LARGEST_KEPT = 1_000_000
"""Bytes of a changed file up to which its content is kept; of larger ones, only the name is."""
MOST_KEPT = 8_000_000
"""Bytes of contents that are kept for an input."""
_LONGEST_DIFF = 200_000
_FICLONE = 0x40049409

_Stamp = tuple[int, int, int]


class WorkspaceChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that an agent changed in a workspace of its own."""

    path: str
    status: Literal["added", "modified", "deleted"]
    diff: str = ""
    content: bytes | None = None
    was: tuple[int, int] | None = None


class IsolatedWorkspace:
    def __init__(self, folder: Path) -> None:
        self._origin = folder
        self._temporary = TemporaryFolder()
        self._temporary.make()
        self.folder: Path = self._temporary.path.resolve() / (folder.name or "folder")
        self._originals: dict[str, tuple[int, int]] = {}
        self._before: dict[str, _Stamp] = {}
        try:
            _check_size(folder)
            self.folder.mkdir()
            self._fill()
        except OSError as error:
            self.remove()
            message = f"{folder} could not be copied: {error.strerror}: {error.filename2 or error.filename}."
            raise UsageError(message, hint="Free up space there, or set TMPDIR to another folder.") from error
        except BaseException:
            self.remove()
            raise

    def changes(self) -> tuple[WorkspaceChange, ...]:
        """Returns the changes to files since they were copied, sorted by name."""
        after = {name: _stamp(status) for name, status in files_below(self.folder) if not name.startswith(".git/")}
        before = {name: stamp for name, stamp in self._before.items() if not name.startswith(".git/")}
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        left = MOST_KEPT
        changes = []
        for name in changed:
            change = self._change(name, left, exists=name in after)
            left -= len(change.content or b"")
            changes.append(change)
        return tuple(each for each in changes if each.status != "modified" or each.diff or not self._is_same(each))

    def remove(self) -> None:
        self._temporary.remove()

    def renew(self) -> None:
        """Copy the folder again into the same place, discarding what was done there."""
        for entry in self.folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self._originals.clear()
        self._before.clear()
        self._fill()

    def _fill(self) -> None:
        for name, status in files_below(self._origin, with_folders=True):
            source, target = self._origin / name, self.folder / name
            if stat.S_ISDIR(status.st_mode):
                target.mkdir()
                continue
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                _copy_file(source, target, is_link=stat.S_ISLNK(status.st_mode))
                self._originals[name] = (status.st_size, status.st_mtime_ns)
                self._before[name] = _stamp(target.lstat())

    def _change(self, name: str, left: int, *, exists: bool) -> WorkspaceChange:
        was = self._originals.get(name)
        if holds_secrets(name):
            left = -1  # its content must not be sent
        old = b"" if was is None else _content(self._origin / name, min(LARGEST_KEPT, left))
        if not exists:
            return WorkspaceChange(path=name, status="deleted", diff=_diff(name, old, b""), was=was)
        new = _content(self.folder / name, min(LARGEST_KEPT, left))
        diff = _diff(name, old, new)
        return WorkspaceChange(
            path=name, status="added" if was is None else "modified", diff=diff, content=new, was=was
        )

    def _is_same(self, change: WorkspaceChange) -> bool:
        """True if a file was written but has its original content."""
        return change.content is not None and change.content == _content(self._origin / change.path, LARGEST_KEPT)


def put_into(folder: Path, changes: Sequence[WorkspaceChange]) -> tuple[str, ...]:
    """Make *changes* in *folder*, all or none; returns the names of the files."""
    root = folder.resolve()
    for each in changes:
        target = root / each.path
        if Path(each.path).is_absolute() or root not in (root / os.path.normpath(each.path)).parents:
            raise UsageError(f"{each.path!r} is not in {root}.", hint="Nothing was written.")
        if root != target.parent.resolve() and root not in target.parent.resolve().parents:
            raise UsageError(f"{each.path!r} leads out of {root} by a link.", hint="Nothing was written.")
        if each.status != "deleted" and each.content is None:
            raise UsageError(f"The content of {each.path!r} was too large to keep.", hint="Nothing was written.")
    conflicts = [each.path for each in changes if size_and_time(root / each.path) != each.was]
    if conflicts:
        raise FilesConflict(
            f"Changed since the copy was made: {', '.join(conflicts[:8])}. Nothing was written.",
            hint="result.changes has the diffs.",
        )
    for each in changes:
        target = root / each.path
        if each.content is None or each.status == "deleted":
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
            write_atomically(target, each.content, mode=mode)
    return tuple(each.path for each in changes)


def _check_size(folder: Path) -> None:
    number = size = 0
    for _, status in files_below(folder):
        number, size = number + 1, size + status.st_size
        if number > MOST_FILES or size > MOST_BYTES:
            raise UsageError(
                f"{folder} is too large to be copied for each input: more than {MOST_FILES:,} files or 2 GB.",
                hint='Change to a smaller folder, or leave out cwd="isolated".',
            )


def files_below(folder: Path, *, with_folders: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """Yields files and links below *folder*, by their relative names; pipes and devices are left out."""
    folders = [""]
    while folders:
        inside = folders.pop()
        try:
            entries = sorted(os.scandir(folder / inside), key=lambda entry: entry.name)
        except OSError as error:
            if not inside:
                raise UsageError(f"{folder} cannot be read: {error}.", hint="Change to another folder.") from error
            continue
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                name = f"{inside}{entry.name}"
                if stat.S_ISDIR(status.st_mode):
                    folders.append(f"{name}/")
                    if with_folders:
                        yield name, status
                elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    yield name, status


def _copy_file(source: Path, target: Path, *, is_link: bool) -> None:
    if is_link:
        target.symlink_to(os.readlink(source))  # noqa: PTH115 - as it stands
        return
    try:
        if not _share_blocks(source, target):
            shutil.copyfile(source, target)
        shutil.copystat(source, target)
    except PermissionError:  # the agent cannot read it, either
        target.unlink(missing_ok=True)
        raise FileNotFoundError(source) from None


def _share_blocks(source: Path, target: Path) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    with source.open("rb") as old, target.open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            return False
    return True


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def size_and_time(path: Path) -> tuple[int, int] | None:
    """Returns the size of the file *path* and when it was changed, in nanoseconds; None if there is no such file."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size, status.st_mtime_ns


def hash_of(path: Path) -> str:
    """Returns the hash of a file's content; '' if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(_READ):
                digest.update(data)
    except OSError:
        return ""
    return digest.hexdigest()


def _content(path: Path, largest: int) -> bytes | None:
    """Returns the content of a file; None if it is not a regular file, or is larger than *largest*."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= largest:
            return path.read_bytes()
    return None


def _diff(name: str, old: bytes | None, new: bytes | None) -> str:
    try:
        before, after = ((b"" if each is None else each).decode().splitlines(keepends=True) for each in (old, new))
    except UnicodeDecodeError:
        return ""
    if old is None or new is None:
        return ""
    diff = "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))
    return diff if len(diff) <= _LONGEST_DIFF else ""
