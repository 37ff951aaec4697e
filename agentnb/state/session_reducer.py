"""Reduces a session channel: `SessionState` and an action to `SessionState`."""

from __future__ import annotations

from agentnb.state import session_actions as actions
from agentnb.state import session_member_reducer  # noqa: F401 - registers its reducers
from agentnb.state.action import Action
from agentnb.state.change import changed, put, without
from agentnb.state.reducers import REDUCERS, reduces, row, sets
from agentnb.state.session_state import ContextUsage, SessionModes, SessionState
from agentnb.state.status import SessionStatus

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
    """A session after an action.

    Args:
        state: The session before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The session after; the very same object when nothing has changed.
    """
    reducer = REDUCERS["session"].get(type(action))
    after: SessionState = state if reducer is None else reducer(state, action)
    return after
