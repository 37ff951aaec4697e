"""The results of the kernel tools as MCP content blocks: bounded, and without credentials."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials
from agentnb.kernel.cell_names import cell_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.kernel.code_runner import CellView, NotebookView, Ran, Variable
    from agentnb.kernel.job_queue import Stop

MOST_CHARACTERS = 20_000
"""Characters of one answer's text."""
MOST_OF_A_LINE = 300
MOST_PICTURES = 8
LARGEST_PICTURE = 4 * 1024 * 1024
"""Characters of one picture, in base64."""
_PICTURES = ("image/png", "image/jpeg")
_TEXTS = ("text/markdown", "text/latex", "text/plain")
_STOPPED: dict[Stop, str] = {
    "user": "The user interrupted the code; the turn is cancelled.",
    "timeout": "The code was interrupted: its time was up.",
    "cancelled": "The code was interrupted: the turn is over.",
}


def said(text: str, *, failed: bool = False) -> dict[str, Any]:
    """A tool's result (MCP ``CallToolResult``) that is text.

    Example:
        >>> said("It works.")
        {'content': [{'type': 'text', 'text': 'It works.'}], 'isError': False}
    """
    return {"content": [_text(text)], "isError": failed}


def failure_of(result: dict[str, Any]) -> str | None:
    """The last line of what a tool says of its failure; None where it did not fail.

    Example:
        >>> failure_of(said("division by zero", failed=True)), failure_of(said("It works."))
        ('division by zero', None)
    """
    if not result["isError"]:
        return None
    lines = [line for block in result["content"] for line in block.get("text", "").splitlines() if line.strip("` ")]
    return clipped(lines[-1], MOST_OF_A_LINE) if lines else "It failed."


def clipped(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""*text*, without its middle where it is too long.

    Example:
        >>> clipped("abcdefgh", 4)
        'ab\n… (4 characters left out) …\ngh'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half:,} characters left out) …\n{text[-half:]}"


def fenced(text: str) -> str:
    r"""*text* as a Markdown code block whose fence is longer than any run of backticks in it.

    Example:
        >>> fenced("--- x ---")
        '```\n--- x ---\n```'
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def of_run(ran: Ran) -> dict[str, Any]:
    """The result of running code.

    Agents and transcripts read a tool's text as Markdown, so a traceback is a code block: without one its dashed
    line would be a rule and its arrows quotes.
    """
    pieces = [ran.printed.rstrip("\n"), *_shown_texts(ran.shown), ran.result or ""]
    failure = ""
    if ran.failure is not None:
        failure = fenced(clipped(ran.failure.traceback.strip("\n"), MOST_CHARACTERS // 2))
        if not ran.failure.traceback:
            failure = f"{ran.failure.name}: {ran.failure.message}"
    if ran.stopped is not None:
        pieces.append(_STOPPED[ran.stopped])
    # Each part is clipped by itself: a cut through the whole text could take one of the two fences away.
    printed = clipped("\n".join(piece for piece in pieces if piece), MOST_CHARACTERS - len(failure) - 100)
    text = "\n".join(piece for piece in (printed, failure) if piece)
    pictures, left_out = _pictures(ran.shown)
    if left_out:
        text += f"\n({left_out} more pictures, or too large ones, are left out.)"
    if not text and not pictures:
        text = "(no output)"
    failed = ran.failure is not None or ran.stopped is not None
    return {"content": [*([_text(text)] if text else []), *pictures], "isError": failed}


def of_variables(found: Iterable[Variable], total: int) -> dict[str, Any]:
    """The variables, one per line."""
    lines = [f"{each.name}: {each.detail}{'' if each.size is None else f', {_size(each.size)}'}" for each in found]
    if not lines:
        return said("There are no variables." if not total else f"None of the {total} variables matches.")
    return said("\n".join(lines))


def of_notebook(notebook: NotebookView, cells: Iterable[CellView]) -> dict[str, Any]:
    """The *cells* of a notebook, and whether they come from the open page or from the file."""
    how = "as it is open in the page" if notebook.live else "as its file was last saved"
    pieces = [f"{notebook.name}, {how}, {len(notebook.cells)} cells."]
    for cell in cells:
        named = f" (id {cell.cell_id})" if cell.cell_id else ""
        pieces.append(f"--- {cell_name(cell.kind, cell.count)}{named}\n{cell.source}")
        if cell.cut:
            pieces.append("… (the rest of this cell is left out)")
        if cell.output:
            pieces.append(f"Output:\n{cell.output}")
    return said("\n".join(pieces))


def _shown_texts(shown: Iterable[dict[str, Any]]) -> list[str]:
    found = []
    for bundle in shown:
        if any(kind in bundle for kind in _PICTURES):
            continue
        text = next((bundle[kind] for kind in _TEXTS if isinstance(bundle.get(kind), str)), None)
        found.append(text if text is not None else f"(shows {', '.join(sorted(bundle)) or 'nothing'})")
    return found


def _pictures(shown: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    found: list[dict[str, Any]] = []
    left_out = 0
    for bundle in shown:
        kind = next((kind for kind in _PICTURES if isinstance(bundle.get(kind), str)), None)
        if kind is None:
            continue
        if len(found) < MOST_PICTURES and len(bundle[kind]) <= LARGEST_PICTURE:
            found.append({"type": "image", "data": bundle[kind].replace("\n", ""), "mimeType": kind})
        else:
            left_out += 1
    return found, left_out


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": clipped(Credentials(os.environ).hidden(text))}


def _size(size: int) -> str:
    if size < 10 * 1024:
        return f"{size:,} bytes"
    return f"{size / 1024:,.0f} KB" if size < 10 * 1024**2 else f"{size / 1024**2:,.0f} MB"
