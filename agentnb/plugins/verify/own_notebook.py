"""The notebook of this kernel as its page has it, and what the kernel knows of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.errors import AgentnbError
from agentnb.host.environment import current_environment
from agentnb.plugins.verify.notebook_text import UNSAVED_TAG, read_file
from agentnb.plugins.verify.static_check import LiveKernel
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping


class OwnNotebook(NamedTuple):
    """The kernel's notebook, with its current text in the page."""

    path: Path
    text: str
    live: LiveKernel | None


def own_notebook(wanted: Path | None = None) -> OwnNotebook | None:
    """Returns the notebook of this kernel; None if none is known, or if *wanted* is another one."""
    runner = current_environment().code_runner()
    if runner is None:
        return None
    try:
        notebook = runner.notebook(outputs=False)
    except AgentnbError:
        return None
    path = notebook.path
    if path is None or (wanted is not None and Path(path) != wanted):
        return None
    text = current_text(Path(path))
    if notebook.live:
        text = _with_counts(text, {each.id: each.count for each in notebook.cells})
    history = {cell.count: cell.source for cell in runner.executed_cells() if cell.count is not None}
    return OwnNotebook(Path(path), text, LiveKernel(frozenset(runner.namespace.variables()), history))


def _with_counts(text: str, counts: Mapping[str, int | None]) -> str:
    """Returns *text* with the page's counts; results of cells that were run since it was saved are marked unknown."""
    try:
        content = read_json(text, repair=False)
    except ValueError:
        return text
    cells = content.get("cells") if isinstance(content, dict) else None
    changed = False
    for cell in cells if isinstance(cells, list) else ():
        count = counts.get(str(cell.get("id")), cell.get("execution_count")) if isinstance(cell, dict) else None
        if isinstance(cell, dict) and cell.get("cell_type") == "code" and count != cell.get("execution_count"):
            tags = (cell.get("metadata") or {}).get("tags") or []
            cell.update(execution_count=count, outputs=[], metadata={"tags": [*tags, UNSAVED_TAG]})
            changed = True
    return json.dumps(content) if changed else text


def current_text(path: Path) -> str:
    """Returns the notebook's text, including what the page has not saved yet."""
    saved = read_file(path)
    unsaved = current_environment().unsaved(str(path))
    return saved if unsaved is None else unsaved.over(saved)
