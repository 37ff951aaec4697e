"""The key in a cell's metadata for the cell's authors: one line of text without secrets.

::

    "agentnb": "claude sonnet-5 2026-11-28 0f3a91c2/77b01d4e 1-4,7 9c41d2aa"

Agent, model, day, the beginnings of the conversation's and the turn's ids, lines, and a digest of these lines; several
turns are separated by "; ". Running the cell does not change it. Anyone who can write the notebook can write the key:
so its content is shown as text, and lines count only if their digest is right.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.plugins.provenance.line_ledger import split_lines
from agentnb.plugins.provenance.turns import ProvenanceTurn
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agentnb.plugins.provenance.result import LineRange


KEY = "agentnb"
"""The key of a cell's metadata."""
LARGEST_FILE = 256 * 1024 * 1024
MOST_CELLS = 20_000
_ADVICE = "Restore it from a backup or a checkpoint."


class SavedCell(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell.

    Attributes:
        id: Its id; empty if it has none.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        source: Its text.
        count: The number of its last run.
        saved: The authors according to its metadata, which anyone may have written.
    """

    id: str = ""
    kind: str = "code"
    source: str = ""
    count: int | None = None
    saved: str = ""


def read_file(path: Path) -> str:
    """Returns the text of a notebook's file; raises a UsageError if it cannot be read."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="It is too large to be read.")
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8.", hint="Open it in Jupyter, and save it again.") from None


def cells_of(text: str, named: str = "The notebook") -> tuple[SavedCell, ...]:
    """Returns the cells of a notebook; raises a UsageError if *text* is none."""
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


SHORT = 8
"""Characters of an id or a hash that are saved."""
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
    """A turn that the notebook itself names.

    Attributes:
        lines: Its lines, from 0.
        is_unchanged: True if the cell still has these lines.
    """

    turn: ProvenanceTurn
    lines: tuple[int, ...]
    is_unchanged: bool


def to_metadata(source: str, ranges: Iterable[LineRange], turns: Sequence[ProvenanceTurn]) -> str:
    """Returns the key's value for a cell whose lines have these authors; '' if none is an agent's."""
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
    """Returns what the key of a cell with the text *source* says; nothing if it is invalid."""
    matches = [_SAVED.fullmatch(each) for each in saved.split("; ")] if len(saved) <= LONGEST else []
    texts = split_lines(source)
    return [_saved_turn(match, texts) for match in matches[:MOST_TURNS] if match is not None]


def in_ranges(lines: Iterable[int]) -> str:
    """Returns lines, counted from 0, as text in which they are counted from 1.

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
    turn = ProvenanceTurn(
        session=f"{match['agent']}:/{match['session']}",
        turn=match["turn"],
        agent=match["agent"],
        model="" if match["model"] == UNKNOWN else match["model"],
        time=_time(match["day"]),
        is_kept=False,
        from_notebook=True,
    )
    is_unchanged = bool(lines) and _digest(texts[each] for each in lines) == match["digest"]
    return SavedTurn(turn, lines if is_unchanged else (), is_unchanged)


def _lines(ranges: str, count: int) -> tuple[int, ...]:
    """Returns the lines, from 0; none if the cell has fewer."""
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
    """Returns *name* without what could reveal this machine or its secrets: only the last part of a path."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return UNKNOWN if Credentials().hidden(last) != last else _NOT_IN_A_WORD.sub("-", last)[:_NAME] or UNKNOWN
