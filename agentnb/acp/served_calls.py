"""The tool calls of a program that speaks MCP to us and not ACP, as the actions that an agent's over ACP become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.mapper import map_update

if TYPE_CHECKING:
    from agentnb.state import Action, ChatState


def begun_call(
    chat: ChatState, turn_id: str, call_id: str, name: str, *, title: str, kind: str, arguments: Any, time: int
) -> tuple[Action, ...]:
    """The actions for a call that begins."""
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": title,
        "name": name,
        "kind": kind,
        "status": "pending",
        "rawInput": arguments if isinstance(arguments, dict) else {},
    }
    return map_update(update, chat, turn_id, time)


def ended_call(chat: ChatState, turn_id: str, call_id: str, result: dict[str, Any], time: int) -> tuple[Action, ...]:
    """The actions for a call that has ended."""
    update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id,
        "status": "failed" if result["isError"] else "completed",
        "content": [{"type": "content", "content": block} for block in result["content"]],
    }
    return map_update(update, chat, turn_id, time)
