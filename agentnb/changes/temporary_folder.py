"""A folder for stores that go with their host; where that is killed, the next one that needs a folder removes it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from agentnb.file_lock import try_lock

PREFIX = "agentnb-changes-"
OWNER = "owner"
ABANDONED_SECONDS = 24 * 3600.0
"""After this time a folder without the file ``owner`` is nobody's: its host was killed before it had made one, or
something that tidies up has removed the file. So is a folder that has not got its name yet."""


class TemporaryFolder:
    """One folder; made when it is needed.

    Not removed after a kill: folders on Windows and on file systems without locks, since nobody knows whose they are.
    """

    def __init__(self, within: Path | None = None) -> None:
        self._within = within or Path(tempfile.gettempdir())
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._is_removed = False
        self.path: Path = self._within / f"{PREFIX}{uuid.uuid4().hex}"

    def make(self) -> None:
        """Make it, where it is not there, and remove those of hosts that are gone; from any thread."""
        with self._lock:
            if self._owner is not None or self._is_removed:
                return
            new = self.path.with_name(f".{self.path.name}")  # until it is locked: nobody else must think it free
            new.mkdir(parents=True, mode=0o700)
            self._owner = os.open(new / OWNER, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
            try_lock(self._owner, without_locks=False)
            new.rename(self.path)
            remove_abandoned(self._within, but=self.path)

    def remove(self) -> None:
        """Remove it with all that is in it; it is not made again."""
        with self._lock:
            self._is_removed = True
            shutil.rmtree(self.path, ignore_errors=True)
            if self._owner is not None:
                os.close(self._owner)
                self._owner = None


def remove_abandoned(within: Path, *, but: Path) -> None:
    """Remove the folders in *within* whose hosts are gone, as far as they are this user's."""
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
