"""The results of the kernel tools as MCP content blocks: bounded, and without credentials."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials
from agentnb.kernel.cell_names import cell_name
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.kernel.code_runner import CellView, NotebookView, Variable

MOST_CHARACTERS = 20_000
"""Characters of one answer's text."""
MOST_OF_A_LINE = 300


def said(text: str, *, failed: bool = False) -> dict[str, Any]:
    """A tool's result (MCP ``CallToolResult``) that is text."""
    return {"content": [text_block(text)], "isError": failed}


def with_object(result: dict[str, Any]) -> dict[str, Any]:
    """*result* (MCP ``CallToolResult``) for agents that read a text that is JSON as its ``structuredContent``.

    Gemini CLI does so, and MCP wants an object there: a number or a list fails the call after the code has run. Codex
    leaves out all else where there is ``structuredContent``: a text with pictures goes behind them instead, Gemini CLI
    reads only the first block.
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
    """The last line of what a tool says of its failure; None where it did not fail."""
    if not result["isError"]:
        return None
    lines = [line for block in result["content"] for line in block.get("text", "").splitlines() if line.strip("` ")]
    return clipped(lines[-1], MOST_OF_A_LINE) if lines else "It failed."


def clipped(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""*text*, without its middle where it is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half:,} characters left out) …\n{text[-half:]}"


def fenced(text: str) -> str:
    r"""*text* as a Markdown code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def of_variables(found: Iterable[Variable], total: int) -> dict[str, Any]:
    """The variables, one per line."""
    lines = [f"{each.name}: {each.detail}{'' if each.size is None else f', {_size(each.size)}'}" for each in found]
    if not lines:
        return said("There are no variables." if not total else f"None of the {total} variables matches.")
    return said("\n".join(lines))


def of_notebooks(notebooks: Iterable[NotebookView]) -> dict[str, Any]:
    """The open notebooks, the one that was used last first."""
    lines = [f"{each.name}: {len(each.cells)} cells{_read_only(each)}" for each in notebooks]
    if not lines:
        return said("No browser page has a notebook open with this kernel.")
    return said("\n".join([f"{lines[0]} (used last)", *lines[1:]]))


def of_notebook(notebook: NotebookView, cells: Iterable[CellView]) -> dict[str, Any]:
    """The *cells* of a notebook, and whether they come from the open page or from the file."""
    how = "as it is open in the page" if notebook.live else "as its file was last saved"
    pieces = [f"{notebook.name}, {how}, {len(notebook.cells)} cells{_read_only(notebook)}."]
    for cell in cells:
        locks = [lock for lock, is_open in (("edited", cell.editable), ("deleted", cell.deletable)) if not is_open]
        locked = f", can't be {' or '.join(locks)}" if locks else ""
        named = f" (id {cell.cell_id}{locked})" if cell.cell_id else ""
        pieces.append(f"--- {cell_name(cell.kind, cell.count)}{named}\n{cell.source}")
        if cell.cut:
            pieces.append("… (the rest of this cell is left out)")
        if cell.output:
            pieces.append(f"Output:\n{cell.output}")
    return said("\n".join(pieces))


def _read_only(notebook: NotebookView) -> str:
    return ", its file is read-only" if notebook.read_only else ""


def text_block(text: str) -> dict[str, Any]:
    """A content block (MCP ``TextContent``) of *text*, cut and without credentials."""
    return {"type": "text", "text": clipped(Credentials(os.environ).hidden(text))}


def _size(size: int) -> str:
    if size < 10 * 1024:
        return f"{size:,} bytes"
    return f"{size / 1024:,.0f} KB" if size < 10 * 1024**2 else f"{size / 1024**2:,.0f} MB"
