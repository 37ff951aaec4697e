"""The versions of the Agent Host Protocol that are spoken, and the version that each action came with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.errors import UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

SPOKEN = ("0.5.0", "0.4.0")
"""The versions that this host speaks, the newest first."""

LATER = {
    "0.5.1": "older turns come as the action `chat/turnsLoaded`, not as `fetchTurns`' answer; sessions come in pages",
    "0.6.0": "turns carry when they began and how long they took; what an agent asks is a part of its answer",
    "0.9.0": "a turn's error is a part of its answer; a session that could not be created is `failed`; terminals say "
    "whether they run, and which chat owns them",
}
"""What later versions have another form for. Each needs a projection, and cases that hold it to the version."""

INTRODUCED = {
    "session/activeClientSet": "0.5.0",
    "session/activeClientRemoved": "0.5.0",
    "chat/activityChanged": "0.5.0",
    "chat/draftChanged": "0.5.0",
    "chat/turnsLoaded": "0.5.1",
    "session/inputNeededSet": "0.5.1",
    "session/inputNeededRemoved": "0.5.1",
    "session/mcpServerStartRequested": "0.5.2",
    "session/mcpServerStopRequested": "0.5.2",
    "chat/toolCallAuthRequired": "0.6.0",
    "chat/toolCallAuthResolved": "0.6.0",
    "changeset/filesReviewChanged": "0.6.0",
    "session/workingDirectorySet": "0.7.0",
    "session/workingDirectoryRemoved": "0.7.0",
    "chat/workingDirectorySet": "0.7.0",
    "chat/workingDirectoryRemoved": "0.7.0",
    "session/workingDirectoryReplaced": "0.8.0",
    "session/chatsReordered": "0.9.0",
    "session/mcpServerBackgroundRequested": "0.9.0",
    "chat/turnResume": "0.9.0",
    "chat/backgroundWorkSet": "0.9.0",
    "chat/backgroundWorkRemoved": "0.9.0",
    "chat/movableChanged": "0.9.0",
    "chat/changesetsChanged": "0.9.0",
    "chat/isReadChanged": "0.9.0",
    "chat/isArchivedChanged": "0.9.0",
}
"""Actions that came after the oldest version spoken, up to 0.9; all others are in that, too."""

_FORM = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")


def negotiate(offered: Iterable[str]) -> str:
    """The highest version that both speak.

    Raises:
        UnsupportedVersion: If there is none.

    Example:
        >>> negotiate(["0.9.0", "0.4.0", "0.5.0"])
        '0.5.0'
    """
    wanted = set(offered)
    found = next((version for version in SPOKEN if version in wanted), None)
    if found is None:
        said = ", ".join(sorted(version for version in wanted if _FORM.fullmatch(version))[:10]) or "none"
        message = f"The client speaks version {said} of the Agent Host Protocol, this kernel {' and '.join(SPOKEN)}."
        raise UnsupportedVersion(message, hint="Update agentnb, or use a client that also offers one of these.")
    return found


def is_known_in(action_type: str, version: str) -> bool:
    """Whether the action is in *version*.

    Example:
        >>> is_known_in("session/activeClientSet", "0.4.0"), is_known_in("chat/delta", "0.4.0")
        (False, True)
    """
    return _key(INTRODUCED.get(action_type, "0.0.0")) <= _key(version)


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
