"""The root channel (``ahp-root://``): which agents there are, which sessions are open; its actions and reducer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentnb.state.action import Action, RootAction
from agentnb.state.reducers import reduced, row, sets
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
    """Ours: the installation of an agent, running or ended.

    Args:
        state: ``"running"``, ``"checking"`` (tests if the agent answers), ``"done"``, ``"failed"`` or ``"stopped"``.
        message: The outcome and the next step, for people.
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
        description: A description, or why it cannot be used yet.
        models: The models it offers.
        protected_resources: From AHP, kept as sent.
        customizations: From AHP, kept as sent.
        missing: Ours: True if its program is not installed here.
        install: Ours: the command line that installs it, if it is missing and has one.
        can_install: Ours: True if `installAgent` can run that line.
        runner: Ours: the command that starts it without an installation, as one line, if it is missing and the npx or
            uvx that this command uses is installed.
        setup: Ours: its installation, since the kernel started.
        hidden: Ours: True if the user has hidden it from lists.
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
        claim: The client or session that holds it.
        lifecycle: The state of its process: running, or exited and how (AHP ``TerminalLifecycle``).
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
    """The first state that every client gets (AHP ``RootState``).

    Args:
        agents: The agents that can be used.
        active_sessions: The number of open sessions.
        terminals: Terminals, as AHP lists them.
        config: The host's settings.
        meta: Additional data.
        sessions: Ours: the open sessions, in the order of opening.

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
    """The host's settings changed (AHP ``root/configChanged``).

    Args:
        config: The new values.
        replace: True if they replace all settings; otherwise they are merged.
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
    """Returns the root after an action.

    Example:
        >>> reduce_root(RootState(agents=()), RootActiveSessionsChanged(active_sessions=2)).active_sessions
        2
    """
    return reduced("root", state, action)
