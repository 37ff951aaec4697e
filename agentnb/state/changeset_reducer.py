"""Reduces a changeset channel: `ChangesetState` and an action to `ChangesetState`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentnb.state import changeset_actions as actions
from agentnb.state.action import Action
from agentnb.state.change import changed, put, upsert, without
from agentnb.state.changeset_state import ChangesetState


def _status_changed(state: ChangesetState, action: actions.ChangesetStatusChanged) -> ChangesetState:
    return changed(state, status=action.status, error=action.error)


def _file_set(state: ChangesetState, action: actions.ChangesetFileSet) -> ChangesetState:
    return changed(state, files=upsert(state.files, action.file, "id"))


def _file_removed(state: ChangesetState, action: actions.ChangesetFileRemoved) -> ChangesetState:
    return changed(state, files=without(state.files, "id", action.file_id))


def _content_changed(state: ChangesetState, action: actions.ChangesetContentChanged) -> ChangesetState:
    operations = state.operations if action.operations is None else action.operations
    return changed(state, files=action.files, operations=operations, error=action.error)


def _operations_changed(state: ChangesetState, action: actions.ChangesetOperationsChanged) -> ChangesetState:
    return changed(state, operations=action.operations)


def _operation_status_changed(state: ChangesetState, action: actions.ChangesetOperationStatusChanged) -> ChangesetState:
    operations = state.operations or ()
    at = next((i for i, operation in enumerate(operations) if operation.id == action.operation_id), None)
    if at is None:
        return state
    operation = changed(operations[at], status=action.status, error=action.error)
    return state if operation is operations[at] else changed(state, operations=put(operations, at, operation))


def _cleared(state: ChangesetState, _action: actions.ChangesetCleared) -> ChangesetState:
    return changed(state, files=())


REDUCERS: dict[type[Action], Callable[[ChangesetState, Any], ChangesetState]] = {
    actions.ChangesetStatusChanged: _status_changed,
    actions.ChangesetFileSet: _file_set,
    actions.ChangesetFileRemoved: _file_removed,
    actions.ChangesetContentChanged: _content_changed,
    actions.ChangesetOperationsChanged: _operations_changed,
    actions.ChangesetOperationStatusChanged: _operation_status_changed,
    actions.ChangesetCleared: _cleared,
}


def reduce_changeset(state: ChangesetState, action: Action) -> ChangesetState:
    """A set of changes after an action.

    Args:
        state: The set before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The set after; the very same object when nothing has changed.
    """
    reducer = REDUCERS.get(type(action))
    return state if reducer is None else reducer(state, action)
