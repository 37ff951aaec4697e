"""A notebook's file as the text of its cells, which a review shows in place of the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.changes.text_diff import count_lines
from agentnb.errors import ContentNotStored
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from agentnb.changes.model import PathChange
    from agentnb.changes.store import ChangeStore

SUFFIX = ".ipynb"
MOST_OUTPUT_LINES = 50
"""Lines of a cell's outputs that are shown."""


def cells_as_text(content: bytes) -> bytes | None:
    """The cells of a notebook's file, with their outputs, as text; None if *content* is not a notebook."""
    try:
        notebook = read_json(content)
    except ValueError:  # also for invalid UTF-8
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(each, dict) for each in cells):
        return None
    return "\n".join(line for cell in cells for line in (*_cell(cell), "")).encode("utf-8", "replace")


def count_cell_lines(store: ChangeStore, change: PathChange) -> tuple[int | None, int | None]:
    """Returns how many lines of cells a notebook's change added and removed; None if that cannot be determined."""
    try:
        sides = (b"" if each is None else cells_as_text(store.content(each)) for each in (change.before, change.after))
        before, after = sides
    except ContentNotStored:
        return None, None
    return (None, None) if before is None or after is None else count_lines(before, after)


def _cell(cell: dict[str, Any]) -> list[str]:
    kind = cell.get("cell_type")
    head = "# %%" if kind == "code" else f"# %% [{kind}]"
    outputs = cell.get("outputs")
    output_lines = [f"#> {line}" for each in (outputs if isinstance(outputs, list) else []) for line in _output(each)]
    left_out = len(output_lines) - MOST_OUTPUT_LINES
    more = [f"#> … {left_out:,} more lines"] if left_out > 0 else []
    return [head, *_text(cell.get("source")).splitlines(), *output_lines[:MOST_OUTPUT_LINES], *more]


def _output(output: Any) -> list[str]:
    """The text of an output, or its types if it has no text."""
    if not isinstance(output, dict):
        return []
    if output.get("output_type") == "error":
        return [f"{output.get('ename')}: {output.get('evalue')}"]
    data = output.get("data")
    if not isinstance(data, dict):
        return _text(output.get("text")).splitlines()
    others = [f"({each})" for each in data if not each.startswith("text/")]
    return [*_text(data.get("text/plain")).splitlines(), *others]


def _text(source: Any) -> str:
    if isinstance(source, list):
        return "".join(each for each in source if isinstance(each, str))
    return source if isinstance(source, str) else ""
