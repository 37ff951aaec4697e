"""The author of each line of a notebook, determined from the successive texts of its cells.

A line belongs to its author wherever it moves: a cell that is split, merged, moved, copied or restored by an undo keeps
its lines' authors. Only texts are known, so if a user types a line that an agent has written elsewhere, the agent may
count as its author.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agentnb.changes.text_diff import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Author: TypeAlias = "int | None"
"""The turn that wrote a line, by its number in the ledger; None: the user."""

MOST_PLACES = 24
"""Earlier places of one line that are examined: the latest."""
ENOUGH = 12
"""Letters and digits from which on lines that also occur elsewhere count as copied, not typed again."""
_SIGNIFICANT = re.compile(rb"[^\W_]")


class CellChange(NamedTuple):
    """An agent's change of one cell: the texts before and after; None if there is no cell.

    A tool call does not know the id of a cell that it made, which is then empty; a later change of the turn has it.
    """

    cell: str
    before: str | None
    after: str | None


class Version(NamedTuple):
    """A cell's text at one moment, with the author of each line."""

    lines: tuple[bytes, ...]
    authors: tuple[Author, ...]


class _Lines:
    """An index of lines, with their authors."""

    def __init__(self) -> None:
        self._lines: list[bytes | None] = []
        self._authors: list[Author] = []
        self._places: dict[bytes, list[int]] = {}

    def add(self, lines: Iterable[bytes], authors: Iterable[Author]) -> None:
        for line, author in zip(lines, authors, strict=True):
            self._places.setdefault(line, []).append(len(self._lines))
            self._lines.append(line)
            self._authors.append(author)
        self._lines.append(None)
        self._authors.append(None)

    def __contains__(self, line: bytes) -> bool:
        return line in self._places

    def fill(self, lines: Sequence[bytes], authors: list[Author | _Open], *, moved: bool = False) -> None:
        """Give open lines the authors of the longest equal runs of lines; *moved*: these are no longer where they were.

        One line with few letters and digits counts only if nothing else was moved from there or to here.
        """
        at = 0
        while at < len(lines):
            place, size = self._longest(lines, authors, at)
            run = lines[at : at + size]
            weight = sum(len(_SIGNIFICANT.findall(each)) for each in run)
            is_enough = weight >= ENOUGH and (size > 1 or moved or not self._is_disputed(run[0]))
            is_enough = is_enough or (moved and sum(not is_blank(each) for each in run) > 1)
            if is_enough or (moved and size and self._is_whole(place, size) and _is_gap(authors, at, size)):
                authors[at : at + size] = self._authors[place : place + size]
            at += size or 1

    def _is_whole(self, place: int, size: int) -> bool:
        return self._lines[place + size] is None and (place == 0 or self._lines[place - 1] is None)

    def _longest(self, lines: Sequence[bytes], authors: Sequence[Author | _Open], at: int) -> tuple[int, int]:
        best, longest = 0, 0
        for place in reversed(self._places.get(lines[at], [])[-MOST_PLACES:]):
            size = 0
            while (
                at + size < len(lines) and authors[at + size] is OPEN and self._lines[place + size] == lines[at + size]
            ):
                size += 1
            if size > longest:
                best, longest = place, size
        return best, longest

    def _is_disputed(self, line: bytes) -> bool:
        """True if several authors have written the line."""
        return len({self._authors[place] for place in self._places[line][-MOST_PLACES:]}) > 1


class _Open:
    """The author of a line that is not known yet."""


OPEN = _Open()


class LineLedger:
    def __init__(self) -> None:
        self._now: dict[str, Version] = {}
        self._earlier: dict[tuple[str, tuple[bytes, ...]], Version] = {}
        self._all = _Lines()

    def write(self, turn: int, changes: Sequence[CellChange], *, undone: bool = False) -> None:
        """Record one step of an agent; *undone* means that it was taken back, or is not in the notebook yet."""
        gone = _Lines()
        known: list[tuple[CellChange, Version | None]] = []
        for change in changes:
            before = None if change.before is None else self._seen(change.cell, split_lines(change.before))
            known.append((change, before))
            if before is not None:
                _add_rest(gone, before, split_lines(change.after or ""))
        for change, before in known:
            if change.after is None:
                self._now.pop(change.cell, None)
            else:
                lines, cell = split_lines(change.after), change.cell or f"of turn {turn}"
                made = self._earlier.get((f"of turn {turn}", lines)) if before is None else before
                authors = _open_authors(made, lines)
                gone.fill(lines, authors, moved=True)
                self._remember(cell, lines, authors, default=turn)
                if not change.cell:
                    del self._now[cell]
            if undone and before is not None:
                self._now[change.cell] = before
            elif undone:
                self._now.pop(change.cell, None)

    def authors(self, cells: Sequence[tuple[str, str]]) -> list[tuple[Author, ...]]:
        """Returns the authors of the lines of *cells* (ids and texts), as the notebook has them now."""
        texts = [split_lines(text) for _, text in cells]
        known = [self._known(cell, lines) for (cell, _), lines in zip(cells, texts, strict=True)]
        gone, present = _Lines(), set()
        for (cell, _), lines, version in zip(cells, texts, known, strict=True):
            present.add(cell)
            if version is not None:
                _add_rest(gone, version, lines)
        for cell, version in self._now.items():
            if cell not in present:
                gone.add(*version)
        result = []
        for lines, version in zip(texts, known, strict=True):
            authors = _open_authors(version, lines)
            gone.fill(lines, authors, moved=True)
            self._all.fill(lines, authors)
            result.append(tuple(None if isinstance(each, _Open) else each for each in authors))
        return result

    def latest(self, cell: str) -> Version | None:
        """Returns the text that agents left in a cell; None if they wrote none, or it is gone."""
        return self._now.get(cell)

    def knows(self, line: bytes) -> bool:
        """True if any cell had the line when an agent wrote."""
        return line in self._all

    def _seen(self, cell: str, lines: tuple[bytes, ...]) -> Version:
        """Note that the cell had this text: lines that nobody else has written are the user's."""
        version = self._known(cell, lines)
        authors = _open_authors(version, lines)
        self._all.fill(lines, authors)
        return self._remember(cell, lines, authors, default=None)

    def _known(self, cell: str, lines: tuple[bytes, ...]) -> Version | None:
        """Returns the known version of the cell with this very text, else its latest one."""
        return self._earlier.get((cell, lines)) or self._now.get(cell)

    def _remember(
        self, cell: str, lines: tuple[bytes, ...], authors: Sequence[Author | _Open], *, default: Author
    ) -> Version:
        version = Version(lines, tuple(default if isinstance(each, _Open) else each for each in authors))
        if self._earlier.get((cell, lines)) != version:
            self._all.add(*version)
        self._now[cell] = self._earlier[cell, lines] = version
        return version


def split_lines(text: str) -> tuple[bytes, ...]:
    """Returns the lines of a cell without trailing blanks, which editors remove."""
    return tuple(each.rstrip().encode("utf-8", "surrogatepass") for each in text.split("\n")) if text else ()


def is_blank(line: bytes) -> bool:
    """True if no author can be assigned to the line."""
    return not line.strip()


def _open_authors(version: Version | None, lines: Sequence[bytes]) -> list[Author | _Open]:
    """Returns the authors of the lines that are also in *version*; the others are open."""
    authors: list[Author | _Open] = [OPEN] * len(lines)
    if version is not None:
        for at, other, size in matches(version.lines, lines):
            authors[other : other + size] = version.authors[at : at + size]
    return authors


def _add_rest(gone: _Lines, version: Version, lines: Sequence[bytes]) -> None:
    """Add the lines of *version* that *lines* lacks."""
    at = 0
    for begin, _, size in [*matches(version.lines, lines), (len(version.lines), 0, 0)]:
        if begin > at:
            gone.add(version.lines[at:begin], version.authors[at:begin])
        at = begin + size


def _is_gap(authors: Sequence[Author | _Open], at: int, size: int) -> bool:
    """True if exactly *size* lines from *at* on are open."""
    return (at == 0 or authors[at - 1] is not OPEN) and (at + size == len(authors) or authors[at + size] is not OPEN)
