"""The workspace: the folders outside of which an agent may touch no file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import OutsideWorkspace

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_PATH = 4_096
"""The longest path that is followed, in characters: Linux opens no longer one, and to follow it
takes time that grows with the square of its length."""


def real_path(base: str, path: str) -> str:
    """The absolute path that *path* leads to from the folder *base*, links followed where they can be."""
    joined = os.path.join(base, path)  # noqa: PTH118 - as text
    try:
        return os.path.realpath(joined) if len(joined) <= LONGEST_PATH else os.path.normpath(joined)
    except (OSError, ValueError):
        return os.path.normpath(joined)


class WorkspaceBoundary:
    """A folder, its additional directories, and everything below them."""

    def __init__(self, root: Path, directories: Iterable[str | Path] = ()) -> None:
        self.root: Path = Path(root).resolve()
        self.roots: tuple[Path, ...] = (self.root, *(Path(folder).resolve() for folder in directories))

    def resolve(self, path: str) -> Path:
        """The real place that *path* names, links and ``..`` followed; a relative one begins at the root."""
        real = self.follow(path)
        if not self.holds(real):
            leads = "" if str(real) == path else f" (it leads to {str(real)!r})"
            where = " and ".join(map(repr, map(str, self.roots)))
            hint = (
                "Start the session with a cwd or `directories` that contain it, or allow access with a rule "
                "in policy.toml: "
                f'action = "ask", tool = "read", path = {json.dumps(f"{real.parent.as_posix()}/**")}.'
            )
            raise OutsideWorkspace(f"{path!r}{leads} is outside the workspace {where}.", hint=hint)
        return real

    def holds(self, real: Path) -> bool:
        """True if *real*, a path without links, is in the workspace."""
        return self.root_of(real) is not None

    def root_of(self, real: Path) -> Path | None:
        """The innermost of its folders that holds *real*; None where none does."""
        holding = [root for root in self.roots if real == root or root in real.parents]
        return max(holding, key=lambda root: len(root.parts), default=None)

    def follow(self, path: str) -> Path:
        """The real place that *path* names, wherever it is."""
        if len(path) > LONGEST_PATH:
            raise OutsideWorkspace(f"A path has {len(path):,} characters; no more than {LONGEST_PATH:,} can be opened.")
        try:
            real = (self.root / path).resolve()
            if any(each.is_symlink() for each in (real, *real.parents)):  # a loop, from Python 3.13 on
                raise RuntimeError("a loop of links")
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise OutsideWorkspace(f"{path!r} is not a path that can be resolved: {error}.") from error
        return real
