"""File operations that stop at a chosen one, as a killed process or a full disk does."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from agentnb.changes.file_operations import FileOperations


class Killed(BaseException):
    """The process ended here: no ``except`` and no ``finally`` may change a file after it."""


class InterruptedFiles(FileOperations):
    """Stops at an operation."""

    def __init__(self, at: int, *, full: bool = False, half: bool = False) -> None:
        super().__init__(sync=False)
        self.left = at
        self.full = full
        self.half = half

    def _count(self) -> None:
        self.left -= 1
        if self.full and self.left == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not self.full and self.left < 0:
            raise Killed

    def _ended(self, name: str, *arguments: Any) -> None:
        if self.half and not self.full and self.left == 0:
            getattr(FileOperations, name)(self, *arguments)
            self.left = -1
            raise Killed
        self._count()
        getattr(FileOperations, name)(self, *arguments)

    def write_new(self, folder: int, name: str, content: bytes, mode: int) -> None:
        self._ended("write_new", folder, name, content, mode)

    def replace_text(self, path: Path, content: bytes) -> None:
        self._ended("replace_text", path, content)

    def symlink(self, target: bytes, folder: int, name: str) -> None:
        self._ended("symlink", target, folder, name)

    def rename(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        self._ended("rename", folder, name, other_folder, other_name)

    def link(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        self._ended("link", folder, name, other_folder, other_name)

    def make_folder(self, folder: int, name: str, mode: int = 0o777) -> None:
        self._ended("make_folder", folder, name, mode)

    def remove_folder(self, folder: int, name: str) -> None:
        self._ended("remove_folder", folder, name)

    def remove(self, folder: int, name: str) -> None:
        self._ended("remove", folder, name)

    def forget(self, path: Path) -> None:
        self._ended("forget", path)
