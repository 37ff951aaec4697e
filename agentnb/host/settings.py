"""A session's own settings, as state that a view shows and the user may change: what answers permission requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from agentnb.policy.situation import Mode
from agentnb.state import SessionConfigState

if TYPE_CHECKING:
    from agentnb.state import SessionConfigChanged

PERMISSIONS = "permissions"
MODES: tuple[Mode, ...] = get_args(Mode)


def settings(mode: Mode) -> SessionConfigState:
    """The settings of a session with *mode* (AHP ``SessionConfigState``)."""
    schema = {"type": "object", "properties": {PERMISSIONS: {"type": "string", "enum": list(MODES)}}}
    return SessionConfigState(schema=schema, values={PERMISSIONS: mode})


def wanted_mode(action: SessionConfigChanged) -> Mode | None:
    """The mode that *action* sets; None where it sets anything else.

    Example:
        >>> from agentnb.state import SessionConfigChanged
        >>> wanted_mode(SessionConfigChanged(config={"permissions": "deny"}))
        'deny'
    """
    wanted = action.config.get(PERMISSIONS) if len(action.config) == 1 else None
    return next((mode for mode in MODES if mode == wanted), None)
