"""The root channel (``ahp-root://``): which agents there are, which sessions are open; its actions and reducer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentnb.state.action import Action, RootAction
from agentnb.state.reducers import REDUCERS, row, sets
from agentnb.state.session_state import SessionSummary
from agentnb.state.terminal import TerminalView
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


class AgentSetup(Wire, frozen=True, kw_only=True):
    """Ours: an install of an agent, running or ended.

    Args:
        state: ``"running"``, ``"checking"`` (whether the agent answers), ``"done"``, ``"failed"`` or ``"stopped"``.
        message: What came of it and what to do, for people.
        terminal: The installer's terminal.
    """

    state: Literal["running", "checking", "done", "failed", "stopped"]
    message: str = ""
    terminal: TerminalView


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
        install: Ours: the line to type to install it, where it is missing and there is one.
        can_install: Ours: whether `installAgent` can run that line.
        runner: Ours: the command that starts it without an install, as one line, where it is missing and npx or uvx,
            which that takes, is not.
        setup: Ours: its install, since the kernel started.
        hidden: Ours: whether the user wants it in no list.
    """

    provider: str
    display_name: str
    description: str
    models: tuple[SessionModelInfo, ...]
    protected_resources: tuple[Any, ...] | None = None
    customizations: tuple[Any, ...] | None = None
    missing: bool | None = None
    install: str | None = None
    can_install: bool | None = None
    runner: str | None = None
    setup: AgentSetup | None = None
    hidden: bool | None = None


class TerminalInfo(Wire, frozen=True, kw_only=True):
    """A terminal that the root lists (AHP ``TerminalInfo``).

    Args:
        resource: Its URI.
        title: Its title.
        claim: Who holds it: a client or a session.
        lifecycle: Whether its process runs, and how it ended (AHP ``TerminalLifecycle``).
    """

    resource: str
    title: str
    claim: JsonObject
    lifecycle: JsonObject


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


class RootAgentsChanged(RootAction, frozen=True, kw_only=True, tag="root/agentsChanged"):
    """The agents that can be used (AHP ``root/agentsChanged``)."""

    agents: tuple[AgentInfo, ...]


class RootActiveSessionsChanged(RootAction, frozen=True, kw_only=True, tag="root/activeSessionsChanged"):
    """How many sessions are open (AHP ``root/activeSessionsChanged``)."""

    active_sessions: int


class RootTerminalsChanged(RootAction, frozen=True, kw_only=True, tag="root/terminalsChanged"):
    """The terminals that there are (AHP ``root/terminalsChanged``)."""

    terminals: tuple[TerminalInfo, ...]


class RootConfigChanged(RootAction, frozen=True, kw_only=True, tag="root/configChanged"):
    """Settings of the host changed (AHP ``root/configChanged``).

    Args:
        config: The new values.
        replace: Whether they are all there is; else they are merged.
    """

    config: JsonObject
    replace: bool | None = None


class XSessionSet(RootAction, frozen=True, kw_only=True, tag="x-agentnb/sessionSet"):
    """Ours: a session was opened, or its summary changed."""

    summary: SessionSummary


class XSessionRemoved(RootAction, frozen=True, kw_only=True, tag="x-agentnb/sessionRemoved"):
    """Ours: a session was closed.

    Args:
        resource: Its URI.
    """

    resource: str


sets(RootAgentsChanged, "agents")
sets(RootActiveSessionsChanged, "active_sessions")
sets(RootTerminalsChanged, "terminals")
row(RootConfigChanged, ("merge", "config"))
row(XSessionSet, ("upsert", "sessions", "summary", "resource"))
row(XSessionRemoved, ("remove", "sessions", "resource", "resource"))


def reduce_root(state: RootState, action: Action) -> RootState:
    """The root after an action.

    Args:
        state: The root before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The root after; the very same object when nothing has changed.

    Example:
        >>> reduce_root(RootState(agents=()), RootActiveSessionsChanged(active_sessions=2)).active_sessions
        2
    """
    reducer = REDUCERS["root"].get(type(action))
    after: RootState = state if reducer is None else reducer(state, action)
    return after
