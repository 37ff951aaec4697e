"""A session: who serves it, which chats it has, what it offers (channel ``<agent>:/<tab id>``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.state.chat_state import ChatSummary
from agentnb.state.wire import ErrorInfo, JsonObject, Number, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

SessionLifecycle: TypeAlias = Literal["creating", "ready", "failed"]
"""The progress of a session's start (AHP ``SessionLifecycle``)."""


class ProjectInfo(Wire, frozen=True, kw_only=True):
    """The project that a session works on (AHP ``ProjectInfo``)."""

    uri: str
    display_name: str


class ChangesSummary(Wire, frozen=True, kw_only=True):
    """How much a session has changed: lines and files (AHP ``ChangesSummary``)."""

    additions: int | None = None
    deletions: int | None = None
    files: int | None = None


class SessionSummary(Wire, frozen=True, kw_only=True):
    """A session in a list (AHP ``SessionSummary``).

    Args:
        resource: The session's URI, ``<agent>:/<tab id>``.
        provider: The agent's name.
        title: Its title.
        status: `SessionStatus` bits.
        activity: Its current activity, for people.
        created_at: Creation time, ISO 8601.
        modified_at: Time of the last change, ISO 8601.
        project: The project it works on.
        working_directories: Its folders, as URIs.
        changes: A summary of its changes.
        annotations: Counts of its annotations, as sent.
        meta: Additional data.
    """

    resource: str
    provider: str
    title: str
    status: int
    activity: str | None = None
    created_at: str
    modified_at: str
    project: ProjectInfo | None = None
    working_directories: tuple[str, ...] | None = None
    changes: ChangesSummary | None = None
    annotations: JsonObject | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class SessionConfigState(Wire, frozen=True, kw_only=True):
    """Settings of a session: the available ones and their values (AHP ``SessionConfigState``).

    Args:
        schema: A JSON Schema.
        values: The values, by property.
    """

    schema: JsonObject
    values: JsonObject


class Changeset(Wire, frozen=True, kw_only=True):
    """A set of changes that can be looked at (AHP ``Changeset``)."""

    label: str
    uri_template: str
    description: str | None = None
    change_kind: str


class AgentCommand(Wire, frozen=True, kw_only=True):
    """Ours: a slash command (ACP ``AvailableCommand``).

    Args:
        name: Its name, without the slash.
        description: What it does.
        hint: A hint for the text after it.
    """

    name: str
    description: str
    hint: str | None = None


class SessionMode(Wire, frozen=True, kw_only=True):
    """Ours: a way the agent can work in (ACP ``SessionMode``)."""

    id: str
    name: str
    description: str | None = None


class SessionModes(Wire, frozen=True, kw_only=True):
    """Ours: the modes on offer and the one in force (ACP ``SessionModeState``)."""

    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class Cost(Wire, frozen=True, kw_only=True):
    """Ours: money spent (ACP ``Cost``).

    Args:
        amount: The amount.
        currency: ISO 4217 code.
    """

    amount: Number
    currency: str


class ContextUsage(Wire, frozen=True, kw_only=True):
    """Ours: the usage of the model's context (ACP ``usage_update``).

    Args:
        used: Tokens in the context.
        size: Maximum number of tokens.
        cost: Cost of this session so far.
    """

    used: int
    size: int
    cost: Cost | None = None


class AgentProcess(Wire, frozen=True, kw_only=True):
    """Ours: the process that serves the session.

    Args:
        name: The agent's name, from the agent.
        version: Its version.
        state: The state of the process.
        message: A message for people, such as the reason for a failure.
        steering: True if it accepts a message during its running turn.
        fork: True if it can copy a session (ACP ``session/fork``).
        confined: Its confinement, in one line; None if it is not confined.
        unconfined: For an unconfined agent: what it can do, and how to confine it.
        acts_unasked: Why it may act without asking although the permissions are Ask or Deny, and what limits it; None
            if it asks.
    """

    name: str | None = None
    version: str | None = None
    state: Literal["starting", "running", "stopped", "failed"]
    message: str | None = None
    steering: bool | None = None
    fork: bool | None = None
    confined: str | None = None
    unconfined: str | None = None
    acts_unasked: str | None = None


class SessionState(Wire, frozen=True, kw_only=True):
    """Everything about one session (AHP ``SessionState``).

    Args:
        provider: The agent's name.
        title: Its title.
        status: `SessionStatus` bits.
        activity: Its current activity, for people.
        project: The project it works on.
        working_directories: Its folders, as URIs.
        annotations: Counts of its annotations, as sent.
        lifecycle: The state of its creation.
        creation_error: The error, if that failed.
        server_tools: From AHP, kept as sent.
        active_clients: From AHP, kept as sent.
        chats: Its chats.
        default_chat: The chat that gets the input.
        config: Its settings.
        customizations: From AHP, kept as sent.
        changesets: The sets of changes that it offers.
        meta: Additional data.
        commands: Ours: slash commands.
        modes: Ours: modes.
        config_options: Ours: ACP config options as sent, with the current ``currentValue``.
        context_usage: Ours: the usage of the model's context.
        agent_process: Ours: the process that serves it.
    """

    provider: str
    title: str
    status: int
    activity: str | None = None
    project: ProjectInfo | None = None
    working_directories: tuple[str, ...] | None = None
    annotations: JsonObject | None = None
    lifecycle: SessionLifecycle
    creation_error: ErrorInfo | None = None
    server_tools: tuple[JsonObject, ...] | None = None
    active_clients: tuple[JsonObject, ...] | None = None
    chats: tuple[ChatSummary, ...]
    default_chat: str | None = None
    config: SessionConfigState | None = None
    customizations: tuple[JsonObject, ...] | None = None
    changesets: tuple[Changeset, ...] | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")
    commands: tuple[AgentCommand, ...] | None = None
    modes: SessionModes | None = None
    config_options: tuple[JsonObject, ...] | None = None
    context_usage: ContextUsage | None = None
    agent_process: AgentProcess | None = None


def model_options(session: SessionState) -> list[JsonObject]:
    return [each for each in session.config_options or () if "model" in (each.get("category"), each.get("id"))]


def model_id(session: SessionState) -> str:
    """The language model that is chosen among the config options; empty where there is no such option."""
    return next((value for each in model_options(session) if isinstance(value := option_value(each), str)), "")


def option_choices(options: object) -> Iterator[JsonObject]:
    """What a config option offers, in groups or not; ACP's shapes, as they were sent."""
    for each in options if isinstance(options, (list, tuple)) else ():
        if isinstance(each, dict) and "value" in each:
            yield each
        elif isinstance(each, dict):
            yield from option_choices(each.get("options"))


def option_value(option: JsonObject) -> object:
    """Returns the current value of a config option.

    Example:
        >>> option_value({"id": "mode", "currentValue": "ask"})
        'ask'
    """
    return option.get("currentValue")
