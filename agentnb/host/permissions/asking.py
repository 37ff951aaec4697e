"""Makes a session's agent ask before it acts, while the permissions are Ask or Deny.

Not checked: whether an agent that is set to ask really asks. A tool call that runs without asking is marked: agentnb
cannot stop it, since the agent is a separate process. Not checked: whether the agent reports what it did.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import MODE
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError
from agentnb.host.permissions.cards import OWN
from agentnb.state import (
    ToolCallCompletedState,
    ToolCallResponsePart,
    ToolCallRunningState,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.state.session_state import option_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.acp.agent import Agent
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.channels import SessionChannels
    from agentnb.state import Action, ActiveTurn, ToolCallState

_ACTS = frozenset({"edit", "delete", "move", "execute"})
MOST_RESETS = 3
"""The most times in a turn that a mode is restored after the agent has left it."""


class AskMode:
    """Keeps one session's agent asking. Everything runs on the host's thread."""

    def __init__(self, channels: SessionChannels, spec: AgentSpec, env: Mapping[str, str]) -> None:
        self._channels = channels
        self._spec = spec
        self._env = env
        self._chosen: set[str] = set()
        self._resets = 0
        self._reset_in: str | None = None
        self._has_acted = False
        self._changes = 0

    @property
    def is_wanted(self) -> bool:
        """True if the permissions are Ask or Deny."""
        return self._channels.mode != "allow"

    @property
    def problem(self) -> str | None:
        """Returns why the agent may act without asking; None if it asks, or nothing else is known."""
        if not self.is_wanted:
            return None
        title, asks = self._spec.title, self._spec.asks
        if asks is None:
            return f"{title} acts without asking." if self._has_acted else None
        if (name := asks.overruled({**os.environ, **self._spec.env, **self._env})) is not None:
            return f"{title} may act without asking: {name} has another value in this conversation's environment."
        wrong = self._wrong()
        if not wrong:
            return f"{title} acts without asking, although it is set to ask." if self._has_acted else None
        if MODE in wrong and (mode := self._mode_name()) is not None:
            return f"{title} may act without asking in the mode {mode}."
        return f"{title} may act without asking: it could not be set to ask."

    async def apply(self, agent: Agent, session_id: str) -> None:
        """Set the agent's mode and options so that it asks; those it refuses remain a :attr:`problem`."""
        asks = self._spec.asks
        if asks is None or not self.is_wanted:
            return
        for name in sorted(self._wrong() - self._chosen):
            with contextlib.suppress(AgentnbError):
                await self._set(agent, session_id, name, asks.settings[name][0])

    def agent_changed(self) -> bool:
        """The agent has changed its mode or an option: returns True if it can be reset, a few times in each turn."""
        self._changes += 1
        turn = self._channels.chat.state.active_turn
        turn_id = None if turn is None else turn.id
        if turn_id != self._reset_in:
            self._reset_in, self._resets = turn_id, 0
        has_left = self.is_wanted and bool(self._wrong() - self._chosen)
        if not has_left or self._resets >= MOST_RESETS:
            return False
        self._resets += 1
        return True

    def acted(self) -> bool:
        """Note that the agent ran something without asking; returns True the first time."""
        first, self._has_acted = not self._has_acted, True
        return first

    def user_chose(self, action: XModeChanged | XConfigOptionChosen) -> None:
        """The user chose a mode or an option of the agent, so it is not set back to one that asks."""
        name = MODE if isinstance(action, XModeChanged) else self._name_of_option(action.config_id)
        self._chosen.add(name)

    def permissions_changed(self) -> None:
        """The user chose the permissions, so an earlier choice among the agent's modes no longer counts."""
        self._chosen.clear()

    def _wrong(self) -> set[str]:
        """Returns the settings whose value lets the agent act without asking, or that it does not have."""
        settings = {} if self._spec.asks is None else self._spec.asks.settings
        return {name for name, good in settings.items() if self._value(name) not in good}

    def _value(self, name: str) -> Any:
        state = self._channels.session.state
        if name == MODE and state.modes is not None:
            return state.modes.current_mode_id
        option = self._option(name)
        return None if option is None else option_value(option)

    def _option(self, name: str) -> dict[str, Any] | None:
        """The agent's config option: by category for ``mode``, else by id."""
        key = "category" if name == MODE else "id"
        return next((each for each in self._channels.session.state.config_options or () if each.get(key) == name), None)

    def _name_of_option(self, option_id: str) -> str:
        option = self._option(MODE)
        return MODE if option is not None and option.get("id") == option_id else option_id

    def _mode_name(self) -> str | None:
        modes = self._channels.session.state.modes
        current = self._value(MODE)
        named = next((mode.name for mode in modes.available_modes if mode.id == current), None) if modes else None
        return named or (current if isinstance(current, str) else None)

    async def _set(self, agent: Agent, session_id: str, name: str, value: str | bool) -> None:
        modes, dispatch = self._channels.session.state.modes, self._channels.dispatch
        if name == MODE and modes is not None:
            if any(mode.id == value for mode in modes.available_modes):
                before = self._changes

                def heard(_options: tuple[Action, ...]) -> None:
                    if self._changes == before:  # otherwise the agent has reported its new mode itself
                        dispatch(XModeChanged(mode_id=str(value), time=now_ms()))

                await agent.set_mode(session_id, str(value), heard)
            return
        option = self._option(name)
        if option is None:
            return
        option_id = str(option.get("id"))

        def chosen(options: tuple[Action, ...]) -> None:
            for each in (*options, XConfigOptionChosen(config_id=option_id, value=value, time=now_ms())):
                dispatch(each)

        await agent.set_config_option(session_id, option_id, value, chosen)


def ran_unasked(turn: ActiveTurn, call: ToolCallState) -> bool:
    """True if *call* of the running *turn* acted although nobody was asked."""
    if not isinstance(call, ToolCallRunningState | ToolCallCompletedState) or call.tool_call_id.startswith(OWN):
        return False
    details = call.details
    if details is None or details.kind not in _ACTS or details.ran_without_asking:
        return False
    failed = isinstance(call, ToolCallCompletedState) and not call.success
    if failed or call.confirmed != "not-needed" or call.answered_by is not None:
        return False
    return not _asked_at_a_service(turn, call.tool_call_id)


def _asked_at_a_service(turn: ActiveTurn, call_id: str) -> bool:
    """True if a card of our own was shown since the call began."""
    for part in reversed(turn.response_parts):
        if isinstance(part, ToolCallResponsePart):
            if part.tool_call.tool_call_id == call_id:
                return False
            if part.tool_call.tool_call_id.startswith(OWN):
                return True
    return False
