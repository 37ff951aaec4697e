"""A turn as blocks: what it shows, in order, independent of the output's form."""

from __future__ import annotations

import base64
import difflib
import json
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from agentnb.host.files.changes import relative
from agentnb.ipython import finished_calls
from agentnb.ipython.markdown import PICTURE_TYPES, printable
from agentnb.kernel.output_text import without_colours
from agentnb.state import (
    ActiveTurn,
    ContentRefResponsePart,
    ContentResponsePart,
    Markdown,
    MarkdownResponsePart,
    PlanEntry,
    PlanResponsePart,
    RawResponsePart,
    ReasoningResponsePart,
    ResponsePart,
    StringOrMarkdown,
    SystemNotificationResponsePart,
    TerminalView,
    ToolBlockContent,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolCallRun,
    ToolCallRunningState,
    ToolCallState,
    ToolContent,
    ToolDiffContent,
    ToolRawContent,
    ToolTerminalContent,
    ToolTextContent,
    Turn,
    UnknownResponsePart,
    UsageInfo,
    UserMessageResponsePart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LONGEST = 20_000
"""Characters of one input or output that are kept; the middle of longer ones is left out."""
LARGEST_PICTURE = 4 * 1024 * 1024
"""Bytes of one picture; a larger one is not kept."""
SHORTEST_RUN = 2_000
"""Milliseconds that kernel code must run for its time to be shown: shorter times differ from run to run."""
_MINUTE = 60
_FENCE = 3
"""The fewest backticks that begin a block of code."""
_LANGUAGES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".md": "markdown", ".json": "json"}
_ENDINGS = {
    "max_tokens": "Answer cut off: the model's token limit was reached.",
    "max_turn_requests": "Answer cut off: the agent made as many model requests as one turn may.",
    "refusal": "The agent refused to continue.",
    "cancelled": "The turn was cancelled.",
}


class ProseBlock(NamedTuple):
    """Markdown that the agent wrote."""

    text: str


class ThinkingBlock(NamedTuple):
    """The agent's thinking, as Markdown."""

    text: str


class CodeBlock(NamedTuple):
    """Text to show as it is, optionally with a programming language and with a label above it."""

    text: str
    language: str = ""
    label: str = ""


class NamesBlock(NamedTuple):
    names: tuple[str, ...]


class NoteBlock(NamedTuple):
    """Words of ours, optionally followed by a text or a name from the agent."""

    words: str
    text: str = ""
    name: str | None = None


class PictureBlock(NamedTuple):
    """A picture: its type, such as ``image/png``, and its data in base64."""

    kind: str
    data: str


class ContentBlock(NamedTuple):
    """One ACP content block of this kind, as blocks."""

    kind: str
    blocks: tuple[Block, ...]


class FoldedBlock(NamedTuple):
    """Blocks that are shown when the line that names them is opened."""

    line: str
    blocks: tuple[Block, ...]


class ToolBlock(NamedTuple):
    """A tool call: what it is and how it went in one line, why it was denied or failed, and what it shows."""

    line: str
    denial: str | None
    failure: str | None
    blocks: tuple[Block, ...]


class PlanBlock(NamedTuple):
    entries: tuple[PlanEntry, ...]


class EndingBlock(NamedTuple):
    """The end of the turn, where it is worth a sentence."""

    words: str
    is_error: bool


class UsageBlock(NamedTuple):
    """The tokens that the turn used, in words."""

    words: str


Block: TypeAlias = (
    ProseBlock | ThinkingBlock | CodeBlock | NamesBlock | NoteBlock | PictureBlock
    | ContentBlock | FoldedBlock | ToolBlock | PlanBlock | EndingBlock | UsageBlock
)  # fmt: skip


def turn_blocks(turn: Turn | ActiveTurn, terminals: Mapping[str, TerminalView], cwd: Path) -> Iterator[Block]:
    for parts in finished_calls.groups(turn.response_parts, terminals):
        blocks = tuple(block for part in parts for block in part_blocks(part, terminals, cwd))
        if len(parts) == 1:
            yield from blocks
        else:
            yield FoldedBlock(finished_calls.line(parts), blocks)
    yield from ending_blocks(turn)


def part_blocks(  # noqa: C901, PLR0911 - one match over every kind of part
    part: ResponsePart, terminals: Mapping[str, TerminalView] | None = None, cwd: Path = Path()
) -> tuple[Block, ...]:
    """The blocks of one part of a turn; the arguments as for `turn_blocks`."""
    match part:
        case MarkdownResponsePart(content=text):
            return (ProseBlock(text),)
        case ReasoningResponsePart(content=text):
            return (ThinkingBlock(text),)
        case ToolCallResponsePart(tool_call=call):
            return (_tool(call, terminals or {}, cwd),)
        case PlanResponsePart(entries=entries):
            return (PlanBlock(entries),)
        case ContentResponsePart(block=block):
            return (ContentBlock(str(block.get("type", "content")), _content(block)),)
        case UserMessageResponsePart(content=text) if text.strip():
            return (FoldedBlock("Your message, as repeated by the agent", (ProseBlock(text),)),)
        case SystemNotificationResponsePart(content=content):
            return (ProseBlock(_words(content)),)
        case ContentRefResponsePart(uri=uri):
            return (NoteBlock("Stored elsewhere:", uri),)
        case RawResponsePart(name=name, payload=payload):
            return (FoldedBlock(f"Update {name}", (CodeBlock(_json(payload), "json"),)),)
        case UnknownResponsePart(raw=raw):
            return (FoldedBlock("Something new", (CodeBlock(_json(raw), "json"),)),)
    return ()


def ending_blocks(turn: Turn | ActiveTurn) -> tuple[Block, ...]:
    """How *turn* ended and what it used; no ending if it ended normally (ACP ``end_turn``) or still runs."""
    words, used = _ending(turn), usage_words(turn.usage)
    is_error = isinstance(turn, Turn) and turn.state == "error"
    return (*((EndingBlock(words, is_error),) if words else ()), *((UsageBlock(used),) if used else ()))


def usage_words(usage: UsageInfo | None) -> str:
    """The tokens that a turn used, in words; '' if the agent did not report them."""
    if usage is None:
        return ""
    counts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"), (usage.cache_read_tokens, "from cache"))
    parts = [f"{count:,} {word}" for count, word in counts if count is not None]
    return f"Tokens: {', '.join(parts)}" if parts else ""


def _ending(turn: Turn | ActiveTurn) -> str:
    if not isinstance(turn, Turn):
        return ""
    if turn.state == "error":
        return f"Error: {turn.error.message}" if turn.error is not None else "The turn ended with an error."
    if turn.state == "cancelled":
        return _ENDINGS["cancelled"]
    reason = turn.stop_reason
    if reason in (None, "end_turn"):
        return ""
    word = "".join(char for char in str(reason) if char.isalnum() or char in "_- ")[:60]
    return _ENDINGS.get(str(reason), f"The turn ended: {word}.")


# --- tool calls ---


def tool_line(call: ToolCallState) -> str:
    """The title and outcome of *call*, in one line of plain text."""
    title = " ".join(printable(call.display_name or call.tool_name).split())
    unasked = "ran without asking" if call.details is not None and call.details.ran_without_asking else ""
    differs = "different from the preview" if call.details is not None and call.details.differences else ""
    return " · ".join(word for word in (title, _outcome(call), _took(call), unasked, differs) if word)


def _took(call: ToolCallState) -> str:
    """Returns how long code ran in the kernel, if that is known and worth mentioning."""
    run = call.details.run if call.details is not None else None
    if run is None or run.ended_at is None or run.ended_at - run.started_at < SHORTEST_RUN:
        return ""
    seconds = (run.ended_at - run.started_at) // 1000
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= _MINUTE else f"{seconds} s"


def _outcome(call: ToolCallState) -> str:
    match call:
        case ToolCallCompletedState(success=success, selected_option=option):
            return ("done" if success else "failed") + (" · allowed" if option else "")
        case ToolCallCancelledState(reason="denied"):
            return "denied"
        case ToolCallCancelledState():
            return "cancelled"
        case ToolCallPendingConfirmationState():
            return "waits for permission"
        case ToolCallRunningState():
            return "running"
    return "preparing"


def _tool(call: ToolCallState, terminals: Mapping[str, TerminalView], cwd: Path) -> ToolBlock:
    error = call.error if isinstance(call, ToolCallCompletedState) else None
    blocks = tuple(_tool_blocks(call, terminals, cwd))
    return ToolBlock(tool_line(call), _denial(call), error.message if error is not None else None, blocks)


def _denial(call: ToolCallState) -> str | None:
    """Returns the reason *call* was denied, or None if it was not."""
    if isinstance(call, ToolCallCancelledState) and call.reason == "denied":
        why = _words(call.reason_message).removeprefix("denied: ") or "no reason was given"
        return why[0].upper() + why[1:]
    return None


def _tool_blocks(call: ToolCallState, terminals: Mapping[str, TerminalView], cwd: Path) -> Iterable[Block]:
    details = call.details
    places = (details.locations if details is not None else None) or ()
    if places:
        yield NamesBlock(tuple(relative(each.path, cwd) + (f":{each.line}" if each.line else "") for each in places))
    text, language = _input(call)
    if text.strip() and text.strip() != call.display_name.strip():  # otherwise the line above already shows it
        yield CodeBlock(text, language, "Input")
    if details is not None and details.rehearsal is not None and details.rehearsal.summary:
        yield CodeBlock(details.rehearsal.summary, "", "Preview")
    if details is not None and details.differences:
        yield CodeBlock("\n".join(details.differences), "", "Different from the preview")
    if details is not None and details.run is not None:
        yield from _run_blocks(details.run, terminals, cwd)
        return
    content = (details.content if details is not None else None) or ()
    for piece in content:
        yield from _tool_content(piece, terminals, cwd)
    if not content and details is not None and details.raw_output is not None:
        output = _data(details.raw_output)
        if output.strip():
            yield CodeBlock(output, _language_of(output), "Output")


def _run_blocks(run: ToolCallRun, terminals: Mapping[str, TerminalView], cwd: Path) -> Iterable[Block]:
    """The output of code in the kernel; the agent's own words say the same, or less."""
    for piece in run.content:
        if isinstance(piece, ToolTextContent):
            yield CodeBlock(_without_fences(piece.text), "", "Output")
        else:
            yield from _tool_content(piece, terminals, cwd)


def _without_fences(text: str) -> str:
    """*text* without the fences that the kernel puts round a traceback, and round a picture's source, for agents."""
    lines = text.split("\n")
    last = {line: at for at, line in enumerate(lines) if line.startswith("```")}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        language = lines[at].lstrip("`")
        fence = lines[at].removesuffix(language)
        if len(fence) < _FENCE or not f"a{language}".isidentifier() or last.get(fence, 0) < at + 2:
            kept.append(lines[at])
            at += 1
        else:
            end = lines.index(fence, at + 2)
            kept += lines[at + 1 : end]
            at = end + 1
    return "\n".join(kept)


def _input(call: ToolCallState) -> tuple[str, str]:
    details = call.details
    text = getattr(call, "tool_input", None) or ""
    if details is not None and details.raw_input not in (None, {}, ""):
        raw = details.raw_input
        if details.kind == "kernel" and isinstance(raw, dict) and isinstance(raw.get("code"), str):
            text = str(raw["code"])
        else:
            command = raw.get("command") if isinstance(raw, dict) and len(raw) == 1 else None
            text = command if isinstance(command, str) else _data(raw)
    is_kernel = details is not None and details.kind == "kernel"
    return text, "python" if is_kernel else _language_of(text)


def _tool_content(piece: ToolContent, terminals: Mapping[str, TerminalView], cwd: Path) -> Iterable[Block]:
    match piece:
        case ToolTextContent(text=text):
            yield ProseBlock(shortened(text))
        case ToolDiffContent():
            yield CodeBlock(_diff(piece, cwd) or "(no change)", "diff")
        case ToolTerminalContent(terminal_id=name):
            if (terminal := terminals.get(name)) is not None:
                yield CodeBlock(_terminal(terminal), "console")
        case ToolBlockContent(block=block):
            yield from _content(block)
        case ToolRawContent(raw=raw):
            yield CodeBlock(_data(raw), "json")


def _diff(change: ToolDiffContent, cwd: Path) -> str:
    path = relative(change.path, cwd)
    old, new = (change.old_text or "").splitlines(), change.new_text.splitlines()
    source = f"a/{path}" if change.old_text is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(old, new, source, f"b/{path}", lineterm=""))


def _terminal(terminal: TerminalView) -> str:
    ended = f"\n[exit code {terminal.exit_code}]" if terminal.exit_code else ""
    ended = f"\n[ended by {terminal.signal}]" if terminal.signal else ended
    start = "…\n" if terminal.truncated else ""
    return f"$ {terminal.command}\n{start}{terminal.output.rstrip()}{ended}"


# --- content ---


def _content(block: Mapping[str, Any]) -> tuple[Block, ...]:
    """An ACP ``ContentBlock``: text, image, audio, resource, resource_link, or something new."""
    match block:
        case {"type": "text", "text": str(text)}:
            return (ProseBlock(text),)
        case {"type": "image"}:
            return (picture(block),)
        case {"type": "audio"}:
            return (NoteBlock(f"(sound of type {block.get('mimeType', 'unknown')}, not kept)"),)
        case {"type": "resource_link", "uri": str(uri)}:
            return (NoteBlock("Link:", name=str(block.get("name") or uri)),)
        case {"type": "resource", "resource": {"text": str(text), **rest}}:
            name = str(rest.get("uri", ""))
            return (NamesBlock((name,)), CodeBlock(text, _LANGUAGES.get(PurePath(name).suffix, "")))
    return (CodeBlock(_data(dict(block)), "json"),)


def picture(block: Mapping[str, Any]) -> PictureBlock | NoteBlock:
    """An ACP image block, or a note that says why it is not shown."""
    kind = str(block.get("mimeType", "")).lower().replace("image/jpg", "image/jpeg")
    data = "".join(str(block.get("data", "")).split())
    if kind.removeprefix("image/") not in PICTURE_TYPES or not kind.startswith("image/"):
        word = "".join(char for char in kind if char.isalnum() or char in "/+.-")[:60] or "unknown"
        return NoteBlock(f"(picture of type {word}, not shown)")
    size = len(data) * 3 // 4
    if size > LARGEST_PICTURE:
        return NoteBlock(f"(picture of {size:,} bytes, too large to keep)")
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return NoteBlock("(picture with broken data, not shown)")
    return PictureBlock(kind, data)


# --- texts ---


def shortened(text: str, longest: int = LONGEST) -> str:
    """*text*, without its middle if it is too long."""
    if len(text) <= longest:
        return text
    left_out = len(text) - longest
    return f"{text[: longest // 2]}\n… {left_out:,} characters left out …\n{text[-longest // 2 :]}"


def verbatim(text: str) -> str:
    """*text* as a block of code shows it: printable, without a terminal's escape sequences, not too long."""
    return shortened(printable(without_colours(text)))


def _words(text: StringOrMarkdown | None) -> str:
    """The words of a text that may be marked as Markdown."""
    return (text.markdown if isinstance(text, Markdown) else text) or ""


def _data(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _language_of(text: str) -> str:
    return "json" if text.lstrip().startswith(("{", "[")) else ""
