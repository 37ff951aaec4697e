"""The key of a cell's metadata that says who wrote it: one line of text, without anything secret.

::

    "agentnb": "claude sonnet-5 2026-11-28 0f3a91c2/77b01d4e 1-4,7 9c41d2aa"

Agent, model, day, the beginnings of the conversation's and the turn's ids, lines, and a digest of these lines; several
turns are separated by "; ". Nothing in it changes when the cell is run. Whoever can write the notebook can write the
key: what it says is shown as text, and a line counts only where its digest is right.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from agentnb.credentials import Credentials
from agentnb.plugins.provenance.line_ledger import split_lines
from agentnb.plugins.provenance.turns import ProvenanceTurn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.plugins.provenance.result import LineRange

SHORT = 8
"""Characters of an id that are saved."""
LONGEST = 2_000
MOST_TURNS = 8
UNKNOWN = "-"
_NAME = 48
_DAY = "%Y-%m-%d"
_WORD = rf"[\w.:+@-]{{1,{_NAME}}}"
_SAVED = re.compile(
    rf"(?P<agent>{_WORD}) (?P<model>{_WORD}) (?P<day>\d{{4}}-\d\d-\d\d|-)"
    r" (?P<session>[\w-]{1,64})/(?P<turn>[\w-]{1,64})"
    r" (?P<lines>\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?){0,99}) (?P<digest>[0-9a-f]{8})",
    re.ASCII,
)
_NOT_IN_A_WORD = re.compile(r"[^\w.:+@-]+", re.ASCII)


class SavedTurn(NamedTuple):
    """A turn as the notebook itself names it.

    Attributes:
        turn: The turn.
        lines: Its lines, from 0.
        is_unchanged: Whether the cell still has these lines.
    """

    turn: ProvenanceTurn
    lines: tuple[int, ...]
    is_unchanged: bool


def to_metadata(source: str, ranges: Iterable[LineRange], turns: Sequence[ProvenanceTurn]) -> str:
    """The value of the key for a cell whose lines have these authors; empty where none is an agent's."""
    texts = split_lines(source)
    lines: dict[int, list[int]] = {}
    for each in ranges:
        if each.turn is not None:
            lines.setdefault(each.turn, []).extend(range(each.first - 1, each.last))
    parts = []
    for number, chosen in sorted(lines.items())[-MOST_TURNS:]:
        turn = turns[number]
        day = datetime.fromtimestamp(turn.time / 1000, timezone.utc).strftime(_DAY) if turn.time else UNKNOWN
        ids = f"{turn.session.rpartition('/')[2][:SHORT] or UNKNOWN}/{turn.turn[:SHORT] or UNKNOWN}"
        digest = _digest(texts[each] for each in chosen)
        parts.append(f"{_word(turn.agent)} {_word(turn.model)} {day} {ids} {in_ranges(chosen)} {digest}")
    return "; ".join(parts)


def from_metadata(saved: str, source: str) -> list[SavedTurn]:
    """What the key of a cell with the text *source* says; nothing where it makes no sense."""
    matches = [_SAVED.fullmatch(each) for each in saved.split("; ")] if len(saved) <= LONGEST else []
    texts = split_lines(source)
    return [_saved_turn(match, texts) for match in matches[:MOST_TURNS] if match is not None]


def in_ranges(lines: Iterable[int]) -> str:
    """Lines that are counted from 0 as people count them.

    Example:
        >>> in_ranges([0, 1, 2, 6])
        '1-3,7'
    """
    ranges: list[tuple[int, int]] = []
    for line in sorted(lines):
        if ranges and ranges[-1][1] == line - 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    return ",".join(f"{first + 1}" if first == last else f"{first + 1}-{last + 1}" for first, last in ranges)


def _saved_turn(match: re.Match[str], texts: Sequence[bytes]) -> SavedTurn:
    lines = _lines(match["lines"], len(texts))
    model = "" if match["model"] == UNKNOWN else match["model"]
    turn = ProvenanceTurn(
        session=f"{match['agent']}:/{match['session']}",
        turn=match["turn"],
        agent=match["agent"],
        model=model,
        time=_time(match["day"]),
        is_kept=False,
        from_notebook=True,
    )
    is_unchanged = bool(lines) and _digest(texts[each] for each in lines) == match["digest"]
    return SavedTurn(turn, lines if is_unchanged else (), is_unchanged)


def _lines(ranges: str, count: int) -> tuple[int, ...]:
    """The lines, from 0; none where the cell has fewer."""
    chosen: set[int] = set()
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 < begin <= end <= count:
            return ()
        chosen.update(range(begin - 1, end))
    return tuple(sorted(chosen))


def _time(day: str) -> int | None:
    try:
        return int(datetime.strptime(day, _DAY).replace(tzinfo=timezone.utc).timestamp() * 1000)
    except ValueError:
        return None


def _digest(lines: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:SHORT]


def _word(name: str) -> str:
    """*name* without what could tell of this machine or its secrets: of a path the last part."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return UNKNOWN if Credentials().hidden(last) != last else _NOT_IN_A_WORD.sub("-", last)[:_NAME] or UNKNOWN
