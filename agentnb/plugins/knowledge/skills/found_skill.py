"""A skill that was found."""

from __future__ import annotations

from pathlib import Path

import msgspec


class FoundSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as the user sees it."""

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
