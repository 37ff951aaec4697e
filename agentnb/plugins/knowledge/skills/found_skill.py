"""A skill that was found."""

from __future__ import annotations

from pathlib import Path

import msgspec


class FoundSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as the user sees it.

    Args:
        id: What names it: ``package/name``. Two packages can have skills of one name.
        name: Its name.
        description: What it is for.
        package: The distribution that it comes with; ``"workspace"`` for one of the workspace.
        version: The distribution's version.
        folder: Its folder.
        trusted: Whether agents get it.
        refused: Whether the user does not want it, in this version and as it is now.
        imported: Whether this process has imported its package.
        problem: Why it cannot be used; a sentence, or empty.
    """

    id: str
    name: str
    description: str
    package: str
    version: str
    folder: Path
    trusted: bool = False
    refused: bool = False
    imported: bool = False
    problem: str = ""
