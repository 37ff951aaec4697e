"""Whether a cassette has the files that agents write by themselves: ``AGENTNB_CASSETTE_FILES``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = "AGENTNB_CASSETTE_FILES"
"""Environment: ``off`` leaves the files that agents write by themselves out of recordings and replays."""
SWITCHES = ("on", "off")


def keeps_files(environment: Mapping[str, str]) -> bool:
    """Whether the files that agents write by themselves are recorded and written again."""
    said = environment.get(FILES, "") or "on"
    if said not in SWITCHES:
        raise UsageError(f"{FILES}={said!r} is none of {', '.join(SWITCHES)}.", hint="Unset it.")
    return said == "on"
