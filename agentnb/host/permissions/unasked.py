"""Marks tool calls that an agent ran without asking although the conversation's permissions are Ask or Deny.

Some agents act by a mode of their own and ask for nothing (Codex in ``agent``, Vibe in ``accept-edits``). agentnb
cannot stop that: the agent is a process of its own. It can say so.

Marked is a call that edits, deletes, moves or executes, and that succeeded or still ran when its turn ended. Not
marked: a call that failed, and one for which the agent asked at one of our services (a file, a terminal, the kernel)
while it ran. Under Ask a command that only looks is not marked either: agents that ask may run those by themselves. Not
checked: whether the agent says what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.host.permissions.cards import OWN
from agentnb.state import ToolCallCompletedState, ToolCallResponsePart, ToolCallRunningState

if TYPE_CHECKING:
    from agentnb.state import ActiveTurn, ToolCallState

_ACTS = frozenset({"edit", "delete", "move", "execute"})


def ran_unasked(turn: ActiveTurn, call: ToolCallState) -> bool:
    """Whether *call* of the running *turn* acted although nobody was asked."""
    if not isinstance(call, ToolCallRunningState | ToolCallCompletedState) or call.tool_call_id.startswith(OWN):
        return False
    details = call.details
    if details is None or details.kind not in _ACTS or details.ran_without_asking:
        return False
    failed = isinstance(call, ToolCallCompletedState) and not call.success
    if failed or call.confirmed != "not-needed" or call.answered_by is not None:
        return False
    return not _asked_at_a_service(turn, call.tool_call_id)


def _asked_at_a_service(turn: ActiveTurn, call_id: str) -> bool:
    """Whether a card of our own was shown since the call began."""
    for part in reversed(turn.response_parts):
        if isinstance(part, ToolCallResponsePart):
            if part.tool_call.tool_call_id == call_id:
                return False
            if part.tool_call.tool_call_id.startswith(OWN):
                return True
    return False
