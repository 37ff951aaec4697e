"""The folders that the page offers to choose from: those in the home folder and in the kernel's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentnb.errors import UsageError

MOST = 500
"""Folders of one answer."""


def folders_in(said: str) -> dict[str, Any]:
    """The folders in a folder, by name, without hidden ones.

    Args:
        said: The folder, absolute or with ``~/``; empty for the kernel's current one.

    Returns:
        The folder as ``path``, the one above it as ``parent`` where that may be listed, the names as ``folders``, and
        whether there are more as ``isCut``.

    Raises:
        UsageError: If it is no folder, may not be listed here, or cannot be read.
    """
    try:
        path = Path(os.path.realpath(Path(said).expanduser() if said.strip() else Path.cwd()))
    except (OSError, RuntimeError, ValueError) as error:  # the folder is gone, nobody has that home, a NUL
        raise UsageError(f"{said!r:.200} names no folder.", hint="Type its path.") from error
    if not _may_list(path):
        message = f"{str(path)!r} is neither in your home folder nor in the kernel's folder."
        raise UsageError(message, hint="Type the path of another folder.")
    try:
        with os.scandir(path) as entries:
            names = sorted((each.name for each in entries if _is_shown(each)), key=str.casefold)
    except OSError as error:
        message = f"{str(path)!r} cannot be listed: {error.strerror or error}."
        raise UsageError(message, hint="Choose another folder.") from error
    parent = path.parent
    found: dict[str, Any] = {"path": str(path), "folders": names[:MOST], "isCut": len(names) > MOST}
    return {**found, "parent": str(parent)} if parent != path and _may_list(parent) else found


def _may_list(path: Path) -> bool:
    roots = (os.path.realpath(Path.home()), os.path.realpath(Path.cwd()))
    return any(path.is_relative_to(root) for root in roots)


def _is_shown(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.name.isprintable() and entry.is_dir()
    except OSError:
        return False
