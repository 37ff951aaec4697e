"""Terminals that an agent runs itself and shows through ``_meta`` of a tool call.

``terminal_info {terminal_id, cwd}`` opens one, ``terminal_output {terminal_id, data}`` prints, ``terminal_exit
{terminal_id, exit_code, signal}`` ends it; the ids are the agent's, we never made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import count, mapping, text
from agentnb.state import TerminalView, TerminalViews, XTerminalData, XTerminalExited, XTerminalOpened

if TYPE_CHECKING:
    from agentnb.state import Action, ChatState


def terminal_actions(update: dict[str, Any], chat: ChatState, time: int) -> tuple[Action, ...]:
    """The actions for what a tool call's ``_meta`` says about terminals; usually none."""
    meta = mapping(update.get("_meta"))
    if not meta:
        return ()
    info, output, end = (mapping(meta.get(f"terminal_{name}")) for name in ("info", "output", "exit"))
    if not (info or output or end):
        return ()
    actions: list[Action] = []
    terminal_id = next((name for each in (info, output, end) if (name := text(each.get("terminal_id")))), None)
    if terminal_id is None:
        return ()
    if TerminalViews.of(chat.terminals).find(terminal_id) < 0:
        view = TerminalView(id=terminal_id, command=text(update.get("title")) or "", cwd=text(info.get("cwd")))
        actions.append(XTerminalOpened(terminal=view, time=time))
    if data := text(output.get("data")):
        actions.append(XTerminalData(terminal_id=terminal_id, data=data, time=time))
    if end:
        code, signal = count(end.get("exit_code")), text(end.get("signal"))
        actions.append(XTerminalExited(terminal_id=terminal_id, exit_code=code, signal=signal, time=time))
    return tuple(actions)
