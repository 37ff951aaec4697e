"""Names the files below a folder for the model: never outside the workspace, and without following links."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

MOST_NAMES = 1000
MOST_SEARCHED = 500
LARGEST_SEARCHED = 1024 * 1024
"""How many bytes a file may have that is searched."""

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "dist", "build"})
_PRIVATE = ("*secret*", "*credential*", "*.pem", "*.key", "*.p12", "*.pfx", "id_*", "*.kdbx")


class OutsideFolder(ValueError):
    """The folder is outside the workspace, or is none."""


def names(root: Path, folder: str, pattern: str, *, searched: bool = False) -> tuple[list[str], bool]:
    """The files below *folder*, relative to *root*, sorted; hidden ones and those of packages are left out."""
    whole = Path(os.path.realpath(root))
    start = Path(os.path.realpath(whole / Path(folder).expanduser()))
    if not start.is_relative_to(whole):
        raise OutsideFolder(f"{folder} is outside the working folder.")
    if not start.is_dir():
        raise OutsideFolder(f"{folder} is not a folder.")
    most = MOST_SEARCHED if searched else MOST_NAMES
    matches: list[str] = []
    for path, folders, files in os.walk(start):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            relative = Path(path, name).relative_to(whole).as_posix()
            if name.startswith(".") or not _fits(name, relative, pattern):
                continue
            if searched and not _is_searchable(Path(path, name)):
                continue
            if len(matches) >= most:
                return matches, True
            matches.append(relative)
    return matches, False


def _fits(name: str, relative: str, pattern: str) -> bool:
    return not pattern or fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(relative, pattern.removeprefix("./"))


def _is_searchable(path: Path) -> bool:
    if any(fnmatch.fnmatch(path.name.lower(), each) for each in _PRIVATE):
        return False
    try:
        return path.is_file() and path.stat().st_size <= LARGEST_SEARCHED
    except OSError:
        return False
