"""A renaming as a set of changes, made from the places where the name stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.magics import is_readable, python_of, read_source
from agentnb.plugins.knowledge.code.records import Renaming, TextChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.plugins.knowledge.code.notebook_module import NotebookModule
    from agentnb.plugins.knowledge.code.records import CodeLocation

_NAME = re.compile(r"[^\W\d]\w*")


def renaming(
    root: Path,
    module: NotebookModule,
    new_name: str,
    uses: Sequence[CodeLocation],
    definitions: Iterable[CodeLocation],
) -> Renaming:
    """The changes that give a name another one."""
    if not uses:
        raise UsageError("That name is not defined in the notebook or the workspace.")
    old_name = uses[0].name
    for each in [each for each in definitions if each.name == old_name] or uses:
        if each.cell_id is None and (each.path is None or root not in Path(each.path).parents):
            where = each.path or "a compiled module"
            raise UsageError(f"{old_name!r} is defined outside the workspace, in {where}.")
    places: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}
    for each in uses:
        if each.name == old_name:
            places.setdefault((each.cell_id, each.path), []).append((each.line, each.column))
    changes = tuple(_change(module, place, at, old_name, new_name) for place, at in places.items())
    return Renaming(
        old_name=old_name, new_name=new_name, changes=changes, notes=tuple(_notes(module, old_name, new_name))
    )


def _change(
    module: NotebookModule,
    place: tuple[str | None, str | None],
    positions: list[tuple[int, int]],
    old_name: str,
    new_name: str,
) -> TextChange:
    cell_id, path = place
    cell = module.cell(cell_id) if cell_id is not None else None
    if cell is not None and cell.is_cut:
        raise UsageError("A cell that contains the name is too long to be changed.", hint="Shorten or split the cell.")
    before = cell.source if cell is not None else read_source(Path(path or ""))
    after = _replaced(before, positions, old_name, new_name)
    return TextChange(before=before, after=after, count=len(positions), cell_id=cell_id, path=path)


def _notes(module: NotebookModule, old_name: str, new_name: str) -> Iterable[str]:
    if taken := [cell for cell in module.cells if _has_word(cell.source, new_name)]:
        yield f"The name {new_name!r} is used in {_cells(len(taken))} already."
    named = [cell for cell in module.cells if _has_word(cell.source, old_name)]
    if masked := [cell for cell in named if cell.source.count(old_name) > python_of(cell.source).count(old_name)]:
        yield f"Magics in {_cells(len(masked))} contain the name, too; they are not changed."
    if broken := [cell for cell in named if not is_readable(python_of(cell.source))]:
        yield f"{_cells(len(broken))} with the name cannot be parsed by Python; check it yourself."
    if module.left_out:
        yield f"{_cells(module.left_out)} are not checked: the notebook is too long."


def _replaced(text: str, positions: Iterable[tuple[int, int]], old: str, new: str) -> str:
    """*text* with *old* replaced at each line (from 1) and column."""
    starts = [0]
    starts += [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    for line, column in sorted(set(positions), reverse=True):
        at = starts[line - 1] + column
        if text[at : at + len(old)] != old:
            raise UsageError(f"Line {line} has changed since it was analysed.", hint="Ask again.")
        text = text[:at] + new + text[at + len(old) :]
    return text


def _has_word(text: str, word: str) -> bool:
    return word in text and any(match[0] == word for match in _NAME.finditer(text))


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"
