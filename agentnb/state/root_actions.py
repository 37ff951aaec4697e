"""Actions of the root channel."""

from __future__ import annotations

from typing import TypeAlias

from agentnb.state.action import KnownAction
from agentnb.state.root_state import AgentInfo, TerminalInfo
from agentnb.state.session_state import SessionSummary
from agentnb.state.wire import JsonObject


class RootAgentsChanged(KnownAction, frozen=True, kw_only=True, tag="root/agentsChanged"):
    """The agents that can be used (AHP ``root/agentsChanged``)."""

    agents: tuple[AgentInfo, ...]


class RootActiveSessionsChanged(KnownAction, frozen=True, kw_only=True, tag="root/activeSessionsChanged"):
    """How many sessions are open (AHP ``root/activeSessionsChanged``)."""

    active_sessions: int


class RootTerminalsChanged(KnownAction, frozen=True, kw_only=True, tag="root/terminalsChanged"):
    """The terminals that there are (AHP ``root/terminalsChanged``)."""

    terminals: tuple[TerminalInfo, ...]


class RootConfigChanged(KnownAction, frozen=True, kw_only=True, tag="root/configChanged"):
    """Settings of the host changed (AHP ``root/configChanged``).

    Args:
        config: The new values.
        replace: Whether they are all there is; else they are merged.
    """

    config: JsonObject
    replace: bool | None = None


class XSessionSet(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/sessionSet"):
    """Ours: a session was opened, or its summary changed."""

    summary: SessionSummary


class XSessionRemoved(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/sessionRemoved"):
    """Ours: a session was closed.

    Args:
        resource: Its URI.
    """

    resource: str


RootAction: TypeAlias = (
    RootAgentsChanged
    | RootActiveSessionsChanged
    | RootTerminalsChanged
    | RootConfigChanged
    | XSessionSet
    | XSessionRemoved
)
"""The actions of the root channel."""
