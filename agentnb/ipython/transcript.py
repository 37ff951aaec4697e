"""The lasting record of a turn: static Markdown that reads in any notebook, with no kernel and no widget.

It is made from the turn's state alone and says the same each time (no ids, no times), so a notebook in CI can be
compared with its stored outputs. All that an agent wrote passes `markdown.harmless` or stands in a fence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentnb.ipython.fences import Fences
from agentnb.ipython.markdown import harmless, harmless_line, printable
from agentnb.ipython.tool_record import block_markdown, folded, plain, shortened, tool_markdown, without_escapes
from agentnb.state import (
    ContentRefResponsePart,
    ContentResponsePart,
    MarkdownResponsePart,
    PlanResponsePart,
    RawResponsePart,
    ReasoningResponsePart,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    Turn,
    UnknownResponsePart,
    UserMessageResponsePart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from agentnb.state import ActiveTurn, PlanEntry, ResponsePart, TerminalView, UsageInfo

_BOXES = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}
_ENDINGS = {
    "max_tokens": "The answer stops here: the model's token limit was reached.",
    "max_turn_requests": "The answer stops here: the agent made as many model requests as one turn may.",
    "refusal": "The agent refused to go on.",
    "cancelled": "The turn was cancelled.",
}


def transcript(turn: Turn | ActiveTurn | None, *, terminals: Iterable[TerminalView] = (), cwd: str | Path = ".") -> str:
    """A turn's answer as Markdown that is safe in a trusted output.

    Args:
        turn: The turn's snapshot, finished or not; None is one that still waits in the queue.
        terminals: The chat's terminals, for their output.
        cwd: The workspace, to which paths are relative.

    Returns:
        Markdown; ``"*…*"`` lines tell what is not the agent's words. Never empty.
    """
    if turn is None:
        return "*Waiting in the queue.*"
    # One length for all fences: longer than any run of backticks in anything that the agent sent.
    by_id = {terminal.id: terminal for terminal in terminals}
    fences = Fences.around(_strings([turn, *by_id.values()]))
    where = Path(cwd).resolve()
    blocks = [_part(part, fences, by_id, where) for part in turn.response_parts]
    blocks += _ending(turn)
    return "\n\n".join(block for block in blocks if block) or "*The agent said nothing.*"


def usage_line(usage: UsageInfo | None) -> str:
    """The tokens that a turn used, in words, or nothing where the agent did not say.

    Example:
        >>> from agentnb.state import UsageInfo
        >>> usage_line(UsageInfo(input_tokens=1200, output_tokens=34))
        'Tokens: 1,200 in, 34 out'
    """
    if usage is None:
        return ""
    counts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"), (usage.cache_read_tokens, "from cache"))
    said = [f"{count:,} {word}" for count, word in counts if count is not None]
    return f"Tokens: {', '.join(said)}" if said else ""


def ending_line(turn: Turn | ActiveTurn) -> str:
    """How the turn ended, in a sentence; nothing where it ended as it should (ACP ``end_turn``) or still runs."""
    if not isinstance(turn, Turn):
        return ""
    if turn.state == "error":
        return f"Error: {turn.error.message}" if turn.error is not None else "The turn ended with an error."
    if turn.state == "cancelled":
        return _ENDINGS["cancelled"]
    reason = turn.stop_reason
    return "" if reason in (None, "end_turn") else _ENDINGS.get(str(reason), f"The turn ended: {_word(str(reason))}.")


def _part(  # noqa: C901, PLR0911 - one match over every kind of part
    part: ResponsePart, fences: Fences, terminals: Mapping[str, TerminalView], cwd: Path
) -> str:
    match part:
        case MarkdownResponsePart(content=text) if text.strip():
            return harmless(text, fences)
        case ReasoningResponsePart(content=text) if text.strip():
            return folded("Thinking", [harmless(text, fences)])
        case ToolCallResponsePart(tool_call=call):
            return tool_markdown(call, fences, terminals, cwd)
        case PlanResponsePart(entries=entries):
            return _plan(entries)
        case ContentResponsePart(block=block):
            return block_markdown(block, fences)
        case UserMessageResponsePart(content=text) if text.strip():
            return folded("Your message, as the agent repeats it", [harmless(text, fences)])
        case SystemNotificationResponsePart(content=content):
            return harmless(plain(content), fences)
        case ContentRefResponsePart(uri=uri):
            return f"*Kept elsewhere:* {harmless_line(uri)}"
        case RawResponsePart(name=name, payload=payload):
            return folded(f"Update {printable(name)}", [fences.block(shortened(_compact(payload)), "json")])
        case UnknownResponsePart(raw=raw):
            return folded("Something new", [fences.block(shortened(_compact(raw)), "json")])
    return ""


def _plan(entries: tuple[PlanEntry, ...]) -> str:
    lines = []
    for entry in entries:
        state = "" if entry.status in {"pending", "completed"} else f" ({entry.status.replace('_', ' ')})"
        lines.append(f"- {_BOXES.get(entry.status, '[ ]')} {harmless_line(entry.content + state)}")
    return "\n".join(["**Plan**", "", *lines]) if lines else ""


def _ending(turn: Turn | ActiveTurn) -> list[str]:
    words, tokens = ending_line(turn), usage_line(turn.usage)
    failed = isinstance(turn, Turn) and turn.state == "error"
    ending = f"**{words}**" if not failed else f"**Error.** {harmless_line(words.removeprefix('Error: '))}"
    return [ending if words else "", f"*{tokens}*" if tokens else ""]


def _word(reason: str) -> str:
    return "".join(char for char in reason if char.isalnum() or char in "_- ")[:60]


def _compact(value: Any) -> str:
    return printable(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _strings(value: Any) -> Iterator[str]:
    """Every string in state or in JSON, as it may be shown."""
    if isinstance(value, str):
        yield printable(value)
        yield printable(without_escapes(value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, msgspec.Struct):
        yield from _strings(msgspec.structs.asdict(value))
    elif isinstance(value, UnknownResponsePart):
        yield from _strings(value.raw)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
