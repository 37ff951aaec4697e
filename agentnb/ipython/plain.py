"""A turn as plain text, for terminals and for the ``text/plain`` of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.ipython.markdown import printable
from agentnb.ipython.tool_record import denial, tool_line
from agentnb.ipython.transcript import ending_line, usage_line
from agentnb.state import (
    ContentResponsePart,
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    SystemNotificationResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
    Turn,
)

if TYPE_CHECKING:
    from agentnb.state import ActiveTurn, ResponsePart

_MARKS = {"completed": "x", "in_progress": ">"}


def plain_text(turn: Turn | ActiveTurn | None) -> str:
    """What the agent said and did in *turn*, as text without any markup of ours.

    Args:
        turn: The turn's snapshot; None is one that waits in the queue.
    """
    if turn is None:
        return "Waiting in the queue."
    blocks = [part_text(part).strip("\n") for part in turn.response_parts]
    return "\n\n".join(block for block in [*blocks, ending_text(turn)] if block) or "The agent said nothing."


def part_text(part: ResponsePart) -> str:
    """One part as text."""
    match part:
        case MarkdownResponsePart(content=text):
            return printable(text)
        case ReasoningResponsePart(content=text):
            return f"(thinking) {printable(text)}"
        case ToolCallResponsePart(tool_call=call):
            why = denial(call)
            return f"[{tool_line(call)}]" + (f"\n  Permission denied. {printable(why)}" if why else "")
        case PlanResponsePart(entries=entries):
            steps = (f"  [{_MARKS.get(entry.status, ' ')}] {printable(entry.content)}" for entry in entries)
            return "\n".join(["Plan:", *steps])
        case ContentResponsePart(block=block):
            return f"[{printable(str(block.get('type', 'content')))}]"
        case SystemNotificationResponsePart(content=content):
            return printable(content if isinstance(content, str) else content.markdown)
    return ""


def ending_text(turn: Turn | ActiveTurn) -> str:
    """How *turn* ended and what it cost, where there is anything to say."""
    return "\n".join(line for line in (printable(ending_line(turn)), usage_line(turn.usage)) if line)


class GrowingText:
    """Reads a turn's plain text piece by piece while it grows.

    What still changes (a tool call that runs, the latest plan) is held back until it settles or the next part begins.

    Example:
        >>> GrowingText().read(None)
        ''
    """

    def __init__(self) -> None:
        self._part = 0
        self._read = 0
        self._begun = False

    def read(self, turn: Turn | ActiveTurn | None) -> str:
        """What is new in *turn* since the last call."""
        pieces: list[str] = []
        parts = turn.response_parts if turn is not None else ()
        while self._part < len(parts):
            part = parts[self._part]
            growing = self._part == len(parts) - 1 and not isinstance(turn, Turn)
            if growing and not (_grows(part) or _is_settled(part)):
                break
            pieces.append(self._new(part_text(part)))
            if growing:
                break
            self._part, self._read = self._part + 1, 0
        return "".join(pieces)

    def _new(self, text: str) -> str:
        gap = "\n\n" if text and not self._read and self._begun else ""
        new, self._read = text[self._read :], len(text)
        self._begun = self._begun or bool(text)
        return gap + new


def _grows(part: ResponsePart) -> bool:
    return isinstance(part, MarkdownResponsePart | ReasoningResponsePart)


def _is_settled(part: ResponsePart) -> bool:
    if isinstance(part, ToolCallResponsePart):
        return isinstance(part.tool_call, ToolCallCompletedState | ToolCallCancelledState)
    return not isinstance(part, PlanResponsePart)
