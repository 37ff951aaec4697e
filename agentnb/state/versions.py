"""The supported versions of the protocol, and the version that introduced each action.

Within a version only fields may be added. A new action, a new required field or another meaning needs a new version:
raise `WINDOW`'s ``current``, and declare new actions with ``since`` that version. ``oldest`` is the oldest version of
pages and kernels that is still supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agentnb.errors import UnsupportedVersion
from agentnb.state.action import Action, SessionMemberAction, action_type
from agentnb.state.codec import ACTIONS


class Window(NamedTuple):
    """The versions that one side supports, from the oldest to the current one.

    Attributes:
        oldest: The oldest supported version.
        current: The newest version.

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


WINDOW = Window(oldest=3, current=3)
"""The versions that this agentnb speaks, in the kernel and in the page."""

INTRODUCED: dict[str, int] = {name: kind.since for name, kind in ACTIONS.items()}
"""The version that introduced each action, by the action's ``type``."""


def negotiate(theirs: Iterable[int], ours: Window = WINDOW) -> int:
    """Returns the highest version that both sides support.

    Args:
        theirs: The versions that the page supports.
        ours: The versions that the kernel supports.

    Raises:
        UnsupportedVersion: If there is none; the hint says which side to update, and how.

    Example:
        >>> negotiate((1, 2, 3), ours=Window(1, 2))
        2
    """
    offered = sorted(set(theirs))
    common = [version for version in offered if version in ours]
    if common:
        return common[-1]
    versions = ", ".join(map(str, offered)) or "none"
    newer = bool(offered) and offered[0] > ours.current
    raise UnsupportedVersion(
        f"The page speaks version {versions} of agentnb's protocol, this kernel {ours}.",
        hint="Upgrade agentnb in the kernel's environment and restart the kernel."
        if newer
        else "Reload the page: its front end is older than the kernel's agentnb.",
    )


def is_known_in(action: Action, version: int) -> bool:
    """True if *action* exists in *version* of the protocol, or its type is unknown: it then changes nothing.

    Example:
        >>> from agentnb.state import SessionReady
        >>> is_known_in(SessionReady(), 1)
        True
    """
    return INTRODUCED.get(action_type(action), version) <= version


def is_reduced_by_page(action: Action, version: int) -> bool:
    """True if a page that supports *version* can reduce *action*; otherwise it gets the state itself.

    The page's bundle has no reducers for state that no view shows (`SessionMemberAction`).
    """
    return not isinstance(action, SessionMemberAction) and is_known_in(action, version)
