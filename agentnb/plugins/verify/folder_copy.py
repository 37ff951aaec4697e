"""A copy of the notebook's folder, for where there are no walls; and what was changed in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.changes.text_diff import count_lines, unified
from agentnb.errors import UsageError
from agentnb.state import RehearsalFile

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 20_000
MOST_BYTES = 1024 * 1024 * 1024
LARGEST_COMPARED = 256 * 1024
LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints", ".cache"}
)
"""Folders that are not copied."""


def copy(source: Path, target: Path) -> None:
    """Copy *source*.

    Raises:
        UsageError: If it is too large.
    """
    size = 0
    for files, path in enumerate(_files(source), 1):
        size += path.lstat().st_size
        if files > MOST_FILES or size > MOST_BYTES:
            raise UsageError(
                f"{source} is too large to be copied: more than {MOST_FILES:,} files or {MOST_BYTES // 1024**2:,} MB.",
                hint="Put the notebook in a folder of its own, or verify it where it can be isolated (Linux).",
            )
    shutil.copytree(source, target, symlinks=True, ignore=lambda _, names: LEFT_OUT.intersection(names))


def changed(source: Path, copied: Path) -> tuple[RehearsalFile, ...]:
    """The files of *copied* that are others than in *source*."""
    before = {path.relative_to(source) for path in _files(source)}
    after = {path.relative_to(copied) for path in _files(copied)}
    changes = [_change(name, source / name, copied / name) for name in sorted(before | after)]
    return tuple(each for each in changes if each is not None)


def _change(name: Path, before: Path, after: Path) -> RehearsalFile | None:
    old, new = _content(before), _content(after)
    if old == new:
        return None
    status = "created" if not os.path.lexists(before) else "changed" if os.path.lexists(after) else "deleted"
    if status != "changed" or old is None or new is None:
        return RehearsalFile(path=str(name), status=status)
    added, removed = count_lines(old, new)
    return RehearsalFile(
        path=str(name), status=status, added=added, removed=removed, diff=unified(old, new, f"a/{name}", f"b/{name}")
    )


def _content(path: Path) -> bytes | None:
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink())
        status = path.stat()
        if status.st_size > LARGEST_COMPARED:
            return f"{status.st_size} {status.st_mtime_ns}".encode()
        return path.read_bytes()
    except OSError:
        return None


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in LEFT_OUT]
        for name in names:
            yield Path(place, name)
