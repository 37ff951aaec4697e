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

    Args:
        path: The file; its folder must exist.
        content: The bytes.
        mode: The file's permission bits; by default only its owner may read it.
        sync: Whether the content reaches the disk before it replaces the old one (``fsync``), so that a power failure
            leaves one of the two.

    Raises:
        OSError: If it cannot be written; the old content is still there then.

    Example:
        >>> from pathlib import Path
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder, "a.json"), b"{}")
        ...     [each.name for each in Path(folder).iterdir()]
        ['a.json']
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
