"""Marks tool calls that an agent ran without asking although the conversation's permissions are Deny.

Some agents act by a mode of their own and ask for nothing (Codex in ``agent``, Vibe in ``accept-edits``). agentnb
cannot stop that: the agent is a process of its own. It can say so.

Marked is a call that edits, deletes, moves or executes, and that succeeded or still ran when its turn ended. Not
marked: a call that failed, and one for which the agent asked at one of our services (a file, a terminal, the kernel)
while it ran. Under Ask nothing is marked: the mode that the user chose for the agent may approve there. Not checked:
whether the agent says what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.host.asked import asked_request
from agentnb.host.cards import OWN
from agentnb.policy.engine import judge
from agentnb.state import (
    Parts,
    ToolCallCompletedState,
    ToolCallDetails,
    ToolCallResponsePart,
    ToolCallRunningState,
    XToolCallDetailsChanged,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.state import ActiveTurn, ToolCallState

_ACTS = frozenset({"edit", "delete", "move", "execute"})


def mark_unasked(conversation: Conversation, call_id: str) -> None:
    """Mark the tool call *call_id* of the running turn, where it ran without asking."""
    active, call = conversation.chat.state.active_turn, conversation.tool_call(call_id)
    if conversation.mode != "deny" or active is None or call is None or not _ran_unasked(active, call):
        return
    request = asked_request(call, call.display_name, str(conversation.cwd))
    verdict = judge(request, conversation.host.policy.situation(conversation, conversation.permissions.grants))
    details = ToolCallDetails(ran_without_asking=True)
    conversation.dispatch(
        XToolCallDetailsChanged(turn_id=active.id, tool_call_id=call_id, details=details, time=now_ms())
    )
    conversation.host.policy.record_unasked(conversation, request, verdict, call_id)


def mark_unasked_at_end(conversation: Conversation) -> None:
    """Mark what still runs: the running turn is about to end."""
    active = conversation.chat.state.active_turn
    if conversation.mode == "deny" and active is not None:
        for call in [*Parts.of(active.response_parts).begun_calls()]:
            mark_unasked(conversation, call.tool_call_id)


def _ran_unasked(turn: ActiveTurn, call: ToolCallState) -> bool:
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
