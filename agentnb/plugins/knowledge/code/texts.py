"""The text of files that are analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 5_000_000
"""Characters of a file that is analysed."""


def read_source(path: Path) -> str:
    """The text of a Python file."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="It is too large to be analysed.")
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise UsageError(f"{path} cannot be read: {why}.") from None
