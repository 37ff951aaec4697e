"""Reduces the root channel: `RootState` and an action to `RootState`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentnb.state.action import Action
from agentnb.state.change import changed, upsert, without
from agentnb.state.root_actions import (
    RootActiveSessionsChanged,
    RootAgentsChanged,
    RootConfigChanged,
    RootTerminalsChanged,
    XSessionRemoved,
    XSessionSet,
)
from agentnb.state.root_state import RootState


def _agents_changed(state: RootState, action: RootAgentsChanged) -> RootState:
    return changed(state, agents=action.agents)


def _active_sessions_changed(state: RootState, action: RootActiveSessionsChanged) -> RootState:
    return changed(state, active_sessions=action.active_sessions)


def _terminals_changed(state: RootState, action: RootTerminalsChanged) -> RootState:
    return changed(state, terminals=action.terminals)


def _config_changed(state: RootState, action: RootConfigChanged) -> RootState:
    if state.config is None:
        return state
    values = action.config if action.replace else {**state.config.values, **action.config}
    return changed(state, config=changed(state.config, values=values))


def _session_set(state: RootState, action: XSessionSet) -> RootState:
    return changed(state, sessions=upsert(state.sessions, action.summary, "resource"))


def _session_removed(state: RootState, action: XSessionRemoved) -> RootState:
    if state.sessions is None:
        return state
    return changed(state, sessions=without(state.sessions, "resource", action.resource))


REDUCERS: dict[type[Action], Callable[[RootState, Any], RootState]] = {
    RootAgentsChanged: _agents_changed,
    RootActiveSessionsChanged: _active_sessions_changed,
    RootTerminalsChanged: _terminals_changed,
    RootConfigChanged: _config_changed,
    XSessionSet: _session_set,
    XSessionRemoved: _session_removed,
}


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
    reducer = REDUCERS.get(type(action))
    return state if reducer is None else reducer(state, action)
