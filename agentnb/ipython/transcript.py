"""A turn as text: Markdown for a notebook that is saved, plain words for a terminal."""

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
    ending_blocks,
    part_blocks,
    turn_blocks,
    verbatim,
)
from agentnb.ipython.markdown import Fences, harmless, harmless_line, html_code, html_text, printable
from agentnb.kernel.output_text import without_colours
from agentnb.state import (
    PlanResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
    Turn,
    UnknownResponsePart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from agentnb.state import ActiveTurn, PlanEntry, ResponsePart, TerminalView


_MARKS = {"completed": "x", "in_progress": ">"}


def plain_text(turn: Turn | ActiveTurn | None) -> str:
    """*turn* as text without any markup of ours."""
    if turn is None:
        return "Waiting in the queue."
    blocks = [part_text(part).strip("\n") for part in turn.response_parts]
    return "\n\n".join(filter(None, [*blocks, ending_text(turn)])) or without_parts(turn)


def without_parts(turn: Turn | ActiveTurn) -> str:
    """The text for a turn in which the agent has said and done nothing, or nothing yet."""
    return (
        "The agent gave no answer."
        if isinstance(turn, Turn)
        else "The turn is still running: the agent has not answered yet."
    )


def part_text(part: ResponsePart) -> str:
    return "\n\n".join(map(_plain_block, part_blocks(part)))


def ending_text(turn: Turn | ActiveTurn) -> str:
    """Returns how *turn* ended and what it cost, if there is anything to report."""
    return "\n".join(map(_plain_block, ending_blocks(turn)))


def _plain_block(block: Block) -> str:
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
    return ""  # folded blocks, and names of places


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
            if growing and not _is_settled(part):
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


def _is_settled(part: ResponsePart) -> bool:
    """True if the part's text can only grow."""
    if isinstance(part, ToolCallResponsePart):
        return isinstance(part.tool_call, ToolCallCompletedState | ToolCallCancelledState)
    return not isinstance(part, PlanResponsePart)


_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def transcript(turn: Turn | ActiveTurn | None, *, terminals: Iterable[TerminalView] = (), cwd: str | Path = ".") -> str:
    """A turn's answer as Markdown that is safe in a trusted output."""
    if turn is None:
        return "*Waiting in the queue.*"
    by_id = {terminal.id: terminal for terminal in terminals}
    # One length for all fences: longer than any run of backticks in the agent's messages.
    fences = Fences.around(_strings([turn, *by_id.values()]))
    written = (_markdown_block(block, fences) for block in turn_blocks(turn, by_id, Path(cwd).resolve()))
    return "\n\n".join(filter(None, written)) or f"*{without_parts(turn)}*"


def _markdown_block(block: Block, fences: Fences) -> str:  # noqa: C901, PLR0911 - one match over every kind of block
    match block:
        case ProseBlock(text):
            return harmless(text, fences) if text.strip() else ""
        case ThinkingBlock(text):
            return _folded("Thinking", [harmless(text, fences)]) if text.strip() else ""
        case CodeBlock(text, language, label):
            code = fences.block(verbatim(text), language)
            return f"{label}\n\n{code}" if label else code
        case NamesBlock(names):
            return ", ".join(html_code(printable(name)) for name in names)
        case NoteBlock(words, text, name):
            behind = harmless_line(text) if name is None else html_code(printable(name))
            return f"*{harmless_line(words)}* {behind}".rstrip()
        case PictureBlock(kind, data):
            return f"![picture](data:{kind};base64,{data})"
        case ContentBlock(_, blocks):
            return "\n\n".join(filter(None, (_markdown_block(inner, fences) for inner in blocks)))
        case FoldedBlock(line, blocks):
            return _folded(line, (_markdown_block(inner, fences) for inner in blocks))
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
    body = (denied, *(_markdown_block(block, fences) for block in tool.blocks), failed)
    return _folded(tool.line, body)


def _folded(line: str, body: Iterable[str]) -> str:
    """Blocks of Markdown folded behind the summary *line*."""
    words = _SPAN.split(printable(line))  # text, code, text, …
    summary = "".join(html_code(word) if number % 2 else html_text(word) for number, word in enumerate(words))
    return "\n\n".join([f"<details><summary>{summary}</summary>", *filter(None, body), "</details>"])


def _plan(entries: tuple[PlanEntry, ...]) -> str:
    lines = []
    for entry in entries:
        state = "" if entry.status in {"pending", "completed"} else f" ({entry.status.replace('_', ' ')})"
        box = "[x]" if entry.status == "completed" else "[ ]"
        lines.append(f"- {box} {harmless_line(entry.content + state)}")
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
    elif isinstance(value, Sequence):  # not `list`: a turn's parts are another sequence
        for inner in value:
            yield from _strings(inner)
