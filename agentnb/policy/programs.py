"""The system's own programs: where they stand, and which shells are only there to run a line."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_WRAPPED = 3


def script_of(words: Sequence[str], found: str | None = None) -> str | None:
    """The script where *words* are a shell of the system's that runs it (``bash -lc SCRIPT``), else None.

    A file that is only called as a shell is, or a folder of the agent's on the ``PATH``, is none.
    """
    if len(words) != _WRAPPED or words[1] not in {"-c", "-lc"}:
        return None
    folder, name = os.path.split(words[0])
    if name not in _SHELLS or (folder and folder not in _FOLDERS):
        return None
    if found is not None and os.path.split(found) not in {(each, name) for each in _FOLDERS}:
        return None
    return words[2]
