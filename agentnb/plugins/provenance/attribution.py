"""Who wrote the cells of a notebook as it stands: from the log, else from what its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.plugins.provenance.cell_metadata import from_metadata
from agentnb.plugins.provenance.line_ledger import is_blank, split_lines
from agentnb.plugins.provenance.result import CellProvenance, LineRange
from agentnb.plugins.provenance.turns import ledger_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.provenance.cell_metadata import SavedCell
    from agentnb.plugins.provenance.line_ledger import Author, LineLedger
    from agentnb.plugins.provenance.turns import ProvenanceTurn, TurnSteps


def attributed(
    cells: Sequence[SavedCell], kept: Sequence[TurnSteps]
) -> tuple[tuple[CellProvenance, ...], tuple[ProvenanceTurn, ...]]:
    ledger = ledger_of(kept)
    texts = [split_lines(cell.source) for cell in cells]
    authors = ledger.authors([(cell.id, cell.source) for cell in cells])
    present = {line for lines in texts for line in lines}
    all_turns = _Turns([each.turn for each in kept])
    attributions = []
    for index, (cell, lines, of) in enumerate(zip(cells, texts, authors, strict=True)):
        if any(author is not None and not is_blank(line) for line, author in zip(lines, of, strict=True)):
            is_edited = _is_edited(ledger, cell.id, lines, of, present)
            numbers = [None if each is None else all_turns.number(each) for each in of]
            attributions.append(_cell(index, cell, lines, numbers, is_edited=is_edited))
        elif cell.saved and (saved := _from_notebook(index, cell, lines, all_turns)) is not None:
            attributions.append(saved)
    return tuple(attributions), tuple(all_turns.named)


class _Turns:
    """The named turns, in the order in which they were first named."""

    def __init__(self, kept: Sequence[ProvenanceTurn]) -> None:
        self.named: list[ProvenanceTurn] = []
        self._kept = kept
        self._numbers: dict[int | tuple[str, str], int] = {}

    def number(self, author: int) -> int:
        return self._add(author, self._kept[author])

    def number_of_saved(self, turn: ProvenanceTurn) -> int | None:
        """Returns the number of a turn that a notebook names; None if the log has its conversation and overrides it."""
        if any(each.session.startswith(turn.session) for each in self._kept):
            return None
        return self._add((turn.session, turn.turn), turn)

    def _add(self, key: int | tuple[str, str], turn: ProvenanceTurn) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.named)
            self.named.append(turn)
        return self._numbers[key]


def _from_notebook(index: int, cell: SavedCell, lines: Sequence[bytes], turns: _Turns) -> CellProvenance | None:
    authors: list[Author] = [None] * len(lines)
    numbers, is_edited = [], False
    for saved in from_metadata(cell.saved, cell.source):
        number = turns.number_of_saved(saved.turn)
        if number is None:
            continue
        numbers.append(number)
        is_edited = is_edited or not saved.is_unchanged
        for line in saved.lines:
            authors[line] = number
    if not numbers:
        return None
    known = [None] * len(lines) if is_edited else authors
    return _cell(index, cell, lines, known, is_edited=is_edited, turns=tuple(numbers))


def _cell(
    index: int,
    cell: SavedCell,
    lines: Sequence[bytes],
    authors: Sequence[Author],
    *,
    is_edited: bool,
    turns: tuple[int, ...] = (),
) -> CellProvenance:
    by_agents = [each for line, each in zip(lines, authors, strict=True) if each is not None and not is_blank(line)]
    return CellProvenance(
        index=index,
        id=cell.id,
        kind=cell.kind,
        count=cell.count,
        line_count=len(lines),
        lines=tuple(_ranges(lines, authors)) if by_agents else (),
        turns=turns or tuple(sorted({*by_agents})),
        is_edited=is_edited,
        agent_line_count=len(by_agents),
    )


def _is_edited(
    ledger: LineLedger, cell_id: str, lines: Sequence[bytes], authors: Sequence[Author], present: set[bytes]
) -> bool:
    """True if the user has added lines to what agents left in a cell, or removed some of it."""
    if any(
        author is None and not is_blank(line) and not ledger.knows(line)
        for line, author in zip(lines, authors, strict=True)
    ):
        return True
    left = ledger.latest(cell_id)
    return left is not None and any(
        author is not None and not is_blank(line) and line not in present
        for line, author in zip(left.lines, left.authors, strict=True)
    )


def _ranges(lines: Sequence[bytes], authors: Sequence[Author]) -> list[LineRange]:
    """Returns the lines by author, counted from 1; a blank line between two of one author belongs to that author."""
    ranges: list[LineRange] = []
    for at, (line, author) in enumerate(zip(lines, authors, strict=True), 1):
        if is_blank(line):
            continue
        if ranges and ranges[-1].turn == author:
            ranges[-1] = LineRange(ranges[-1].first, at, author)
        else:
            ranges.append(LineRange(at, at, author))
    return ranges
