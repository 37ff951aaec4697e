"""Why a workspace is not covered as a whole, and what to say where the file system refuses."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from agentnb.errors import ChangesUnavailable
from agentnb.folders import home

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.changes.git_program import GitFailed

_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
)
_GITS_OWN_WORDS = "Out of diskspace"
"""What git says of a full disk where the system told it no reason."""


def too_wide(workspace: Path) -> str:
    """Why the workspace is not looked at as a whole; empty where it is."""
    own = home().resolve()
    if workspace.parent == workspace:
        return "The workspace is the root folder, so only files that were named are covered."
    if workspace == own:
        return "The workspace is your home folder, so only files that were named are covered."
    if workspace in own.parents:
        return "The workspace has your home folder in it, so only files that were named are covered."
    return ""


def unavailable(error: OSError, folder: Path, workspace: Path) -> ChangesUnavailable:
    """What to raise where the file system refuses."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        message = "The disk is full: nothing was written."
        return ChangesUnavailable(message, hint=f"Make room for {folder} and {workspace}.")
    if error.errno == errno.EROFS:
        place = folder if str(error.filename or "").startswith(str(folder)) else workspace
        message = f"{place} is on a file system that is read-only: nothing was written."
        return ChangesUnavailable(message, hint="Mount it for writing, and try again.")
    if not workspace.is_dir():
        return ChangesUnavailable(f"The workspace {workspace} does not exist any more.", hint="Make the folder again.")
    where = error.filename if isinstance(error.filename, str) else folder
    if error.errno == errno.ENOENT:
        message = f"{where} was removed meanwhile: nothing was written."
        return ChangesUnavailable(message, hint="Make it again, or leave its files as they are, and try again.")
    message = f"{where} cannot be used: {error.strerror or error}."
    return ChangesUnavailable(message, hint=f"Mend the permissions of {folder} and {workspace}.")


def raise_if_refused(error: GitFailed, folder: Path) -> None:
    """Raise what git says of the file system: it does not mean that the store is damaged."""
    said = str(error).replace(_GITS_OWN_WORDS, os.strerror(errno.ENOSPC))
    for number in _REFUSALS:
        if os.strerror(number) in said:
            raise unavailable(OSError(number, os.strerror(number)), folder, folder) from error
