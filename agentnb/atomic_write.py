"""Writes a private file whole or not at all: what reads it meanwhile finds the old content or the new one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomically(path: Path, content: bytes, *, mode: int = 0o600, sync: bool = False) -> None:
    """Write *content* to a draft beside *path*, then put the draft in its place.

    The draft's name cannot be guessed and must be free, so nobody can lay a link there that leads elsewhere.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with open(os.open(draft, _NEW, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if mode != 0o600:  # noqa: PLR2004 - as it was made
            draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
