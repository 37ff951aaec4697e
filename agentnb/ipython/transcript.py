"""The lasting record of a turn: static Markdown that reads in any notebook, with no kernel and no widget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentnb.ipython.blocks import (
    Block,
    CodeBlock,
    ContentBlock,
    EndingBlock,
    FoldedBlock,
    NamesBlock,
    NoteBlock,
    PictureBlock,
    PlanBlock,
    ProseBlock,
    ThinkingBlock,
    ToolBlock,
    UsageBlock,
    turn_blocks,
    verbatim,
)
from agentnb.ipython.fences import Fences, html_code, html_text
from agentnb.ipython.markdown import harmless, harmless_line, printable
from agentnb.ipython.plain import without_parts
from agentnb.kernel.output_text import without_colours
from agentnb.state import UnknownResponsePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from agentnb.state import ActiveTurn, PlanEntry, TerminalView, Turn

_BOXES = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def transcript(turn: Turn | ActiveTurn | None, *, terminals: Iterable[TerminalView] = (), cwd: str | Path = ".") -> str:
    """A turn's answer as Markdown that is safe in a trusted output."""
    if turn is None:
        return "*Waiting in the queue.*"
    by_id = {terminal.id: terminal for terminal in terminals}
    # One length for all fences: longer than any run of backticks in anything that the agent sent.
    fences = Fences.around(_strings([turn, *by_id.values()]))
    written = (_written(block, fences) for block in turn_blocks(turn, by_id, Path(cwd).resolve()))
    return "\n\n".join(filter(None, written)) or f"*{without_parts(turn)}*"


def _written(block: Block, fences: Fences) -> str:  # noqa: C901, PLR0911 - one match over every kind of block
    match block:
        case ProseBlock(text):
            return harmless(text, fences) if text.strip() else ""
        case ThinkingBlock(text):
            return _folded("Thinking", [harmless(text, fences)]) if text.strip() else ""
        case CodeBlock(text, language, label):
            code = fences.block(verbatim(text), language)
            return f"{label}\n\n{code}" if label else code
        case NamesBlock(names):
            return ", ".join(f"<code>{html_text(printable(name))}</code>" for name in names)
        case NoteBlock(words, text, name):
            behind = harmless_line(text) if name is None else f"<code>{html_text(printable(name))}</code>"
            return f"*{harmless_line(words)}* {behind}".rstrip()
        case PictureBlock(kind, data):
            return f"![picture](data:{kind};base64,{data})"
        case ContentBlock(_, blocks):
            return "\n\n".join(filter(None, (_written(inner, fences) for inner in blocks)))
        case FoldedBlock(line, blocks):
            return _folded(line, (_written(inner, fences) for inner in blocks))
        case ToolBlock():
            return _tool(block, fences)
        case PlanBlock(entries):
            return _plan(entries)
        case EndingBlock(words, is_error):
            return f"**Error.** {harmless_line(words.removeprefix('Error: '))}" if is_error else f"**{words}**"
        case UsageBlock(words):
            return f"*{words}*"


def _tool(tool: ToolBlock, fences: Fences) -> str:
    denied = f"**Permission denied.** {harmless_line(tool.denial)}" if tool.denial is not None else ""
    failed = f"**Failed.** {harmless_line(tool.failure)}" if tool.failure is not None else ""
    body = (denied, *(_written(block, fences) for block in tool.blocks), failed)
    return _folded(tool.line, body)


def _folded(line: str, body: Iterable[str]) -> str:
    """Blocks of Markdown behind a line that opens them."""
    words = _SPAN.split(printable(line))  # text, code, text, …
    summary = "".join(html_code(word) if number % 2 else html_text(word) for number, word in enumerate(words))
    return "\n\n".join([f"<details><summary>{summary}</summary>", *filter(None, body), "</details>"])


def _plan(entries: tuple[PlanEntry, ...]) -> str:
    lines = []
    for entry in entries:
        state = "" if entry.status in {"pending", "completed"} else f" ({entry.status.replace('_', ' ')})"
        lines.append(f"- {_BOXES.get(entry.status, '[ ]')} {harmless_line(entry.content + state)}")
    return "\n".join(["**Plan**", "", *lines]) if lines else ""


def _strings(value: Any) -> Iterator[str]:
    """Every string in state or in JSON, as it may be shown."""
    if isinstance(value, str):
        yield printable(value)
        yield printable(without_colours(value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, msgspec.Struct):
        yield from _strings(msgspec.structs.asdict(value))
    elif isinstance(value, UnknownResponsePart):
        yield from _strings(value.raw)
    elif isinstance(value, Sequence):  # a turn's parts are no list
        for inner in value:
            yield from _strings(inner)
