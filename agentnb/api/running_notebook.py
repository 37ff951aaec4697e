"""The notebook that this kernel runs: found by the cell that runs, where the kernel is not told its name."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOK_VARIABLE = "AGENTNB_NOTEBOOK"
"""Environment: the notebook that is run; the pytest plugin sets it."""

_SUFFIX = ".ipynb"
_MOST_NOTEBOOKS = 50  # of one folder
_LARGEST_BYTES = 50_000_000
_SKIPPED = "NBVAL_SKIP"


def has_cells_after(source: str, cassette: Path | None) -> bool:
    """Whether code cells that will certainly run come after the cell with this *source*.

    False where that is not known: no notebook with this cell is found. Cells with tags may be left out by the program
    that runs the notebook, so they do not count.

    Args:
        source: The cell, as it was run.
        cassette: The cassette of this kernel; the notebook is looked for beside it.
    """
    for path in _candidates(cassette):
        cells = _code_cells(path)
        places = [number for number, (text, _) in enumerate(cells) if text == source.strip()]
        if places:
            return any(is_certain for _, is_certain in cells[places[-1] + 1 :])
    return False


def _candidates(cassette: Path | None) -> Iterator[Path]:
    """Where the notebook may be, the most likely first."""
    if named := os.environ.get(NOTEBOOK_VARIABLE):
        yield Path(named)
    if cassette is not None:
        yield cassette.with_name(cassette.name.removesuffix(".jsonl").removesuffix(".cassette") + _SUFFIX)
    yield from _on_command_line()
    if session := os.environ.get("JPY_SESSION_NAME"):
        yield Path(session)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    folder = Path(getattr(shell, "starting_dir", None) or ".")
    yield from sorted(folder.glob(f"*{_SUFFIX}"))[:_MOST_NOTEBOOKS]


def _on_command_line() -> Iterator[Path]:
    """The words of the command that started this kernel: nbconvert's, papermill's and others' name the notebook."""
    try:
        parent: Any = import_module("psutil").Process().parent()
        words, folder = parent.cmdline()[1:], parent.cwd()
    except Exception:  # noqa: BLE001 - psutil is not installed, or the system does not tell
        return
    for word in words:
        if not word.startswith("-") and "\n" not in word:
            yield Path(folder, word) if word.endswith(_SUFFIX) else Path(folder, f"{word}{_SUFFIX}")


def _code_cells(path: Path) -> list[tuple[str, bool]]:
    """The code cells of the notebook at *path*: source, and whether it is certain that each runs."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return []
        cells = read_json(path.read_bytes())["cells"]
        return [_code_cell(cell) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _code_cell(cell: dict[str, Any]) -> tuple[str, bool]:
    source = "".join(cell["source"]).strip()
    tags = (cell.get("metadata") or {}).get("tags")
    return source, bool(source) and not tags and _SKIPPED not in source
