"""The root: which agents there are and which sessions are open (channel ``ahp-root://``)."""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.state.session_state import SessionSummary
from agentnb.state.wire import JsonObject, Wire


class SessionModelInfo(Wire, frozen=True, kw_only=True):
    """A language model that an agent offers (AHP ``SessionModelInfo``)."""

    id: str
    provider: str
    name: str
    max_context_window: int | None = None
    max_output_tokens: int | None = None
    max_prompt_tokens: int | None = None
    supports_vision: bool | None = None
    policy_state: str | None = None
    config_schema: JsonObject | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class AgentInfo(Wire, frozen=True, kw_only=True):
    """An agent that can be used (AHP ``AgentInfo``).

    Args:
        provider: Its name in the catalogue.
        display_name: Its name for people.
        description: What it is, or why it cannot be used yet.
        models: The models it offers.
        protected_resources: AHP's, kept as sent.
        customizations: AHP's, kept as sent.
        missing: Ours: whether its program is not installed here.
    """

    provider: str
    display_name: str
    description: str
    models: tuple[SessionModelInfo, ...]
    protected_resources: tuple[Any, ...] | None = None
    customizations: tuple[Any, ...] | None = None
    missing: bool | None = None


class TerminalInfo(Wire, frozen=True, kw_only=True):
    """A terminal that the root lists (AHP ``TerminalInfo``)."""

    resource: str
    title: str
    claim: JsonObject
    exit_code: int | None = None


class RootConfigState(Wire, frozen=True, kw_only=True):
    """Settings of the host: what there is, and what is chosen (AHP ``RootConfigState``)."""

    schema: JsonObject
    values: JsonObject


class RootState(Wire, frozen=True, kw_only=True):
    """What every client sees first (AHP ``RootState``).

    Args:
        agents: The agents that can be used.
        active_sessions: How many sessions are open.
        terminals: Terminals, as AHP lists them.
        config: The host's settings.
        meta: Anything more.
        sessions: Ours: the open sessions, in the order they were opened.

    Example:
        >>> RootState(agents=()).sessions is None
        True
    """

    agents: tuple[AgentInfo, ...]
    active_sessions: int | None = None
    terminals: tuple[TerminalInfo, ...] | None = None
    config: RootConfigState | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")
    sessions: tuple[SessionSummary, ...] | None = None
