"""The ACP `session/update` notifications that an agent sends, and their parts."""

from __future__ import annotations

from typing import Any, Literal

from agentnb.plugins.acp_agent.content import fields

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolCallStatus = Literal["pending", "in_progress", "completed", "failed"]
ChunkKind = Literal["agent_message_chunk", "agent_thought_chunk"]
Update = dict[str, Any]


def update(session_update: str, /, **values: object) -> Update:
    return fields(**values, session_update=session_update)


def text_chunk(text: str, kind: ChunkKind = "agent_message_chunk", message_id: str | None = None) -> Update:
    """Returns a part of a message or thought; parts with the same *message_id* belong together."""
    return update(kind, content={"text": text, "type": "text"}, message_id=message_id)


def select(
    option_id: str,
    name: str,
    description: str,
    current_value: str,
    options: object,
    *,
    category: str | None = None,
    meta: object = None,
) -> dict[str, Any]:
    """Returns a config option with values to choose from."""
    values = fields(current_value=current_value, options=options, id=option_id, name=name, description=description)
    return {**values, **fields(category=category, type="select", _meta=meta)}


def shown_content(content: object) -> dict[str, Any]:
    """Wrap content for a tool call to show."""
    return {"content": content, "type": "content"}


def shown_text(text: str) -> dict[str, Any]:
    return shown_content({"text": text, "type": "text"})


def shown_diff(path: object, old_text: str | None, new_text: str) -> dict[str, Any]:
    return fields(path=str(path), old_text=old_text, new_text=new_text, type="diff")
