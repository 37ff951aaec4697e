"""What a rehearsal may do at most, what it may touch, and what is hidden from it."""

from __future__ import annotations

import os

from agentnb.folders import home
from agentnb.memory import available_memory

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Mapping

DISK_MEGABYTES = 512
"""Megabytes that a rehearsal may write."""
MOST_FILES = 100_000
"""Files that a rehearsal may create."""
MOST_PROCESSES = 1_000
"""Processes that a rehearsal may start, in total."""
MOST_AT_ONCE = 100
"""Processes that may run at the same time, roughly: they are counted only at every eighth start."""
LARGEST_MEMORY = 16 * 1024**3
SECRETS = (
    *(".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".password-store", ".netrc", ".git-credentials"),
    *(".pypirc", ".npmrc", ".pgpass", ".my.cnf", ".vault-token", ".config/gcloud", ".config/gh", ".config/op"),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".local/share/keyrings"),
    *("Library/Keychains", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox"),
)
"""Paths in the home folder that only the user may read: keys, logins, browsers."""


def hidden_paths(environ: Mapping[str, str]) -> list[str]:
    """Returns the existing files and folders with the user's secrets, with links resolved."""
    folder = home(environ)
    return [os.path.realpath(folder / name) for name in SECRETS if (folder / name).exists()]


def touched_folders(cwd: str, environ: Mapping[str, str]) -> list[str]:
    """Returns the folders whose changes are captured: the workspace, the home folder, and temporary folders."""
    folders = (cwd, str(home(environ)), "/tmp", "/var/tmp")  # noqa: S108 - what is written there is taken, too
    return [os.path.realpath(folder) for folder in folders]


def memory_limit() -> int:
    """Returns how many more bytes a process may take than now: half of what is available."""
    available = available_memory()
    return LARGEST_MEMORY // 4 if available is None else min(LARGEST_MEMORY, available // 2)
