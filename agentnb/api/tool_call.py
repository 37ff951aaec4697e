"""A tool call, seen from Python: what the agent did, in the words of ACP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentnb.state import (
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolTerminalContent,
    ToolTextContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.state import TerminalView, ToolCallLocation, ToolCallRehearsal, ToolCallState, ToolContent

ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed", "cancelled"]
"""How far a tool call is; ``"cancelled"``: it was denied, or the turn ended before it."""


class ToolCall(NamedTuple):
    """One tool call (ACP ``ToolCall``).

    Attributes:
        id: The id that the agent gave it.
        title: A description for people.
        kind: ``"read"``, ``"edit"``, ``"execute"``, … as the agent says.
        status: ``"pending"``, ``"in_progress"``, ``"completed"``, ``"failed"``, or ``"cancelled"`` where it was denied
            or the turn ended before it did.
        locations: Files that it touches, each with ``path`` and ``line``.
        content: What it produced: text, diffs, terminals, other blocks.
        raw_input: What the tool was given, as sent.
        raw_output: What it returned, as sent.
        reason: Why it was cancelled, where it was.
        output: What it gave back as text: its text content and what its terminals wrote, in order.
        exit_code: The exit code of its last terminal's command; None where there is none, or none yet.
        ran_without_asking: True if the agent ran it without asking although the session's permissions are ``"ask"`` or
            ``"deny"``.
        preview: What its preview showed before it was allowed; None where there was none.
        differences: What came out otherwise than the preview showed, a sentence each; None where that was not compared.
    """

    id: str
    title: str
    kind: str | None
    status: ToolCallStatus
    locations: tuple[ToolCallLocation, ...]
    content: tuple[ToolContent, ...]
    raw_input: Any
    raw_output: Any
    reason: str | None
    output: str = ""
    exit_code: int | None = None
    ran_without_asking: bool = False
    preview: ToolCallRehearsal | None = None
    differences: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The text among its content, joined."""
        return "\n".join(item.text for item in self.content if isinstance(item, ToolTextContent))


def tool_call(state: ToolCallState, terminals: Iterable[TerminalView] = ()) -> ToolCall:
    """The tool call that *state* is."""
    details = state.details
    content = (details.content if details else None) or ()
    terminals_by_id = {each.id: each for each in terminals}
    own = [
        terminals_by_id[each.terminal_id]
        for each in content
        if isinstance(each, ToolTerminalContent) and each.terminal_id in terminals_by_id
    ]
    return ToolCall(
        id=state.tool_call_id,
        title=state.display_name,
        kind=details.kind if details else None,
        status=_status(state),
        locations=(details.locations if details else None) or (),
        content=content,
        raw_input=details.raw_input if details else None,
        raw_output=details.raw_output if details else None,
        reason=_reason(state),
        output="\n".join(filter(None, (_text(item, terminals_by_id) for item in content))),
        exit_code=own[-1].exit_code if own else None,
        ran_without_asking=bool(details and details.ran_without_asking),
        preview=details.rehearsal if details else None,
        differences=details.differences if details else None,
    )


def _text(item: ToolContent, terminals: Mapping[str, TerminalView]) -> str:
    match item:
        case ToolTextContent(text=text):
            return text
        case ToolTerminalContent(terminal_id=name) if name in terminals:
            return terminals[name].output
        case _:
            return ""


def _status(state: ToolCallState) -> ToolCallStatus:
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
