"""The workspace: the folder whose wall no path that an agent names may cross."""

from __future__ import annotations

from pathlib import Path

from agentnb.errors import OutsideWorkspace


class Workspace:
    """A folder and all below it.

    Args:
        root: The folder; symbolic links on the way to it are followed once, here.

    Example:
        >>> Workspace(Path("/tmp")).resolve("/etc/passwd")
        Traceback (most recent call last):
        agentnb.errors.OutsideWorkspace: '/etc/passwd' is outside the workspace '/tmp'. ...
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root).resolve()

    def resolve(self, path: str) -> Path:
        """The real place that *path* names, links and ``..`` followed; a relative one begins at the root.

        Raises:
            OutsideWorkspace: If that place is not in the workspace, or *path* is no path.
        """
        real = self.follow(path)
        if not self.holds(real):
            leads = "" if str(real) == path else f" (it leads to {str(real)!r})"
            hint = "Start the session with a cwd that holds it, to let the agent reach it."
            raise OutsideWorkspace(f"{path!r}{leads} is outside the workspace {str(self.root)!r}.", hint=hint)
        return real

    def holds(self, real: Path) -> bool:
        """Whether *real*, a path without links, is in the workspace."""
        return real == self.root or self.root in real.parents

    def follow(self, path: str) -> Path:
        """The real place that *path* names, wherever it is.

        Raises:
            OutsideWorkspace: If *path* is no path.
        """
        try:
            real = (self.root / path).resolve()
            if any(each.is_symlink() for each in (real, *real.parents)):  # a loop, from Python 3.13 on
                raise RuntimeError("a loop of links")
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise OutsideWorkspace(f"{path!r} is not a path that can be followed: {error}.") from error
        return real
