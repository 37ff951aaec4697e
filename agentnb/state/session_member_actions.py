"""Actions of a session channel on what takes part in it: clients with tools of their own, customizations, MCP servers.

ACP does not tell of these, so no agent of ours causes them; they are reduced as the Agent Host Protocol says. No view
shows them, and the page has no reducer for them: should one ever be accepted, the page is sent the session's state.
"""

from __future__ import annotations

from agentnb.state.action import SessionMemberAction
from agentnb.state.wire import JsonObject


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
    """An MCP server starts, serves, wants a login, fails or stops (AHP ``session/mcpServerStateChanged``).

    Args:
        id: The customization's id, wherever it is.
        state: Its state.
        channel: Where it is to be reached; ``None`` for nowhere.
    """

    id: str
    state: JsonObject
    channel: str | None = None
