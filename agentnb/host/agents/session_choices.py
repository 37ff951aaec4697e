"""The mode and the options of an agent's session, to be chosen again in a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import NotOffered
from agentnb.state import XConfigOptionChosen, XModeChanged
from agentnb.state.session_state import model_options, option_choices, option_value

if TYPE_CHECKING:
    from agentnb.state import SessionState

Choice: TypeAlias = XModeChanged | XConfigOptionChosen
MOST_NAMED = 20
"""How many of an agent's models an error names."""


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


def model_choice(model: str, session: SessionState, agent: str) -> XConfigOptionChosen:
    """Returns what a user does to choose *model*, an id or a name, in *session* with the agent called *agent*.

    Raises:
        NotOffered: If the agent does not offer it; the message names the models that it offers.
    """
    options = model_options(session)
    offered = [(option, each) for option in options for each in option_choices(option.get("options"))]
    for key in ("value", "name"):
        for option, each in offered:
            if str(each.get(key)).casefold() == model.casefold():
                return XConfigOptionChosen(config_id=str(option.get("id")), value=str(each["value"]), time=now_ms())
    if not offered:
        raise NotOffered(f"{agent} has no choice of models, and {model!r} was asked for.", hint="Leave out model=.")
    ids = list(dict.fromkeys(str(each["value"]) for _, each in offered))
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    message = f"{agent} does not offer the model {model!r}."
    raise NotOffered(message, hint=f"Choose one of these with model=: {', '.join(ids[:MOST_NAMED])}{more}.")
