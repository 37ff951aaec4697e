"""A notebook's file, read for an agent: its cells, and their outputs as text (nbformat 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentnb.errors import UsageError
from agentnb.kernel.code_runner import NotebookCell
from agentnb.kernel.output_text import without_colours
from agentnb.safe_json import read_json
from agentnb.server.comm.notebook_text import joined

LONGEST_OUTPUT = 4_000
"""Characters of one cell's outputs."""


def read_cells(path: str, outputs: bool) -> tuple[NotebookCell, ...]:
    try:
        cells = read_json(Path(path).read_text(encoding="utf-8"))["cells"]
        return tuple(_cell(cell, outputs) for cell in cells)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"The notebook {path!r} cannot be read: {type(error).__name__}.") from error


def _cell(cell: dict[str, Any], outputs: bool) -> NotebookCell:
    return NotebookCell(
        id=cell.get("id", ""),
        kind=cell["cell_type"],
        source=joined(cell["source"]),
        count=cell.get("execution_count"),
        output=output_text(cell.get("outputs") or []) if outputs else "",
    )


def output_text(outputs: list[dict[str, Any]]) -> str:
    """Outputs (nbformat) as text, at most :data:`LONGEST_OUTPUT` characters; of a picture only that it is there."""
    pieces = filter(None, map(_output, outputs))
    text = without_colours("\n".join(piece.rstrip("\n") for piece in pieces))
    return text if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]}\n… (cut)"


def _output(output: dict[str, Any]) -> str:
    match output.get("output_type"):
        case "stream":
            return joined(output.get("text", ""))
        case "error":
            return f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data") or {}
    for kind in ("text/markdown", "text/plain"):
        if kind in data:
            return joined(data[kind])
    return f"(shows {', '.join(sorted(data))})" if data else ""
