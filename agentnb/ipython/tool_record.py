"""One tool call as static Markdown: folded, with its state in the line that stays visible."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from agentnb.ipython.fences import html_code, html_text
from agentnb.ipython.markdown import harmless, harmless_line, printable
from agentnb.ipython.pictures import picture
from agentnb.state import (
    Markdown,
    ToolBlockContent,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallRunningState,
    ToolDiffContent,
    ToolRawContent,
    ToolTerminalContent,
    ToolTextContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.ipython.fences import Fences
    from agentnb.state import StringOrMarkdown, TerminalView, ToolCallDetails, ToolCallState, ToolContent

LONGEST = 20_000
"""Characters of one input or output that are kept; the middle of longer ones is left out."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LANGUAGES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".md": "markdown", ".json": "json"}


def tool_markdown(call: ToolCallState, fences: Fences, terminals: Mapping[str, TerminalView], cwd: Path) -> str:
    """*call* as a ``<details>`` block.

    Args:
        call: The tool call, in any state.
        fences: The document's fences.
        terminals: The chat's terminals by id, for their output.
        cwd: The workspace; paths inside it are shown relative to it.
    """
    body = [part for part in _body(call, fences, terminals, cwd) if part]
    return folded(tool_line(call), body)


def folded(summary: str, body: Iterable[str]) -> str:
    """Blocks of Markdown behind a line that opens them."""
    words = _SPAN.split(printable(summary))  # text, code, text, …
    line = "".join(html_code(word) if number % 2 else html_text(word) for number, word in enumerate(words))
    return "\n\n".join([f"<details><summary>{line}</summary>", *body, "</details>"])


def tool_line(call: ToolCallState) -> str:
    """What *call* is and how it went, in one line of plain text."""
    kind = call.details.kind if call.details is not None else None
    title = " ".join(printable(call.display_name or call.tool_name).split())
    return " · ".join(word for word in (title, kind or "tool", outcome(call)) if word)


def outcome(call: ToolCallState) -> str:
    """How *call* went, in words: state, and who allowed or denied it."""
    match call:
        case ToolCallCompletedState(success=success, selected_option=option):
            return ("completed" if success else "failed") + (f" · allowed: {option.label}" if option else "")
        case ToolCallCancelledState(reason="denied", selected_option=option):
            return "denied" + (f": {option.label}" if option else "")
        case ToolCallCancelledState():
            return "cancelled"
        case ToolCallPendingConfirmationState():
            return "waits for permission"
        case ToolCallRunningState():
            return "running"
    return "preparing"


def denial(call: ToolCallState) -> str | None:
    """Why *call* was denied, where somebody or something said no."""
    if isinstance(call, ToolCallCancelledState) and call.reason == "denied":
        why = plain(call.reason_message).removeprefix("denied: ") or "no reason was given"
        return why[0].upper() + why[1:]
    return None


def plain(text: StringOrMarkdown | None) -> str:
    """The words of a text that may be marked as Markdown."""
    return (text.markdown if isinstance(text, Markdown) else text) or ""


def shown_path(path: str, cwd: Path) -> str:
    """*path* as people read it: relative to the workspace where it is inside."""
    try:
        return PurePath(os.path.normpath(cwd / path)).relative_to(cwd).as_posix()
    except ValueError:
        return path


def shortened(text: str, longest: int = LONGEST) -> str:
    """*text*, without its middle if it is too long."""
    if len(text) <= longest:
        return text
    left_out = len(text) - longest
    return f"{text[: longest // 2]}\n… {left_out:,} characters left out …\n{text[-longest // 2 :]}"


def without_escapes(text: str) -> str:
    """*text* without a terminal's escape sequences."""
    return _ESCAPES.sub("", text)


def diff_text(change: ToolDiffContent, cwd: Path) -> str:
    """A file's change as a unified diff."""
    path = shown_path(change.path, cwd)
    old = (change.old_text or "").splitlines()
    new = change.new_text.splitlines()
    source = f"a/{path}" if change.old_text is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(old, new, source, f"b/{path}", lineterm=""))


def _body(call: ToolCallState, fences: Fences, terminals: Mapping[str, TerminalView], cwd: Path) -> Iterable[str]:
    details = call.details
    yield _denied(call)
    yield _places(details, cwd)
    kernel = details is not None and details.kind == "kernel"
    yield _labelled("Input", _input(call), fences, "python" if kernel else None)
    content = details.content if details is not None else None
    for piece in content or ():
        yield _content(piece, fences, terminals, cwd)
    if not content and details is not None and details.raw_output is not None:
        yield _labelled("Output", _data(details.raw_output), fences)
    yield _failure(call)


def _denied(call: ToolCallState) -> str:
    why = denial(call)
    return f"**Permission denied.** {harmless_line(why)}" if why is not None else ""


def _failure(call: ToolCallState) -> str:
    error = call.error if isinstance(call, ToolCallCompletedState) else None
    return f"**Failed.** {harmless_line(error.message)}" if error is not None else ""


def _places(details: ToolCallDetails | None, cwd: Path) -> str:
    places = (details.locations if details is not None else None) or ()
    lines = [shown_path(place.path, cwd) + (f":{place.line}" if place.line else "") for place in places]
    return ", ".join(f"<code>{html_text(printable(line))}</code>" for line in lines)


def _input(call: ToolCallState) -> str:
    if call.details is not None and call.details.raw_input not in (None, {}, ""):
        raw = call.details.raw_input
        if call.details.kind == "kernel" and isinstance(raw, dict) and isinstance(raw.get("code"), str):
            return str(raw["code"])
        command = raw.get("command") if isinstance(raw, dict) and len(raw) == 1 else None
        return command if isinstance(command, str) else _data(raw)
    return getattr(call, "tool_input", None) or ""


def _data(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _labelled(label: str, text: str, fences: Fences, language: str | None = None) -> str:
    if not text.strip():
        return ""
    word = language if language is not None else ("json" if text.lstrip().startswith(("{", "[")) else "")
    return f"{label}\n\n{fences.block(_verbatim(text), word)}"


def _verbatim(text: str) -> str:
    return shortened(printable(without_escapes(text)))


def _content(piece: ToolContent, fences: Fences, terminals: Mapping[str, TerminalView], cwd: Path) -> str:
    match piece:
        case ToolTextContent(text=text):
            return harmless(shortened(text), fences)
        case ToolDiffContent():
            return fences.block(_verbatim(diff_text(piece, cwd)) or "(no change)", "diff")
        case ToolTerminalContent(terminal_id=name):
            return _terminal(terminals.get(name), fences)
        case ToolBlockContent(block=block):
            return block_markdown(block, fences)
        case ToolRawContent(raw=raw):
            return fences.block(_verbatim(_data(raw)), "json")


def _terminal(terminal: TerminalView | None, fences: Fences) -> str:
    if terminal is None:
        return ""
    ended = f"\n[exit code {terminal.exit_code}]" if terminal.exit_code else ""
    ended = f"\n[ended by {terminal.signal}]" if terminal.signal else ended
    start = "…\n" if terminal.truncated else ""
    return fences.block(_verbatim(f"$ {terminal.command}\n{start}{terminal.output.rstrip()}{ended}"), "console")


def block_markdown(block: Mapping[str, Any], fences: Fences) -> str:
    """Any ACP content block as Markdown: text, image, audio, resource, resource_link, or something new.

    Args:
        block: The block, as sent (ACP ``ContentBlock``).
        fences: The document's fences.
    """
    match block:
        case {"type": "text", "text": str(text)}:
            return harmless(text, fences)
        case {"type": "image"}:
            return picture(block)
        case {"type": "audio"}:
            return f"*(sound of type {harmless_line(str(block.get('mimeType', 'unknown')))}, not kept)*"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"*Link:* <code>{html_text(printable(str(block.get('name') or uri)))}</code>"
        case {"type": "resource", "resource": {"text": str(text), **rest}}:
            name = str(rest.get("uri", ""))
            language = _LANGUAGES.get(PurePath(name).suffix, "")
            return f"<code>{html_text(printable(name))}</code>\n\n{fences.block(_verbatim(text), language)}"
    return fences.block(_verbatim(_data(dict(block))), "json")
