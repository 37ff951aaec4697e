"""What the user's editors hold and have not saved: named here, known by who knows the editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agentnb.acp.listener import Unsaved


class Editors(Protocol):
    """Knows which files are open, and how they stand there."""

    def unsaved(self, path: str) -> Unsaved | None:
        """The file *path*, absolute and resolved, as an editor holds it; None where nothing unsaved is known of it.

        Called on the host's thread.
        """
        ...
