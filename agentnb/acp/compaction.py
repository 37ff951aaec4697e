"""Compaction of an agent's context (ACP ``compaction_update``, ``compaction_summary_chunk``), as a call of a tool.

So it is one line of the answer, in its place, which later updates change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import text
from agentnb.acp.tool_calls import with_content

if TYPE_CHECKING:
    from agentnb.state import ToolCallState

_TITLES = {
    "completed": "Compacted the conversation",
    "failed": "Could not compact the conversation",
    "cancelled": "Could not compact the conversation",
}
NAME = "compaction"


def compaction_id(update: dict[str, Any]) -> str | None:
    """The id of the call that stands for the compaction of *update*."""
    compaction = text(update.get("compactionId"))
    return None if compaction is None else f"{NAME}:{compaction}"


def as_call(update: dict[str, Any], call: ToolCallState | None) -> dict[str, Any]:
    """*update* as ACP ``tool_call_update`` of the *call* that stands for the compaction."""
    status = update.get("status", "in_progress" if call is None else None)
    described: dict[str, Any] = {
        "name": NAME,
        "title": _TITLES.get(str(status), "Compacting the conversation" if call is None else None),
        "status": "failed" if status == "cancelled" else status,
    }
    if update.get("sessionUpdate") == "compaction_summary_chunk":
        return described | {"content": with_content(call, _shown(update.get("content")))}
    if status in {"failed", "cancelled"}:
        error = text(update.get("error")) or ("It was cancelled." if status == "cancelled" else None)
        return described | ({"content": error} if error else {})
    if "summary" in update:
        summary = update["summary"]
        described["content"] = [_shown(block) for block in summary] if isinstance(summary, list) else []
    return described


def _shown(block: Any) -> dict[str, Any]:
    return {"type": "content", "content": block}
