"""The results of the kernel tools, for the agent (MCP ``CallToolResult``) and for the tool call's card."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials
from agentnb.kernel.cell_changes import cell_name
from agentnb.kernel.job_queue import GO_ON
from agentnb.kernel.output_text import MOST_CHARACTERS, clipped, fenced, read_outputs
from agentnb.safe_json import read_json
from agentnb.state import ToolBlockContent, ToolTextContent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.kernel.code_runner import Edited, NotebookCell, NotebookView, Ran, UserVariable
    from agentnb.kernel.job_queue import Stop
    from agentnb.kernel.output_text import OutputText
    from agentnb.state import ToolContent

    Result = dict[str, Any]

MOST_OF_A_LINE = 300
STOPPED: dict[Stop, str] = {
    "user": "The user interrupted the code; the turn is cancelled.",
    "timeout": "The code was interrupted: its time was up.",
    "cancelled": "The code was interrupted: the turn is over.",
    "stopped": f"The code was stopped by the user. {GO_ON}",
}


def text_result(text: str, pictures: Iterable[dict[str, Any]] = (), *, failed: bool = False) -> Result:
    """A tool's result (MCP ``CallToolResult``): text, then pictures."""
    return {"content": [text_block(text), *pictures], "isError": failed}


def with_object(result: dict[str, Any]) -> dict[str, Any]:
    """*result* (MCP ``CallToolResult``), adapted to agents that parse a JSON text as its ``structuredContent``.

    Codex ignores everything else if there is ``structuredContent``. So a text with pictures goes behind them instead:
    Gemini CLI parses only the first block.
    """
    blocks = result.get("content")
    if result.get("structuredContent") is not None or not isinstance(blocks, list) or not blocks:
        return result
    first = blocks[0]
    if not isinstance(first, dict) or first.get("type") != "text" or not isinstance(first.get("text"), str):
        return result
    try:
        value = read_json(first["text"])
    except ValueError:
        return result
    if isinstance(value, dict):
        return result
    rest = blocks[1:]
    if rest and any(block.get("type") != "text" for block in rest if isinstance(block, dict)):
        return {**result, "content": [*rest, first]}
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        value = first["text"]
    return {**result, "structuredContent": {"result": value}}


def failure_of(result: dict[str, Any]) -> str | None:
    """The last line of a tool's error message; None if it did not fail."""
    if not result["isError"]:
        return None
    lines = [line for block in result["content"] for line in block.get("text", "").splitlines() if line.strip("` ")]
    return clipped(lines[-1], MOST_OF_A_LINE) if lines else "It failed."


def of_run(ran: Ran) -> Result:
    """The result of running code: text, then pictures."""
    displays = read_outputs({"output_type": "display_data", "data": bundle} for bundle in ran.shown)
    pieces = [ran.printed.rstrip("\n"), displays.text, ran.result or ""]
    failure = ""
    if ran.failure is not None:
        failure = fenced(clipped(ran.failure.traceback.strip("\n"), MOST_CHARACTERS // 2))
        if not ran.failure.traceback:
            failure = f"{ran.failure.name}: {ran.failure.message}"
    if ran.stopped is not None:
        pieces.append(STOPPED[ran.stopped])
    # Each part is clipped separately: clipping the whole text could remove one of the two fences.
    printed = clipped("\n".join(piece for piece in pieces if piece), MOST_CHARACTERS - len(failure) - 100)
    text = "\n".join(piece for piece in (printed, failure) if piece)
    failed = ran.failure is not None or ran.stopped is not None
    return text_result(text or "(no output)", image_blocks(displays), failed=failed)


def of_cell(done: Edited, *, stopped: bool) -> Result:
    text = f"{done.text}\n{STOPPED['stopped']}" if stopped else done.text
    return text_result(text, done.pictures, failed=done.raised or stopped)


def image_blocks(read: OutputText) -> tuple[dict[str, Any], ...]:
    """The pictures among outputs as content blocks (MCP ``ImageContent``)."""
    return tuple({"type": "image", "data": each.data, "mimeType": each.content_type} for each in read.pictures)


def picture_block(png: bytes) -> dict[str, Any]:
    """A picture as a content block (MCP ``ImageContent``)."""
    return {"type": "image", "data": base64.b64encode(png).decode(), "mimeType": "image/png"}


def for_agent(result: Result, *, takes_pictures: bool) -> Result:
    """*result* for an agent; if it does not take pictures, a sentence replaces them."""
    texts = [block for block in result["content"] if block["type"] != "image"]
    count = len(result["content"]) - len(texts)
    if takes_pictures or not count:
        return result
    what = "1 picture is left out" if count == 1 else f"{count} pictures are left out"
    note = f"({what}: this agent takes no pictures. The user sees {'it' if count == 1 else 'them'}.)"
    return {**result, "content": [*texts, text_block(note)]}


def shown_on_card(result: Result) -> tuple[ToolContent, ...]:
    return tuple(
        ToolTextContent(text=block["text"]) if block["type"] == "text" else ToolBlockContent(block=dict(block))
        for block in result["content"]
    )


def of_variables(variables: Iterable[UserVariable], total: int) -> dict[str, Any]:
    lines = [f"{each.name}: {each.detail}{'' if each.size is None else f', {_size(each.size)}'}" for each in variables]
    if not lines:
        return text_result("There are no variables." if not total else f"None of the {total} variables matches.")
    return text_result("\n".join(lines))


def of_notebooks(notebooks: Iterable[NotebookView]) -> dict[str, Any]:
    """The open notebooks, the one that was used last first."""
    lines = [f"{each.name}: {len(each.cells)} cells{_read_only(each)}" for each in notebooks]
    if not lines:
        return text_result("No browser page has a notebook open with this kernel.")
    return text_result("\n".join([f"{lines[0]} (used last)", *lines[1:]]))


def of_notebook(notebook: NotebookView, cells: Iterable[NotebookCell]) -> dict[str, Any]:
    """The *cells* of a notebook, with a note of whether they come from the open page or the file."""
    how = "as it is open in the page" if notebook.live else "as its file was last saved"
    pieces = [f"{notebook.name}, {how}, {len(notebook.cells)} cells{_read_only(notebook)}."]
    for cell in cells:
        locks = [lock for lock, is_open in (("edited", cell.editable), ("deleted", cell.deletable)) if not is_open]
        locked = f", can't be {' or '.join(locks)}" if locks else ""
        named = f" (id {cell.id}{locked})" if cell.id else ""
        pieces.append(f"--- {cell_name(cell.kind, cell.count)}{named}\n{cell.source}")
        if cell.cut:
            pieces.append("… (the rest of this cell is left out)")
        if cell.output:
            pieces.append(f"Output:\n{cell.output}")
    return text_result("\n".join(pieces))


def _read_only(notebook: NotebookView) -> str:
    return ", its file is read-only" if notebook.read_only else ""


def text_block(text: str) -> dict[str, Any]:
    """A content block (MCP ``TextContent``) of *text*, cut and without credentials."""
    return {"type": "text", "text": clipped(Credentials(os.environ).hidden(text))}


def _size(size: int) -> str:
    if size < 10 * 1024:
        return f"{size:,} bytes"
    return f"{size / 1024:,.0f} KB" if size < 10 * 1024**2 else f"{size / 1024**2:,.0f} MB"
