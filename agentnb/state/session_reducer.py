"""Reduces a session channel: `SessionState` and an action to `SessionState`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agentnb.state import session_actions as actions
from agentnb.state.action import Action
from agentnb.state.change import changed, field, put, without
from agentnb.state.reducers import reduced, reduces, row, sets
from agentnb.state.session_state import ContextUsage, SessionModes, SessionState
from agentnb.state.wire import JsonObject, SessionStatus

sets(actions.SessionServerToolsChanged, server_tools="tools")
sets(actions.SessionCustomizationsChanged, "customizations")


@reduces(actions.SessionActiveClientSet)
def _client_set(state: SessionState, action: actions.SessionActiveClientSet) -> SessionState:
    return changed(state, active_clients=_upsert(state.active_clients or (), action.active_client, "clientId"))


@reduces(actions.SessionActiveClientRemoved)
def _client_removed(state: SessionState, action: actions.SessionActiveClientRemoved) -> SessionState:
    if state.active_clients is None:
        return state
    return changed(state, active_clients=without(state.active_clients, "clientId", action.client_id))


@reduces(actions.SessionCustomizationToggled)
def _customization_toggled(state: SessionState, action: actions.SessionCustomizationToggled) -> SessionState:
    items = state.customizations or ()
    at = _find(items, "id", action.id)
    if at is None:
        return state
    return changed(state, customizations=put(items, at, {**items[at], "enabled": action.enabled}))


@reduces(actions.SessionCustomizationUpdated)
def _customization_updated(state: SessionState, action: actions.SessionCustomizationUpdated) -> SessionState:
    return changed(state, customizations=_upsert(state.customizations or (), action.customization, "id"))


@reduces(actions.SessionCustomizationRemoved)
def _customization_removed(state: SessionState, action: actions.SessionCustomizationRemoved) -> SessionState:
    if state.customizations is None:
        return state
    items = without(state.customizations, "id", action.id)
    if items is state.customizations:
        items = tuple(_with_children(item, lambda inner: without(inner, "id", action.id)) for item in items)
    return changed(state, customizations=items)


@reduces(actions.SessionMcpServerStateChanged)
def _mcp_server_changed(state: SessionState, action: actions.SessionMcpServerStateChanged) -> SessionState:
    if state.customizations is None:
        return state

    def served(item: Any) -> Any:
        if field(item, "id") != action.id or field(item, "type") != "mcpServer":
            return item
        rest = {name: value for name, value in item.items() if name != "channel"}
        channel = {} if action.channel is None else {"channel": action.channel}
        return {**rest, "state": action.state, **channel}

    items = (_with_children(served(item), lambda children: map(served, children)) for item in state.customizations)
    return changed(state, customizations=tuple(items))


def _with_children(item: JsonObject, change: Callable[[tuple[Any, ...]], Iterable[Any]]) -> JsonObject:
    children = item.get("children")
    if not isinstance(children, (list, tuple)):
        return item
    return {**item, "children": list(change(tuple(children)))}


def _find(items: tuple[JsonObject, ...], key: str, value: object) -> int | None:
    if not isinstance(value, str):
        return None
    return next((i for i, item in enumerate(items) if item.get(key) == value), None)


def _upsert(items: tuple[JsonObject, ...], item: JsonObject, key: str) -> tuple[JsonObject, ...]:
    at = _find(items, key, item.get(key))
    return put(items, len(items) if at is None else at, item)


sets(actions.SessionTitleChanged, "title")
sets(actions.SessionActivityChanged, "activity")
sets(actions.SessionMetaChanged, "meta")
sets(actions.SessionDefaultChatChanged, "default_chat")
sets(actions.SessionChangesetsChanged, "changesets")
row(actions.SessionReady, ("value", "lifecycle", "ready"))
row(actions.SessionCreationFailed, ("value", "lifecycle", "failed"), ("set", "creation_error", "error"))
row(actions.SessionIsReadChanged, ("flag", "status", "is_read", SessionStatus.IS_READ))
row(actions.SessionIsArchivedChanged, ("flag", "status", "is_archived", SessionStatus.IS_ARCHIVED))
row(actions.SessionConfigChanged, ("merge", "config"))
row(actions.SessionChatAdded, ("upsert", "chats", "summary", "resource"))
sets(actions.XCommandsChanged, "commands")
sets(actions.XModesChanged, "modes")
sets(actions.XConfigOptionsChanged, "config_options")
sets(actions.XAgentChanged, "agent_process")


@reduces(actions.SessionChatRemoved)
def _chat_removed(state: SessionState, action: actions.SessionChatRemoved) -> SessionState:
    chats = without(state.chats, "resource", action.chat)
    if chats is state.chats:
        return state
    default = None if state.default_chat == action.chat else state.default_chat
    return changed(state, chats=chats, default_chat=default)


@reduces(actions.SessionChatUpdated)
def _chat_updated(state: SessionState, action: actions.SessionChatUpdated) -> SessionState:
    at = next((i for i, chat in enumerate(state.chats) if chat.resource == action.chat), None)
    if at is None:
        return state
    names = action.changes.__struct_fields__
    fields = {name: value for name in names if (value := getattr(action.changes, name)) is not None}
    chat = changed(state.chats[at], **fields)
    return state if chat is state.chats[at] else changed(state, chats=put(state.chats, at, chat))


@reduces(actions.XModeChanged)
def _mode_changed(state: SessionState, action: actions.XModeChanged) -> SessionState:
    modes = state.modes or SessionModes(current_mode_id=action.mode_id, available_modes=())
    return changed(state, modes=changed(modes, current_mode_id=action.mode_id))


@reduces(actions.XConfigOptionChosen)
def _config_option_chosen(state: SessionState, action: actions.XConfigOptionChosen) -> SessionState:
    options = state.config_options or ()
    at = next((i for i, option in enumerate(options) if option.get("id") == action.config_id), None)
    if at is None:
        return state
    return changed(state, config_options=put(options, at, {**options[at], "currentValue": action.value}))


@reduces(actions.XContextUsageChanged)
def _context_usage_changed(state: SessionState, action: actions.XContextUsageChanged) -> SessionState:
    return changed(state, context_usage=ContextUsage(used=action.used, size=action.size, cost=action.cost))


def reduce_session(state: SessionState, action: Action) -> SessionState:
    return reduced("session", state, action)
