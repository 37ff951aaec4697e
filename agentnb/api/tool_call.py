"""A tool call, seen from Python: what the agent did, in the words of ACP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.state import (
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolTextContent,
)

if TYPE_CHECKING:
    from agentnb.state import ToolCallLocation, ToolCallState, ToolContent


class ToolCall(NamedTuple):
    """One tool call (ACP ``ToolCall``).

    Attributes:
        id: The agent's id of it.
        title: What it is, for people.
        kind: ``"read"``, ``"edit"``, ``"execute"``, … as the agent says.
        status: ``"pending"``, ``"in_progress"``, ``"completed"``, ``"failed"``, or ``"cancelled"`` where it was denied
            or the turn ended before it did.
        locations: Files that it touches, each with ``path`` and ``line``.
        content: What it produced: text, diffs, terminals, other blocks.
        raw_input: What the tool was given, as sent.
        raw_output: What it gave back, as sent.
        reason: Why it was cancelled, where it was.
    """

    id: str
    title: str
    kind: str | None
    status: str
    locations: tuple[ToolCallLocation, ...]
    content: tuple[ToolContent, ...]
    raw_input: Any
    raw_output: Any
    reason: str | None

    @property
    def text(self) -> str:
        """The text among its content, joined."""
        return "\n".join(item.text for item in self.content if isinstance(item, ToolTextContent))


def tool_call(state: ToolCallState) -> ToolCall:
    """The tool call that *state* is."""
    details = state.details
    return ToolCall(
        id=state.tool_call_id,
        title=state.display_name,
        kind=details.kind if details else None,
        status=_status(state),
        locations=(details.locations if details else None) or (),
        content=(details.content if details else None) or (),
        raw_input=details.raw_input if details else None,
        raw_output=details.raw_output if details else None,
        reason=_reason(state),
    )


def _status(state: ToolCallState) -> str:
    match state:
        case ToolCallCompletedState(success=success) | ToolCallPendingResultConfirmationState(success=success):
            return "completed" if success else "failed"
        case ToolCallRunningState():
            return "in_progress"
        case ToolCallCancelledState():
            return "cancelled"
        case _:
            return "pending"


def _reason(state: ToolCallState) -> str | None:
    if not isinstance(state, ToolCallCancelledState):
        return None
    message = state.reason_message
    return message if isinstance(message, str) else (message.markdown if message else str(state.reason))
