"""Reduces the terminals that a chat shows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from agentnb.state.change import changed
from agentnb.state.chat_actions import XTerminalData, XTerminalExited, XTerminalOpened
from agentnb.state.chat_state import ChatState
from agentnb.state.reducers import reduces
from agentnb.state.terminal_views import TerminalView, TerminalViews

OUTPUT_LIMIT = 65_536
"""How many characters (Unicode code points) of a terminal's output the state keeps: the last ones."""


@reduces(XTerminalOpened)
def opened(state: ChatState, action: XTerminalOpened) -> ChatState:
    """A terminal, in the place of the one with the same id."""
    terminals = TerminalViews.of(state.terminals).with_terminal(action.terminal)
    return state if terminals is state.terminals else replace(state, terminals=terminals)


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
    terminals = TerminalViews.of(state.terminals)
    at = terminals.find(terminal_id)
    if at < 0:
        return state
    terminal = update(terminals[at])
    return state if terminal is terminals[at] else replace(state, terminals=terminals.with_terminal(terminal))
