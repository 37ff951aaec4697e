"""The cells of a notebook's text (nbformat 3 and 4), as far as their authors need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from pathlib import Path

KEY = "agentnb"
"""The key of a cell's metadata."""
LARGEST_FILE = 256 * 1024 * 1024
MOST_CELLS = 20_000
_ADVICE = "Restore it from a backup or a checkpoint."


class SavedCell(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell.

    Attributes:
        id: Its id; empty where it has none.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        source: Its text.
        count: The number of its last run.
        saved: What its metadata says of who wrote it, whoever says so.
    """

    id: str = ""
    kind: str = "code"
    source: str = ""
    count: int | None = None
    saved: str = ""


def read_file(path: Path) -> str:
    """The text of a notebook's file.

    Raises:
        UsageError: If it cannot be read.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="It is too large to be read.")
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8.", hint="Open it in Jupyter, and save it again.") from None


def cells_of(text: str, named: str = "The notebook") -> tuple[SavedCell, ...]:
    """The cells of a notebook.

    Raises:
        UsageError: If *text* is none.
    """
    try:
        content = read_json(text)
    except ValueError as error:
        raise UsageError(f"{named} is not a notebook: its JSON is damaged ({error}).", hint=_ADVICE) from None
    cells = content.get("cells") if isinstance(content, dict) else None
    if cells is None and isinstance(content, dict) and isinstance(content.get("worksheets"), list):
        sheets = [each.get("cells") for each in content["worksheets"] if isinstance(each, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list) or not all(isinstance(each, dict) for each in cells):
        raise UsageError(f"{named} is not a notebook: it has no list of cells.", hint=_ADVICE)
    if len(cells) > MOST_CELLS:
        raise UsageError(f"{named} has {len(cells):,} cells.", hint=f"At most {MOST_CELLS:,} are read.")
    return tuple(map(_cell, cells))


def _cell(cell: dict[str, Any]) -> SavedCell:
    source = cell.get("source", cell.get("input", ""))
    metadata, count = cell.get("metadata"), cell.get("execution_count", cell.get("prompt_number"))
    saved = metadata.get(KEY) if isinstance(metadata, dict) else None
    return SavedCell(
        id=str(cell.get("id") or ""),
        kind=str(cell.get("cell_type", "raw")),
        source="".join(map(str, source)) if isinstance(source, list) else str(source or ""),
        count=count if isinstance(count, int) and not isinstance(count, bool) else None,
        saved=saved if isinstance(saved, str) else "",
    )
