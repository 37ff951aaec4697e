"""Reduces the terminals that a chat shows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from agentnb.state.change import changed, put, upsert
from agentnb.state.chat_actions import XTerminalData, XTerminalExited, XTerminalOpened
from agentnb.state.chat_state import ChatState, TerminalView
from agentnb.state.reducers import reduces

OUTPUT_LIMIT = 65_536
"""How many characters (Unicode code points) of a terminal's output the state keeps: the last ones."""


@reduces(XTerminalOpened)
def opened(state: ChatState, action: XTerminalOpened) -> ChatState:
    """A terminal, in the place of the one with the same id."""
    return changed(state, terminals=upsert(state.terminals, action.terminal, "id"))


@reduces(XTerminalData)
def data(state: ChatState, action: XTerminalData) -> ChatState:
    """A terminal printed something."""
    if not action.data:
        return state
    return _updated(state, action.terminal_id, lambda terminal: _printed(terminal, action.data))


def _printed(terminal: TerminalView, text: str) -> TerminalView:
    output = terminal.output + text
    if len(output) <= OUTPUT_LIMIT:
        return replace(terminal, output=output)
    return replace(terminal, output=output[-OUTPUT_LIMIT:], truncated=True)


@reduces(XTerminalExited)
def exited(state: ChatState, action: XTerminalExited) -> ChatState:
    """A terminal's program ended."""
    return _updated(
        state,
        action.terminal_id,
        lambda terminal: changed(terminal, exited=True, exit_code=action.exit_code, signal=action.signal),
    )


def _updated(state: ChatState, terminal_id: str, update: Callable[[TerminalView], TerminalView]) -> ChatState:
    terminals = state.terminals or ()
    for at in range(len(terminals) - 1, -1, -1):
        if terminals[at].id == terminal_id:
            terminal = update(terminals[at])
            return state if terminal is terminals[at] else replace(state, terminals=put(terminals, at, terminal))
    return state
