"""Which versions of the protocol are spoken, and which action is known from which version on.

Within a version only fields may be added. A new action, a field that must be there or another meaning needs a new
version: raise `WINDOW`'s ``current``, and enter new actions in `INTRODUCED` with it. ``oldest`` says how far back pages
and kernels are still understood.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agentnb.errors import UnsupportedVersion
from agentnb.state.action import Action, action_type
from agentnb.state.session_member_actions import SessionMemberAction


class Window(NamedTuple):
    """The versions that one side speaks, from the oldest to the current one.

    Attributes:
        oldest: The oldest that is still spoken.
        current: The newest.

    Example:
        >>> 1 in Window(1, 2), 3 in Window(1, 2)
        (True, False)
    """

    oldest: int
    current: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.oldest <= version <= self.current

    def __str__(self) -> str:
        return str(self.current) if self.oldest == self.current else f"{self.oldest} to {self.current}"


WINDOW = Window(oldest=1, current=1)
"""The versions that this agentnb speaks, in the kernel and in the page."""

INTRODUCED: dict[str, int] = {
    "root/agentsChanged": 1,
    "root/activeSessionsChanged": 1,
    "root/terminalsChanged": 1,
    "root/configChanged": 1,
    "x-agentnb/sessionSet": 1,
    "x-agentnb/sessionRemoved": 1,
    "session/ready": 1,
    "session/creationFailed": 1,
    "session/titleChanged": 1,
    "session/modelChanged": 1,
    "session/agentChanged": 1,
    "session/isReadChanged": 1,
    "session/isArchivedChanged": 1,
    "session/activityChanged": 1,
    "session/configChanged": 1,
    "session/metaChanged": 1,
    "session/chatAdded": 1,
    "session/chatRemoved": 1,
    "session/chatUpdated": 1,
    "session/defaultChatChanged": 1,
    "session/changesetsChanged": 1,
    "x-agentnb/commandsChanged": 1,
    "x-agentnb/modesChanged": 1,
    "x-agentnb/modeChanged": 1,
    "x-agentnb/configOptionsChanged": 1,
    "x-agentnb/configOptionChosen": 1,
    "x-agentnb/contextUsageChanged": 1,
    "x-agentnb/agentChanged": 1,
    "session/serverToolsChanged": 1,
    "session/activeClientSet": 1,
    "session/activeClientRemoved": 1,
    "session/customizationsChanged": 1,
    "session/customizationToggled": 1,
    "session/customizationUpdated": 1,
    "session/customizationRemoved": 1,
    "session/mcpServerStateChanged": 1,
    "chat/turnStarted": 1,
    "chat/delta": 1,
    "chat/reasoning": 1,
    "chat/responsePart": 1,
    "chat/turnComplete": 1,
    "chat/turnCancelled": 1,
    "chat/error": 1,
    "chat/usage": 1,
    "chat/truncated": 1,
    "chat/toolCallStart": 1,
    "chat/toolCallDelta": 1,
    "chat/toolCallReady": 1,
    "chat/toolCallConfirmed": 1,
    "chat/toolCallComplete": 1,
    "chat/toolCallResultConfirmed": 1,
    "chat/toolCallContentChanged": 1,
    "chat/pendingMessageSet": 1,
    "chat/pendingMessageRemoved": 1,
    "chat/queuedMessagesReordered": 1,
    "chat/inputRequested": 1,
    "chat/inputAnswerChanged": 1,
    "chat/inputCompleted": 1,
    "x-agentnb/planSet": 1,
    "x-agentnb/partRemoved": 1,
    "x-agentnb/userMessageDelta": 1,
    "x-agentnb/toolCallDetailsChanged": 1,
    "x-agentnb/late": 1,
    "x-agentnb/terminalOpened": 1,
    "x-agentnb/terminalData": 1,
    "x-agentnb/terminalExited": 1,
    "terminal/data": 1,
    "terminal/input": 1,
    "terminal/resized": 1,
    "terminal/claimed": 1,
    "terminal/titleChanged": 1,
    "terminal/cwdChanged": 1,
    "terminal/exited": 1,
    "terminal/cleared": 1,
    "terminal/commandDetectionAvailable": 1,
    "terminal/commandExecuted": 1,
    "terminal/commandFinished": 1,
    "changeset/statusChanged": 1,
    "changeset/fileSet": 1,
    "changeset/fileRemoved": 1,
    "changeset/contentChanged": 1,
    "changeset/operationsChanged": 1,
    "changeset/operationStatusChanged": 1,
    "changeset/cleared": 1,
}
"""The version that each action came with, by its ``type``."""


def negotiate(theirs: Iterable[int], ours: Window = WINDOW) -> int:
    """The highest version that both sides speak.

    Args:
        theirs: The versions that the page speaks.
        ours: The versions that the kernel speaks.

    Raises:
        UnsupportedVersion: When there is none; the hint says which side is to be renewed, and how.

    Example:
        >>> negotiate((1, 2, 3), ours=Window(1, 2))
        2
    """
    offered = sorted(set(theirs))
    common = [version for version in offered if version in ours]
    if common:
        return common[-1]
    said = ", ".join(map(str, offered)) or "none"
    newer = bool(offered) and offered[0] > ours.current
    raise UnsupportedVersion(
        f"The page speaks version {said} of agentnb's protocol, this kernel {ours}.",
        hint="Upgrade agentnb in the kernel's environment and restart the kernel."
        if newer
        else "Reload the page: its front end is older than the kernel's agentnb.",
    )


def is_known_in(action: Action, version: int) -> bool:
    """Whether *action* is in *version* of the protocol. One of an unknown type is in none and makes no difference.

    Example:
        >>> from agentnb.state import SessionReady
        >>> is_known_in(SessionReady(), 1)
        True
    """
    return INTRODUCED.get(action_type(action), version) <= version


def is_reduced_by_page(action: Action, version: int) -> bool:
    """Whether a page that speaks *version* comes to the host's state with *action*; else it is sent the state itself.

    The page's bundle has no reducers for what no view shows (`SessionMemberAction`).
    """
    return not isinstance(action, SessionMemberAction.__args__) and is_known_in(action, version)
