"""A turn as plain text, for terminals and for the ``text/plain`` of a record: a writer of `blocks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.ipython.blocks import (
    Block,
    ContentBlock,
    EndingBlock,
    PlanBlock,
    ProseBlock,
    ThinkingBlock,
    ToolBlock,
    UsageBlock,
    ending_blocks,
    part_blocks,
)
from agentnb.ipython.markdown import printable
from agentnb.state import (
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
    Turn,
)

if TYPE_CHECKING:
    from agentnb.state import ActiveTurn, ResponsePart

_MARKS = {"completed": "x", "in_progress": ">"}


def plain_text(turn: Turn | ActiveTurn | None) -> str:
    """*turn* as text without any markup of ours."""
    if turn is None:
        return "Waiting in the queue."
    blocks = [part_text(part).strip("\n") for part in turn.response_parts]
    return "\n\n".join(filter(None, [*blocks, ending_text(turn)])) or without_parts(turn)


def without_parts(turn: Turn | ActiveTurn) -> str:
    """The words for a turn in which the agent has said and done nothing: so far, or to its end."""
    return (
        "The agent gave no answer."
        if isinstance(turn, Turn)
        else "The turn is still running: the agent has not answered yet."
    )


def part_text(part: ResponsePart) -> str:
    return "\n\n".join(map(_written, part_blocks(part)))


def ending_text(turn: Turn | ActiveTurn) -> str:
    """Returns how *turn* ended and what it cost, where there is anything to say."""
    return "\n".join(map(_written, ending_blocks(turn)))


def _written(block: Block) -> str:
    match block:
        case ProseBlock(text) | EndingBlock(text) | UsageBlock(text):
            return printable(text)
        case ThinkingBlock(text):
            return f"(thinking) {printable(text)}"
        case ToolBlock(line, denial):
            return f"[{line}]" + (f"\n  Permission denied. {printable(denial)}" if denial else "")
        case PlanBlock(entries):
            steps = (f"  [{_MARKS.get(entry.status, ' ')}] {printable(entry.content)}" for entry in entries)
            return "\n".join(["Plan:", *steps])
        case ContentBlock(kind):
            return f"[{printable(kind)}]"
    return ""  # what is folded away, and names of places


class GrowingText:
    """Reads a turn's plain text piece by piece while it grows."""

    def __init__(self) -> None:
        self._part = 0
        self._read = 0
        self._begun = False

    def read(self, turn: Turn | ActiveTurn | None) -> str:
        """The text of *turn* that came since the last call."""
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
