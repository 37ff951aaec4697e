"""Reduces what takes part in a session: clients, customizations, MCP servers. They are JSON, kept as sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentnb.state import session_member_actions as actions
from agentnb.state.change import changed, put
from agentnb.state.reducers import reduces, sets
from agentnb.state.session_state import SessionState
from agentnb.state.wire import JsonObject

sets(actions.SessionServerToolsChanged, server_tools="tools")
sets(actions.SessionCustomizationsChanged, "customizations")


@reduces(actions.SessionActiveClientSet)
def _client_set(state: SessionState, action: actions.SessionActiveClientSet) -> SessionState:
    return changed(state, active_clients=_upsert(state.active_clients or (), action.active_client, "clientId"))


@reduces(actions.SessionActiveClientRemoved)
def _client_removed(state: SessionState, action: actions.SessionActiveClientRemoved) -> SessionState:
    if state.active_clients is None:
        return state
    return changed(state, active_clients=_without(state.active_clients, "clientId", action.client_id))


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
    items = _without(state.customizations, "id", action.id)
    if items is state.customizations:
        items = tuple(_with_children(item, lambda inner: _without(inner, "id", action.id)) for item in items)
    return changed(state, customizations=items)


@reduces(actions.SessionMcpServerStateChanged)
def _mcp_server_changed(state: SessionState, action: actions.SessionMcpServerStateChanged) -> SessionState:
    if state.customizations is None:
        return state

    def served(item: Any) -> Any:
        if _field(item, "id") != action.id or _field(item, "type") != "mcpServer":
            return item
        rest = {name: value for name, value in item.items() if name != "channel"}
        channel = {} if action.channel is None else {"channel": action.channel}
        return {**rest, "state": action.state, **channel}

    def all_served(children: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(served(child) for child in children)

    return changed(
        state, customizations=tuple(_with_children(served(item), all_served) for item in state.customizations)
    )


def _with_children(item: JsonObject, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> JsonObject:
    children = item.get("children")
    if not isinstance(children, (list, tuple)):
        return item
    return {**item, "children": list(change(tuple(children)))}


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else None


def _find(items: tuple[JsonObject, ...], key: str, value: object) -> int | None:
    if not isinstance(value, str):
        return None
    return next((i for i, item in enumerate(items) if item.get(key) == value), None)


def _upsert(items: tuple[JsonObject, ...], item: JsonObject, key: str) -> tuple[JsonObject, ...]:
    at = _find(items, key, item.get(key))
    return put(items, len(items) if at is None else at, item)


def _without(items: tuple[Any, ...], key: str, value: str) -> tuple[Any, ...]:
    rest = tuple(item for item in items if _field(item, key) != value)
    return items if len(rest) == len(items) else rest
