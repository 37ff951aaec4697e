"""A search index over the log's turns, in a separate file beside the log (SQLite FTS5 with trigrams).

It holds nothing that is not in the log: if it is missing, damaged or of another form, it is made again. If SQLite has
no trigrams (before 3.34) or the file cannot be written, the log itself is searched.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable  # noqa: TC003 - read at run time by NamedTuple
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.log.database import BUSY_SECONDS, make_private, opening_alone, sqlite_files, transaction
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FORM = 1  # the version of the file's format; a file of another version is rebuilt
UPDATE_SECONDS = 3.0
SHORTEST = 3
"""Characters of a trigram: a shorter text is searched for in the log, only in the latest conversations."""
MOST_TRIGRAMS = 300
"""Characters of the text whose trigrams are looked up; each match is compared with the whole text."""
LATEST = 500  # conversations in which a shorter text is searched
MOST_CONVERSATIONS = 200  # the most conversations that one search finds, the latest first
HITS = 3  # matches of one conversation that are shown
AROUND = 60  # characters shown before and after a match

Where: TypeAlias = Literal["prompt", "answer"]
_PLACES: tuple[Where, Where] = ("prompt", "answer")
_SCHEMA = f"""
    CREATE TABLE sessions (uri TEXT PRIMARY KEY, modified_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE places (id INTEGER PRIMARY KEY, uri TEXT NOT NULL, number INTEGER NOT NULL, turn_id TEXT NOT NULL);
    CREATE INDEX places_by_session ON places (uri);
    CREATE VIRTUAL TABLE texts USING fts5(prompt, answer, tokenize = 'trigram', detail = none, columnsize = 0);
    PRAGMA user_version = {FORM};
"""
_MATCHES = """
    SELECT p.uri, p.number, p.turn_id FROM texts t JOIN places p ON p.id = t.rowid
    WHERE t.texts MATCH ? ORDER BY t.rowid DESC
"""
"""Without the places of trigrams (``detail = none``) the file is half as large; each match is compared again."""
_SCAN = """
    SELECT t.uri, t.number, t.turn_id, t.prompt, t.answer FROM turns t
    JOIN (SELECT uri, modified_at FROM sessions ORDER BY modified_at DESC LIMIT ?) s USING (uri)
    WHERE instr(folded(t.prompt), ?) OR instr(folded(t.answer), ?) ORDER BY s.modified_at DESC, t.number DESC
"""


class SearchHit(Wire, frozen=True, kw_only=True):
    """One place where the searched text was found."""

    number: Count
    turn_id: str
    where: Where
    before: str
    text: str
    after: str

    def __str__(self) -> str:
        return f"{self.before}{self.text}{self.after}"


Hits: TypeAlias = dict[str, tuple[SearchHit, ...]]  # the first few hits of each conversation, by its URI


def index_file(log: Path) -> Path:
    return log.with_name(f"{log.stem}-search.db")


class SearchIndex:
    """The index that belongs to one log. A new connection for each call; safe from any thread and process."""

    def __init__(self, log: Path) -> None:
        self.path: Path = index_file(log)

    def find(self, log: sqlite3.Connection, text: str) -> tuple[Hits, int]:
        """Returns where *text* occurs in prompts and answers, and the number of conversations still to be indexed."""
        if len(text) >= SHORTEST:
            with contextlib.suppress(sqlite3.Error, OSError):
                return self._found_in_index(log, text)
        few = LATEST if len(text) < SHORTEST else -1
        folded = text.casefold()
        rows = log.execute(_SCAN, (few, folded, folded))
        turns = (_Turn(uri, number, turn, partial(tuple, both)) for uri, number, turn, *both in rows)
        return _hits(turns, text), 0

    def forget(self, uri: str) -> None:
        """Remove a deleted conversation, so that nothing of it stays in the index either."""
        if self.path.exists():
            with contextlib.suppress(sqlite3.Error, OSError), self._opened() as index, transaction(index):
                _remove(index, uri)

    def _found_in_index(self, log: sqlite3.Connection, text: str) -> tuple[Hits, int]:
        try:
            return self._updated_and_found(log, text)
        except sqlite3.OperationalError:
            raise  # locked, disk full or no trigram support: the index is not damaged
        except sqlite3.DatabaseError:
            for each in sqlite_files(self.path):
                each.unlink(missing_ok=True)
            return self._updated_and_found(log, text)

    def _updated_and_found(self, log: sqlite3.Connection, text: str) -> tuple[Hits, int]:
        with self._opened() as index:
            left = _update(index, log)
            matches = index.execute(_MATCHES, (_trigrams(text.casefold()),))
            turns = (_Turn(uri, number, turn, partial(_read, log, uri, number)) for uri, number, turn in matches)
            return _hits(turns, text), left

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        make_private(self.path)
        index = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        with contextlib.closing(index):
            with opening_alone(self.path):
                index.execute("PRAGMA journal_mode = WAL")
            index.execute("PRAGMA synchronous = NORMAL")
            index.execute("PRAGMA secure_delete = ON")
            if index.execute("PRAGMA user_version").fetchone()[0] != FORM:
                _make_anew(index)
            yield index


def _make_anew(index: sqlite3.Connection) -> None:
    with transaction(index):
        if index.execute("PRAGMA user_version").fetchone()[0] == FORM:
            return  # another kernel has done it already
        for table in ("sessions", "places", "texts"):
            index.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            index.execute(statement)


def _update(index: sqlite3.Connection, log: sqlite3.Connection) -> int:
    """Index what is new in the log, the latest first; returns the number of conversations still to be indexed."""
    known = dict(index.execute("SELECT uri, modified_at FROM sessions"))
    there = dict(log.execute("SELECT uri, modified_at FROM sessions ORDER BY modified_at DESC"))
    gone = known.keys() - there.keys()
    new = [uri for uri, modified_at in there.items() if known.get(uri) != modified_at]
    if gone:
        with transaction(index):
            for uri in gone:
                _remove(index, uri)
    until, done = time.monotonic() + UPDATE_SECONDS, 0
    for uri in new:
        if time.monotonic() > until:
            break
        with transaction(index):
            _take_over(index, log, uri, there[uri])
        done += 1
    return len(new) - done


def _take_over(index: sqlite3.Connection, log: sqlite3.Connection, uri: str, modified_at: int) -> None:
    """Bring one conversation up to date: turns are only added and removed at its end."""
    known = dict(index.execute("SELECT number, turn_id FROM places WHERE uri = ?", (uri,)))
    there = dict(log.execute("SELECT number, turn_id FROM turns WHERE uri = ?", (uri,)))
    for number, turn_id in known.items():
        if there.get(number) != turn_id:
            _remove(index, uri, number)
    for number in sorted(number for number, turn_id in there.items() if known.get(number) != turn_id):
        turn = log.execute("SELECT prompt, answer FROM turns WHERE uri = ? AND number = ?", (uri, number)).fetchone()
        place = (uri, number, there[number])
        added = index.execute("INSERT INTO places (uri, number, turn_id) VALUES (?, ?, ?)", place).lastrowid
        folded = [each.casefold() for each in turn]
        index.execute("INSERT INTO texts (rowid, prompt, answer) VALUES (?, ?, ?)", (added, *folded))
    index.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (uri, modified_at))


def _remove(index: sqlite3.Connection, uri: str, number: int | None = None) -> None:
    """Remove a conversation, or one turn of it."""
    which = "uri = ?" if number is None else "uri = ? AND number = ?"
    named = (uri,) if number is None else (uri, number)
    index.execute(f"DELETE FROM texts WHERE rowid IN (SELECT id FROM places WHERE {which})", named)  # noqa: S608
    index.execute(f"DELETE FROM places WHERE {which}", named)  # noqa: S608
    if number is None:
        index.execute("DELETE FROM sessions WHERE uri = ?", (uri,))


def _trigrams(text: str) -> str:
    """The query for turns that have all trigrams of *text*."""
    parts = {text[at : at + SHORTEST].replace('"', '""') for at in range(min(len(text), MOST_TRIGRAMS) - SHORTEST + 1)}
    return " AND ".join(f'"{part}"' for part in sorted(parts))


def _read(log: sqlite3.Connection, uri: str, number: int) -> tuple[str, ...]:
    """Returns a turn's prompt and answer; empty if another kernel has just deleted them."""
    row = log.execute("SELECT prompt, answer FROM turns WHERE uri = ? AND number = ?", (uri, number)).fetchone()
    return ("", "") if row is None else tuple(row)


class _Turn(NamedTuple):
    """A turn that may have the text; its prompt and answer are read only if needed."""

    uri: str
    number: int
    turn_id: str
    read: Callable[[], tuple[str, ...]]


def _hits(turns: Iterable[_Turn], text: str) -> Hits:
    hits_of_sessions: Hits = {}
    for turn in turns:
        hits = hits_of_sessions.get(turn.uri, ())
        if len(hits) >= HITS:
            continue
        here = _in_turn(turn, text)
        if here and not hits and len(hits_of_sessions) == MOST_CONVERSATIONS:
            break
        if here:
            hits_of_sessions[turn.uri] = (*hits, *here)[:HITS]
    return hits_of_sessions


def _in_turn(turn: _Turn, text: str) -> tuple[SearchHit, ...]:
    places = zip(_PLACES, turn.read(), strict=True)
    return tuple(hit for where, whole in places if (hit := _hit(turn, where, whole, text)) is not None)


def _hit(turn: _Turn, where: Where, whole: str, text: str) -> SearchHit | None:
    """Returns the first occurrence of *text* in *whole*; None if there is none."""
    folded, wanted = whole.casefold(), text.casefold()
    at = folded.find(wanted)
    if at < 0:
        return None
    begin, end = at, at + len(wanted)
    if len(folded) != len(whole):  # some letters become several by casefold()
        ends = list(accumulate(len(letter.casefold()) for letter in whole))
        begin, end = bisect_right(ends, begin), bisect_left(ends, end) + 1
    before, after = whole[max(0, begin - AROUND) : begin], whole[end : end + AROUND]
    return SearchHit(
        number=turn.number,
        turn_id=turn.turn_id,
        where=where,
        before=("…" if begin > AROUND else "") + _on_one_line(before),
        text=_on_one_line(whole[begin:end]),
        after=_on_one_line(after) + ("…" if end + AROUND < len(whole) else ""),
    )


def _on_one_line(text: str) -> str:
    return "".join(" " if letter.isspace() else letter for letter in text)
