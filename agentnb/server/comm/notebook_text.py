"""A notebook's file with the cells in it as a page has them: text in, text out (nbformat 4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.safe_json import read_json
from agentnb.server.lab_messages import MOST_CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.kernel.code_runner import NotebookCell

Cell: TypeAlias = dict[str, Any]
FORMAT = 4
CUT = "# [agentnb: the rest of this cell is not saved, and is in the notebook's page only]\n"
"""The last line of a new cell that a page has told of in part."""


def over(saved: str, cells: Sequence[NotebookCell]) -> str:
    """The notebook *saved*, with its sources as *cells* have them, new cells put in and removed ones left out."""
    try:
        notebook = read_json(saved, repair=False)
    except ValueError:
        return saved
    before = notebook.get("cells") if isinstance(notebook, dict) and notebook.get("nbformat") == FORMAT else None
    if not isinstance(before, list) or not all(isinstance(cell, dict) for cell in before):
        return saved
    after = _matched(before, cells)
    if after is None or after == before:
        return saved
    return _written({**notebook, "cells": after})


def _written(notebook: dict[str, Any]) -> str:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        text = json.dumps(notebook, indent=1)
    return f"{text}\n"


def _matched(before: list[Cell], cells: Sequence[NotebookCell]) -> list[Cell] | None:
    """The cells as they are now; None where they are not those of *before*."""
    by_id = {cell["id"]: cell for cell in before if isinstance(cell.get("id"), str)}
    if len(by_id) < len(before):
        return _by_place(before, cells)
    if before and by_id.keys().isdisjoint(cell.id for cell in cells):  # another notebook of that name
        return None
    if len(cells) >= MOST_CELLS:
        cells_by_id = {cell.id: cell for cell in cells}
        return [_changed(cell, cells_by_id[cell["id"]]) if cell["id"] in cells_by_id else cell for cell in before]
    return [_changed(by_id[cell.id], cell) if cell.id in by_id else _new(cell) for cell in cells]


def _by_place(before: list[Cell], cells: Sequence[NotebookCell]) -> list[Cell] | None:
    if any("id" in cell for cell in before) or len(before) != len(cells):
        return None
    return [_changed(old, cell) for old, cell in zip(before, cells, strict=True)]


def _changed(old: Cell, cell: NotebookCell) -> Cell:
    if cell.kind != old.get("cell_type"):
        changed = {**_new(cell), "metadata": old.get("metadata", {})}
        return {key: value for key, value in changed.items() if key != "id" or "id" in old}
    return old if cell.cut or cell.source == joined(old.get("source", "")) else {**old, "source": _lines(cell.source)}


def _new(cell: NotebookCell) -> Cell:
    source = f"{cell.source}\n{CUT}" if cell.cut else cell.source
    ran: Cell = {"execution_count": None, "outputs": []} if cell.kind == "code" else {}
    made: Cell = {"cell_type": cell.kind, "id": cell.id, "metadata": {}, "source": _lines(source), **ran}
    return dict(sorted(made.items()))


def joined(text: Any) -> str:
    """A text of a notebook's file, which may be a list of its lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
