"""The few calls that change files of the workspace, in one object, and a temporary folder for a store."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from agentnb.changes.coverage import read_file
from agentnb.safe_files import try_lock, write_atomically

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
"""The errors of file systems without hard links."""
PREFIX = "agentnb-changes-"
OWNER = "owner"
ABANDONED_SECONDS = 24 * 3600.0
"""Seconds after which a folder without the file ``owner`` counts as abandoned: its host was killed before creating it,
or a cleaner has removed it. The same holds for a folder without its final name."""


class FileOperations:
    """Calls of the operating system; paths are names in an open folder (``dir_fd``) or absolute."""

    def __init__(self, *, sync: bool = True) -> None:
        self._sync = sync

    def write_new(self, folder: int, name: str, content: bytes, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(name, flags, mode, dir_fd=folder), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            file.flush()
            if self._sync:
                os.fsync(file.fileno())

    def replace_text(self, path: Path, content: bytes) -> None:
        """Write a file of the store atomically."""
        write_atomically(path, content, sync=self._sync)
        self.sync_folder(path.parent)

    def symlink(self, target: bytes, folder: int, name: str) -> None:
        os.symlink(target, os.fsencode(name), dir_fd=folder)

    def rename(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        os.rename(name, other_name, src_dir_fd=folder, dst_dir_fd=other_folder)

    def place(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        """Give a file its final name, which must be free."""
        try:
            self.link(folder, name, other_folder, other_name)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with contextlib.suppress(FileNotFoundError):
                os.lstat(other_name, dir_fd=other_folder)
                raise FileExistsError(other_name) from None
            self.rename(folder, name, other_folder, other_name)
        else:
            self.remove(folder, name)

    def link(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        """Give a file a second name, which must be free."""
        os.link(name, other_name, src_dir_fd=folder, dst_dir_fd=other_folder, follow_symlinks=False)

    def make_folder(self, folder: int, name: str, mode: int = 0o777) -> None:
        os.mkdir(name, mode, dir_fd=folder)

    def remove_folder(self, folder: int, name: str) -> None:
        os.rmdir(name, dir_fd=folder)

    def remove(self, folder: int, name: str) -> None:
        os.unlink(name, dir_fd=folder)

    def forget(self, path: Path) -> None:
        """Remove a file of the store."""
        path.unlink(missing_ok=True)
        self.sync_folder(path.parent)

    def sync_folder(self, folder: Path | int) -> None:
        """Sync *folder*, so that new names in it reach the disk."""
        if not self._sync:
            return
        flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
        descriptor = os.open(folder, flags) if isinstance(folder, Path) else os.open(".", flags, dir_fd=folder)
        try:
            with contextlib.suppress(OSError):  # some file systems cannot sync folders
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_entry(folder: int, name: str, most: int) -> tuple[os.stat_result, bytes | None]:
    """Returns the state and content of a file or link; the content is None above *most* bytes, or for anything else."""
    state = os.lstat(name, dir_fd=folder)
    if stat.S_ISLNK(state.st_mode):
        return state, os.fsencode(os.readlink(name, dir_fd=folder))
    if not stat.S_ISREG(state.st_mode) or state.st_size > most:
        return state, None
    return state, read_file(name, most + 1, folder)


class TemporaryFolder:
    """A temporary folder, created when it is needed.

    Not removed after a kill: folders on Windows and on file systems without locks, since their owner is unknown.
    """

    def __init__(self, within: Path | None = None) -> None:
        self._within = within or Path(tempfile.gettempdir())
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._is_removed = False
        self.path: Path = self._within / f"{PREFIX}{uuid.uuid4().hex}"

    def make(self) -> None:
        """Create the folder if needed, and remove those of hosts that are gone; can be called from any thread."""
        with self._lock:
            if self._owner is not None or self._is_removed:
                return
            new = self.path.with_name(f".{self.path.name}")  # hidden until locked: it must not look unused
            new.mkdir(parents=True, mode=0o700)
            self._owner = os.open(new / OWNER, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
            try_lock(self._owner, without_locks=False)
            new.rename(self.path)
            remove_abandoned(self._within, but=self.path)

    def remove(self) -> None:
        """Remove the folder and everything in it; it is not created again."""
        with self._lock:
            self._is_removed = True
            shutil.rmtree(self.path, ignore_errors=True)
            if self._owner is not None:
                os.close(self._owner)
                self._owner = None


def remove_abandoned(within: Path, *, but: Path) -> None:
    """Remove the folders in *within* that belong to this user and whose hosts are gone."""
    if sys.platform == "win32":
        return
    for path in (*within.glob(f"{PREFIX}*"), *within.glob(f".{PREFIX}*")):
        with contextlib.suppress(OSError):
            state = path.lstat()
            if path != but and state.st_uid == os.getuid() and path.is_dir() and not path.is_symlink():
                _remove_if_abandoned(path, is_old=time.time() - state.st_mtime > ABANDONED_SECONDS)


def _remove_if_abandoned(path: Path, *, is_old: bool) -> None:
    if path.name.startswith(".") and not is_old:
        return
    try:
        owner = os.open(path / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if is_old:
            shutil.rmtree(path, ignore_errors=True)
        return
    try:
        if try_lock(owner, without_locks=False):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(owner)
