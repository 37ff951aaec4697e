"""The versions of the Agent Host Protocol that are spoken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.errors import UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

SPOKEN = ("1.0.0", "0.9.0")
"""The versions that this host speaks, the newest first: those that the protocol's own clients offer, of one form. Each
stands for all that are compatible with it by its number (1.0.0 for all 1.x, 0.9.0 for 0.9.x), as the specification asks
of hosts."""

_FORM = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")


def negotiate(offered: Iterable[str]) -> str:
    """The highest of the *offered* versions that is spoken here, as it was offered."""
    wanted = sorted({version for version in offered if _FORM.fullmatch(version)}, key=_key)
    compatible = [version for version in wanted if any(_is_compatible(version, spoken) for spoken in SPOKEN)]
    if not compatible:
        wanted_text = ", ".join(wanted[:10]) or "none"
        message = (
            f"The client speaks version {wanted_text} of the Agent Host Protocol, this kernel {' and '.join(SPOKEN)}."
        )
        raise UnsupportedVersion(message, hint="Update agentnb, or use a client that also offers one of these.")
    return compatible[-1]


def _is_compatible(version: str, spoken: str) -> bool:
    same = 1 if _key(spoken)[0] else 2
    return _key(version)[:same] == _key(spoken)[:same] and _key(version) >= _key(spoken)


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
