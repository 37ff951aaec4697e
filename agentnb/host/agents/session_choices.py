"""The mode, the model and the options of an agent's session: chosen, and chosen again in a new one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, NotOffered, PolicyError
from agentnb.host.site_checks import allowed_model, why_not_model
from agentnb.state import XConfigOptionChosen, XModeChanged
from agentnb.state.session_state import model_id, model_options, option_choices, option_value

if TYPE_CHECKING:
    from agentnb.acp.agent import Agent
    from agentnb.host.agents.session_opening import AgentNotices
    from agentnb.host.channels import SessionChannels
    from agentnb.host.session_options import Configuration
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


class SessionChoices:
    """Chooses the mode, the model and the options of one session with its agent.

    Attributes:
        model: The model that `start` asks for; empty where it asks for none.
        kept: What the next session is to have, too.
    """

    def __init__(self, channels: SessionChannels, configuration: Configuration, notices: AgentNotices) -> None:
        self.model: str = configuration.model
        self.kept: tuple[Choice, ...] = ()
        self._channels = channels
        self._title = configuration.spec.title
        self._notices = notices

    def keep(self) -> None:
        """Keep what is chosen now for the next session."""
        self.kept = chosen(self._channels.session.state)

    async def choose_again(self, agent: Agent, session_id: str, *, is_first: bool) -> None:
        """Choose the model of `start`, then the mode and the options that the session before had, as far as it can."""
        if self.model and is_first:
            await self._choose_model(agent, session_id, self.model)
        wanted, self.kept = self.kept, ()
        for action in differing(wanted, self._channels.session.state):
            with contextlib.suppress(AgentnbError):
                await self.choose(agent, session_id, action)
                self._channels.dispatch(action)
        await self._choose_allowed_model(agent, session_id)

    async def _choose_model(self, agent: Agent, session_id: str, model: str) -> None:
        """Choose *model*; a session that cannot have it fails to start."""
        if (why := why_not_model(self._channels.agent, model)) is not None:
            raise PolicyError(why)
        action = model_choice(model, self._channels.session.state, self._title)
        await self.choose(agent, session_id, action)
        self._channels.dispatch(action)

    async def choose(self, agent: Agent, session_id: str, action: XModeChanged | XConfigOptionChosen) -> None:
        """Ask *agent* for another mode or option; a model must be one that the site allows."""
        if isinstance(action, XModeChanged):
            await agent.set_mode(session_id, action.mode_id)
            return
        is_model = action.config_id in {each.get("id") for each in model_options(self._channels.session.state)}
        if is_model and (why := why_not_model(self._channels.agent, str(action.value))) is not None:
            raise PolicyError(why)
        for each in await agent.set_config_option(session_id, action.config_id, action.value):
            self._channels.dispatch(each)

    async def _choose_allowed_model(self, agent: Agent, session_id: str) -> None:
        """Choose another model where the site does not allow the one that the agent begins with."""
        state = self._channels.session.state
        why = why_not_model(self._channels.agent, model_id(state)) if model_id(state) else None
        if why is None:
            return
        for option in model_options(state):
            if (model := allowed_model(self._channels.agent, option)) is None:
                continue
            action = XConfigOptionChosen(config_id=str(option.get("id")), value=model, time=now_ms())
            with contextlib.suppress(AgentnbError):
                await self.choose(agent, session_id, action)
                self._channels.dispatch(action)
                self._notices.note(f"{why} {model} is used.")

    def demand_model(self) -> None:
        """Raise where the site does not allow the model that is chosen."""
        model = model_id(self._channels.session.state)
        if model and (why := why_not_model(self._channels.agent, model)) is not None:
            raise PolicyError(why, hint="Choose another model.")
