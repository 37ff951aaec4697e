"""The mode and the options of an agent's session, to be chosen again in a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.state import XConfigOptionChosen, XModeChanged
from agentnb.state.session_state import option_value

if TYPE_CHECKING:
    from agentnb.state import SessionState

Choice: TypeAlias = XModeChanged | XConfigOptionChosen


def chosen(session: SessionState) -> tuple[Choice, ...]:
    """The mode and the options of *session*, as what a user does to choose them."""
    options = [
        XConfigOptionChosen(config_id=str(option.get("id")), value=value)
        for option in session.config_options or ()
        if isinstance(value := option_value(option), str | bool)
    ]
    return (*([] if session.modes is None else [XModeChanged(mode_id=session.modes.current_mode_id)]), *options)


def differing(wanted: tuple[Choice, ...], session: SessionState) -> list[Choice]:
    """Those of *wanted* that *session* has otherwise, and offers."""
    now, offered = chosen(session), {str(option.get("id")) for option in session.config_options or ()}
    modes = set() if session.modes is None else {mode.id for mode in session.modes.available_modes}
    return [
        replace(each, time=now_ms())
        for each in wanted
        if each not in now and (each.mode_id in modes if isinstance(each, XModeChanged) else each.config_id in offered)
    ]
