"""The transcript so far, as text for an agent whose session does not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.state import MarkdownResponsePart, SimpleMessageAttachment, ToolCallCompletedState, ToolCallResponsePart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentnb.state import Message, Turn

LABEL = "The conversation so far"


MOST_CHARACTERS = 100_000


LONGEST_TEXT = 20_000


LONGEST_CALL_TITLE = 200


_LEFT_OUT = "(Earlier messages are left out.)"


def with_transcript(message: Message, turns: Sequence[Turn]) -> Message:
    """*message*, with the earlier conversation as its first attachment; the chat shows the message without it."""
    attachment = SimpleMessageAttachment(label=LABEL, model_representation=transcript(turns))
    return replace(message, attachments=(attachment, *(message.attachments or ())))


def transcript(turns: Sequence[Turn]) -> str:
    """The turns as text; only the latest ones if not all fit."""
    texts: list[str] = []
    left = MOST_CHARACTERS
    for turn in reversed(turns):
        text = "\n\n".join(_of_turn(turn))
        left -= len(text)
        if left < 0 and texts:
            return "\n\n".join((_LEFT_OUT, *reversed(texts)))
        texts.append(text)
    return "\n\n".join(reversed(texts))


def _of_turn(turn: Turn) -> Iterator[str]:
    yield f"User: {_shortened(turn.message.text, LONGEST_TEXT)}"
    for part in turn.response_parts:
        if isinstance(part, MarkdownResponsePart):
            yield f"Assistant: {_shortened(part.content, LONGEST_TEXT)}"
        elif isinstance(part, ToolCallResponsePart):
            call = part.tool_call
            has_failed = isinstance(call, ToolCallCompletedState) and not call.success
            title = _shortened(call.display_name or call.tool_name, LONGEST_CALL_TITLE)
            yield f"[{'Failed tool' if has_failed else 'Tool'} call: {title}]"
    if turn.state != "complete":
        yield f"[The turn ended: {turn.state}.]"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
