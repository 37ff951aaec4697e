"""Reduces a terminal channel: `TerminalState` and an action to `TerminalState`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from agentnb.state import terminal_actions as actions
from agentnb.state.action import Action
from agentnb.state.change import changed, put
from agentnb.state.terminal_state import TerminalCommandPart, TerminalState, TerminalUnclassifiedPart


def _data(state: TerminalState, action: actions.TerminalData) -> TerminalState:
    """To the running command or to what is between commands, whichever comes last."""
    if not action.data:
        return state
    at = len(state.content) - 1
    match state.content[-1:]:
        case (TerminalUnclassifiedPart() as part,):
            return changed(state, content=put(state.content, at, replace(part, value=part.value + action.data)))
        case (TerminalCommandPart(is_complete=False) as command,):
            return changed(state, content=put(state.content, at, replace(command, output=command.output + action.data)))
        case _:
            return changed(state, content=(*state.content, TerminalUnclassifiedPart(value=action.data)))


def _input(state: TerminalState, _action: actions.TerminalInput) -> TerminalState:
    return state


def _resized(state: TerminalState, action: actions.TerminalResized) -> TerminalState:
    return changed(state, cols=action.cols, rows=action.rows)


def _claimed(state: TerminalState, action: actions.TerminalClaimed) -> TerminalState:
    return changed(state, claim=action.claim)


def _title_changed(state: TerminalState, action: actions.TerminalTitleChanged) -> TerminalState:
    return changed(state, title=action.title)


def _cwd_changed(state: TerminalState, action: actions.TerminalCwdChanged) -> TerminalState:
    return changed(state, cwd=action.cwd)


def _exited(state: TerminalState, action: actions.TerminalExited) -> TerminalState:
    return changed(state, exit_code=action.exit_code)


def _cleared(state: TerminalState, _action: actions.TerminalCleared) -> TerminalState:
    return changed(state, content=())


def _detection_available(state: TerminalState, _action: actions.TerminalCommandDetectionAvailable) -> TerminalState:
    return changed(state, supports_command_detection=True)


def _command_executed(state: TerminalState, action: actions.TerminalCommandExecuted) -> TerminalState:
    command = TerminalCommandPart(
        command_id=action.command_id,
        command_line=action.command_line,
        output="",
        timestamp=action.timestamp,
        is_complete=False,
    )
    return changed(state, content=(*state.content, command), supports_command_detection=True)


def _command_finished(state: TerminalState, action: actions.TerminalCommandFinished) -> TerminalState:
    for at, part in enumerate(state.content):
        if isinstance(part, TerminalCommandPart) and part.command_id == action.command_id and not part.is_complete:
            done = replace(part, is_complete=True, exit_code=action.exit_code, duration_ms=action.duration_ms)
            return changed(state, content=put(state.content, at, done))
    return state


REDUCERS: dict[type[Action], Callable[[TerminalState, Any], TerminalState]] = {
    actions.TerminalData: _data,
    actions.TerminalInput: _input,
    actions.TerminalResized: _resized,
    actions.TerminalClaimed: _claimed,
    actions.TerminalTitleChanged: _title_changed,
    actions.TerminalCwdChanged: _cwd_changed,
    actions.TerminalExited: _exited,
    actions.TerminalCleared: _cleared,
    actions.TerminalCommandDetectionAvailable: _detection_available,
    actions.TerminalCommandExecuted: _command_executed,
    actions.TerminalCommandFinished: _command_finished,
}


def reduce_terminal(state: TerminalState, action: Action) -> TerminalState:
    """A terminal after an action.

    Args:
        state: The terminal before.
        action: What happened. One that is not for this channel, or unknown, changes nothing.

    Returns:
        The terminal after; the very same object when nothing has changed.
    """
    reducer = REDUCERS.get(type(action))
    return state if reducer is None else reducer(state, action)
