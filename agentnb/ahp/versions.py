"""The versions of the Agent Host Protocol that are spoken, and the version that each action came with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.errors import UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

SPOKEN = ("1.0.0", "0.9.0", "0.5.0", "0.4.0")
"""The versions that this host speaks, the newest first. From 0.9.0 on each stands for all that are compatible with it
by its number (1.0.0 for all 1.x, 0.9.0 for 0.9.x), as the specification asks of hosts; the others for themselves."""

OWN_FORM = "0.5.0"
"""The version whose form our own states have: another kernel of ours is given them, whatever was negotiated."""

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
    "chat/canvasesChanged": "0.10.0",
    "canvas/stateChanged": "0.10.0",
}
"""Actions that came after the oldest version spoken, up to 1.0, as the protocol's own table dates them; all others are
in that version, too."""

REMOVED = {"session/agentChanged": "0.6.0", "session/modelChanged": "0.6.0"}
"""Actions that later versions have no more: the model and the custom agent are fields of messages there."""

_FORM = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")


def negotiate(offered: Iterable[str]) -> str:
    """The highest of the *offered* versions that is spoken here, as it was offered."""
    wanted = sorted({version for version in offered if _FORM.fullmatch(version)}, key=_key)
    found = [version for version in wanted if any(_is_compatible(version, spoken) for spoken in SPOKEN)]
    if not found:
        said = ", ".join(wanted[:10]) or "none"
        message = f"The client speaks version {said} of the Agent Host Protocol, this kernel {' and '.join(SPOKEN)}."
        raise UnsupportedVersion(message, hint="Update agentnb, or use a client that also offers one of these.")
    return found[-1]


def is_since(version: str, since: str) -> bool:
    """Whether *version* has what came with the version *since*."""
    return _key(version) >= _key(since)


def is_known_in(action_type: str, version: str) -> bool:
    """Whether the action is in *version*."""
    gone = REMOVED.get(action_type)
    return is_since(version, INTRODUCED.get(action_type, "0.0.0")) and (gone is None or not is_since(version, gone))


def _is_compatible(version: str, spoken: str) -> bool:
    if not is_since(spoken, "0.9.0"):
        return version == spoken
    same = 1 if _key(spoken)[0] else 2
    return _key(version)[:same] == _key(spoken)[:same] and is_since(version, spoken)


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
