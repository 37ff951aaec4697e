"""Unpacks wheels, source distributions and zipped eggs.

It counts the bytes that it writes, so that a small archive cannot fill the disk.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 1024 * 1024 * 1024
"""Bytes that an archive may unpack to."""
MOST_ENTRIES = 100_000
LONGEST_NAME = 1_000
_PIECE = 1024 * 1024


def unpacked(archive: Path, folder: Path, *, largest: int = LARGEST) -> Path:
    """Unpack *archive* into *folder*; an existing folder is used as it is."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
        try:
            _unpack(archive, draft, largest)
            os.rename(draft, folder)  # noqa: PTH104 - the error of a folder that is there by now is wanted as it is
        except OSError as error:
            if not folder.is_dir():  # another conversation may have unpacked it first
                raise UsageError(f"{archive.name} could not be unpacked: {error.strerror or error}.") from None
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, ValueError, NotImplementedError) as error:
            raise UsageError(f"{archive.name} cannot be unpacked: {error}.") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    within = [*folder.iterdir()]
    return (within[0] if len(within) == 1 and within[0].is_dir() else folder).resolve()


def _unpack(archive: Path, folder: Path, largest: int) -> None:
    left = largest
    entries = _zip_entries(archive) if zipfile.is_zipfile(archive) else _tar_entries(archive)
    for number, (name, content) in enumerate(entries):
        if number >= MOST_ENTRIES:
            raise UsageError(f"{archive.name} contains more than {MOST_ENTRIES:,} files.")
        path = PurePosixPath(name.replace("\\", "/"))
        first = path.parts[0] if path.parts else ".."
        if path.is_absolute() or ".." in (first, *path.parts) or ":" in first or len(name) > LONGEST_NAME:
            raise UsageError(f"{archive.name} names a file outside its folder: {name[:200]!r}.")
        target = folder.joinpath(*path.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("xb") as file:
            while piece := content.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    raise UsageError(f"{archive.name} unpacks to more than {largest:,} bytes.")
                file.write(piece)


def _zip_entries(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    seen: set[str] = set()
    with zipfile.ZipFile(archive) as opened:
        for each in opened.infolist():
            kind = stat.S_IFMT(each.external_attr >> 16)
            if each.is_dir() or (kind and kind != stat.S_IFREG) or each.filename in seen:
                continue
            seen.add(each.filename)
            yield each.filename, opened.open(each)


def _tar_entries(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    seen: set[str] = set()
    with tarfile.open(archive, "r:*") as opened:
        for each in opened:
            name = each.name.removeprefix("./")
            content = opened.extractfile(each) if each.isreg() else None
            if content is None or name in seen:
                continue
            seen.add(name)
            yield name, content
