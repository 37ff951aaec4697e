"""Stored contents: one compressed file each, named by git's hash of the content (SHA-1 of a header and the content)."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import ChangesError, ContentNotStored

if TYPE_CHECKING:
    from collections.abc import Callable

_FOLDER, _FILE = 0o700, 0o400
_HEADER = re.compile(rb"[a-z]+ ([0-9]{1,18})\0")
_LONGEST_HEADER = 32


def blob_id(content: bytes) -> str:
    """Returns the name of *content*, the same as ``git hash-object`` gives it."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


class ObjectFolder:
    """A folder of stored contents; *elsewhere* reads those that have no file in it."""

    def __init__(self, folder: Path, elsewhere: Callable[[str], bytes | None] = lambda _: None) -> None:
        self.folder = folder
        self._elsewhere = elsewhere

    def write(self, content: bytes) -> str:
        return self._write(b"blob", content)

    def write_empty_tree(self) -> str:
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
        files = self.folder.glob("??/*")  # folders are named for the first byte of the hash
        return [f"{each.parent.name}{each.name}" for each in files if not each.name.startswith("new-")]

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
