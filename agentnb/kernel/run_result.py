"""The result of code that ran in the kernel, for the agent (MCP ``CallToolResult``) and for the tool call's card."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from agentnb.kernel.content import MOST_CHARACTERS, clipped, fenced, text_block
from agentnb.kernel.job_queue import GO_ON
from agentnb.kernel.output_text import read_outputs
from agentnb.state import ToolBlockContent, ToolTextContent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.kernel.code_runner import Edited, Ran
    from agentnb.kernel.job_queue import Stop
    from agentnb.kernel.output_text import OutputText
    from agentnb.state import ToolContent

    Result = dict[str, Any]

STOPPED: dict[Stop, str] = {
    "user": "The user interrupted the code; the turn is cancelled.",
    "timeout": "The code was interrupted: its time was up.",
    "cancelled": "The code was interrupted: the turn is over.",
    "stopped": f"The code was stopped by the user. {GO_ON}",
}


def of_run(ran: Ran) -> Result:
    """The result of running code: text, then pictures.

    Agents and transcripts read a tool's text as Markdown, so a traceback is a code block: without one its dashed
    line would be a rule and its arrows quotes.
    """
    shown = read_outputs({"output_type": "display_data", "data": bundle} for bundle in ran.shown)
    pieces = [ran.printed.rstrip("\n"), shown.text, ran.result or ""]
    failure = ""
    if ran.failure is not None:
        failure = fenced(clipped(ran.failure.traceback.strip("\n"), MOST_CHARACTERS // 2))
        if not ran.failure.traceback:
            failure = f"{ran.failure.name}: {ran.failure.message}"
    if ran.stopped is not None:
        pieces.append(STOPPED[ran.stopped])
    # Each part is clipped by itself: a cut through the whole text could take one of the two fences away.
    printed = clipped("\n".join(piece for piece in pieces if piece), MOST_CHARACTERS - len(failure) - 100)
    text = "\n".join(piece for piece in (printed, failure) if piece)
    failed = ran.failure is not None or ran.stopped is not None
    return _result(text or "(no output)", image_blocks(shown), failed=failed)


def of_cell(done: Edited, *, stopped: bool) -> Result:
    """The result of a cell that a page ran."""
    text = f"{done.text}\n{STOPPED['stopped']}" if stopped else done.text
    return _result(text, done.pictures, failed=done.raised or stopped)


def image_blocks(read: OutputText) -> tuple[dict[str, Any], ...]:
    """The pictures among outputs as content blocks (MCP ``ImageContent``)."""
    return tuple({"type": "image", "data": each.data, "mimeType": each.content_type} for each in read.pictures)


def picture_block(png: bytes) -> dict[str, Any]:
    """A picture as a content block (MCP ``ImageContent``)."""
    return {"type": "image", "data": base64.b64encode(png).decode(), "mimeType": "image/png"}


def for_agent(result: Result, *, takes_pictures: bool) -> Result:
    """*result* as an agent can take it: one without pictures gets a sentence in their place."""
    texts = [block for block in result["content"] if block["type"] != "image"]
    count = len(result["content"]) - len(texts)
    if takes_pictures or not count:
        return result
    what = "1 picture is left out" if count == 1 else f"{count} pictures are left out"
    said = f"({what}: this agent takes no pictures. The user sees {'it' if count == 1 else 'them'}.)"
    return {**result, "content": [*texts, text_block(said)]}


def shown_on_card(result: Result) -> tuple[ToolContent, ...]:
    """What the tool call's card shows of *result*."""
    return tuple(_shown(block) for block in result["content"])


def _shown(block: Mapping[str, Any]) -> ToolContent:
    return ToolTextContent(text=block["text"]) if block["type"] == "text" else ToolBlockContent(block=dict(block))


def _result(text: str, pictures: Iterable[dict[str, Any]], *, failed: bool) -> Result:
    return {"content": [text_block(text), *pictures], "isError": failed}
