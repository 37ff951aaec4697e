"""The actions of a session and of its members.

ACP has no messages for the members' actions (`SessionMemberAction`), so no agent of ours causes them; they are reduced
as AHP says. No view shows them, and the page has no reducer for them: if one were accepted, the page would get the
session's state.
"""

from __future__ import annotations

from typing import Any

from agentnb.state.action import SessionAction, SessionMemberAction
from agentnb.state.chat_state import ChatOrigin, ChatSummary
from agentnb.state.session_state import AgentCommand, AgentProcess, Changeset, Cost, SessionModes
from agentnb.state.wire import AgentSelection, ErrorInfo, JsonObject, ModelSelection, Wire


class SessionReady(SessionAction, frozen=True, kw_only=True, tag="session/ready"):
    """The session has come up (AHP ``session/ready``)."""


class SessionCreationFailed(SessionAction, frozen=True, kw_only=True, tag="session/creationFailed"):
    """The session did not come up (AHP ``session/creationFailed``)."""

    error: ErrorInfo


class SessionTitleChanged(SessionAction, frozen=True, kw_only=True, tag="session/titleChanged"):
    """The title, set by the agent or the user (AHP ``session/titleChanged``)."""

    title: str


class SessionIsReadChanged(SessionAction, frozen=True, kw_only=True, tag="session/isReadChanged"):
    """Whether the user has seen what is new (AHP ``session/isReadChanged``)."""

    is_read: bool


class SessionIsArchivedChanged(SessionAction, frozen=True, kw_only=True, tag="session/isArchivedChanged"):
    """Whether the session is put away (AHP ``session/isArchivedChanged``)."""

    is_archived: bool


class SessionActivityChanged(SessionAction, frozen=True, kw_only=True, tag="session/activityChanged"):
    """What the session is doing, for people; ``None`` for nothing (AHP ``session/activityChanged``)."""

    activity: str | None = None


class SessionConfigChanged(SessionAction, frozen=True, kw_only=True, tag="session/configChanged"):
    """Settings changed (AHP ``session/configChanged``).

    Args:
        config: The new values.
        replace: True if they replace all settings; otherwise they are merged.
    """

    config: JsonObject
    replace: bool | None = None


class SessionMetaChanged(SessionAction, frozen=True, kw_only=True, tag="session/metaChanged"):
    """The session's ``_meta``, replaced by the action's own (AHP ``session/metaChanged``)."""


class SessionChatAdded(SessionAction, frozen=True, kw_only=True, tag="session/chatAdded"):
    """A chat was added, or its whole entry replaced (AHP ``session/chatAdded``)."""

    summary: ChatSummary


class SessionChatRemoved(SessionAction, frozen=True, kw_only=True, tag="session/chatRemoved"):
    """A chat was removed (AHP ``session/chatRemoved``).

    Args:
        chat: Its URI.
    """

    chat: str


class ChatSummaryChanges(Wire, frozen=True, kw_only=True):
    """The fields of a `ChatSummary` that have changed."""

    title: str | None = None
    status: int | None = None
    activity: str | None = None
    modified_at: str | None = None
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    origin: ChatOrigin | None = None
    interactivity: str | None = None
    working_directories: tuple[str, ...] | None = None


class SessionChatUpdated(SessionAction, frozen=True, kw_only=True, tag="session/chatUpdated"):
    """Some fields of a chat's entry changed (AHP ``session/chatUpdated``).

    Args:
        chat: Its URI.
        changes: The fields with their new values.
    """

    chat: str
    changes: ChatSummaryChanges


class SessionDefaultChatChanged(SessionAction, frozen=True, kw_only=True, tag="session/defaultChatChanged"):
    """The chat that input goes to; ``None`` for none (AHP ``session/defaultChatChanged``)."""

    default_chat: str | None = None


class SessionChangesetsChanged(SessionAction, frozen=True, kw_only=True, tag="session/changesetsChanged"):
    """The sets of changes on offer (AHP ``session/changesetsChanged``)."""

    changesets: tuple[Changeset, ...] | None = None


class XCommandsChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/commandsChanged"):
    """Ours: the slash commands on offer (ACP ``available_commands_update``)."""

    commands: tuple[AgentCommand, ...]


class XModesChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/modesChanged"):
    """Ours: the modes on offer and the one in force (ACP ``SessionModeState``)."""

    modes: SessionModes


class XModeChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/modeChanged"):
    """Ours: the mode in force, chosen by the agent or the user (ACP ``current_mode_update``)."""

    mode_id: str


class XConfigOptionsChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/configOptionsChanged"):
    """Ours: all config options with their values, as sent (ACP ``config_option_update``)."""

    config_options: tuple[JsonObject, ...]


class XConfigOptionChosen(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/configOptionChosen"):
    """Ours: a config option got another value (ACP ``session/set_config_option``).

    Args:
        config_id: The option's ``id``.
        value: Its new ``currentValue``.
    """

    config_id: str
    value: Any


class XContextUsageChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/contextUsageChanged"):
    """Ours: the usage of the model's context (ACP ``usage_update``).

    Args:
        used: Tokens in the context.
        size: Maximum number of tokens.
        cost: Cost of this session so far.
    """

    used: int
    size: int
    cost: Cost | None = None


class XAgentChanged(SessionAction, frozen=True, kw_only=True, tag="x-agentnb/agentChanged"):
    """Ours: the process that serves the session started, stopped or failed."""

    agent_process: AgentProcess


class SessionServerToolsChanged(SessionMemberAction, frozen=True, kw_only=True, tag="session/serverToolsChanged"):
    """The tools that the host offers, all of them (AHP ``session/serverToolsChanged``)."""

    tools: tuple[JsonObject, ...]


class SessionActiveClientSet(SessionMemberAction, frozen=True, kw_only=True, tag="session/activeClientSet"):
    """A client takes part, or its whole entry is replaced (AHP ``session/activeClientSet``)."""

    active_client: JsonObject


class SessionActiveClientRemoved(SessionMemberAction, frozen=True, kw_only=True, tag="session/activeClientRemoved"):
    """A client takes part no more (AHP ``session/activeClientRemoved``)."""

    client_id: str


class SessionCustomizationsChanged(SessionMemberAction, frozen=True, kw_only=True, tag="session/customizationsChanged"):
    """The customizations, all of them (AHP ``session/customizationsChanged``)."""

    customizations: tuple[JsonObject, ...]


class SessionCustomizationToggled(SessionMemberAction, frozen=True, kw_only=True, tag="session/customizationToggled"):
    """A customization is on or off; not those within another (AHP ``session/customizationToggled``)."""

    id: str
    enabled: bool


class SessionCustomizationUpdated(SessionMemberAction, frozen=True, kw_only=True, tag="session/customizationUpdated"):
    """A customization, whole, in the place of the one with its id (AHP ``session/customizationUpdated``)."""

    customization: JsonObject


class SessionCustomizationRemoved(SessionMemberAction, frozen=True, kw_only=True, tag="session/customizationRemoved"):
    """A customization is gone, with what is in it, or one within another (AHP ``session/customizationRemoved``)."""

    id: str


class SessionMcpServerStateChanged(SessionMemberAction, frozen=True, kw_only=True, tag="session/mcpServerStateChanged"):
    """An MCP server starts, serves, needs a login, fails or stops (AHP ``session/mcpServerStateChanged``).

    Args:
        id: The customization's id, at any level.
        state: Its state.
        channel: The server's channel; ``None`` if it has none.
    """

    id: str
    state: JsonObject
    channel: str | None = None
