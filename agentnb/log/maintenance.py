"""The log's file as a whole: measured by session, checked, repaired, compacted, exported and imported."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from agentnb.errors import LogError, LogUnavailable
from agentnb.log import database
from agentnb.log.database import sqlite_files
from agentnb.log.record import turn_record
from agentnb.log.search_index import index_file
from agentnb.log.writer import insert_turns, replay, sound
from agentnb.state import ChatState, reduce_chat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BY_URI = ("sessions", "marks", "turns", "usage")  # the tables with a session's channel in each row
BY_CHANNEL = ("snapshots", "entries")  # the tables with the channel of the session or of its chat
MOST_FAULTS = 20

_OF_CHANNEL = "CASE WHEN channel LIKE '%/chat' THEN substr(channel, 1, length(channel) - 5) ELSE channel END"
_SIZES = f"""
    SELECT uri, sum(size) FROM (
        SELECT {_OF_CHANNEL} AS uri, length(state) AS size FROM snapshots
        UNION ALL SELECT {_OF_CHANNEL}, length(envelope) FROM entries
        UNION ALL SELECT uri, length(CAST(prompt AS BLOB)) + length(CAST(answer AS BLOB)) FROM turns
    ) GROUP BY uri
"""  # noqa: S608 - constants only
WITHOUT_CHANGES = (
    "The undo history is not included: it is kept as copies of whole workspaces, and only works in the same folder of "
    "the same machine."
)
"""The note to users about what an export leaves out."""
_UNCHANGED = "Nothing was changed. Specify a file that was written by `agentnb storage --export`."


class Repaired(NamedTuple):
    sessions: int
    lost: tuple[str, ...]
    aside: str


def files_of(path: Path) -> list[Path]:
    """Returns the log's existing files: its own, its search index, and what SQLite writes beside them."""
    both = [*sqlite_files(path), *sqlite_files(index_file(path))]
    return [each for each in both if each.exists()]


def sizes(path: Path) -> dict[str, int]:
    """Returns the bytes of each session's data, by its channel."""
    with _opened(path) as connection:
        return dict(connection.execute(_SIZES))


def faults(path: Path) -> list[str]:
    """Returns what is wrong with the file, in at most a few sentences; [] if nothing is or no log exists yet."""
    if not path.exists():
        return []
    with contextlib.closing(_raw(path)) as connection:
        try:
            problems = [
                row[0] for row in connection.execute(f"PRAGMA integrity_check({MOST_FAULTS})") if row[0] != "ok"
            ]
            for table, data in (("snapshots", "state"), ("entries", "envelope")):
                rows = connection.execute(f"SELECT channel, {data}, checksum FROM {table}")  # noqa: S608 - constants
                problems += [
                    f"{table} of {channel}: damaged." for channel, blob, written in rows if not sound(blob, written)
                ]
        except sqlite3.DatabaseError as error:
            return [f"{error}."]
    return problems[:MOST_FAULTS]


def repair(path: Path) -> Repaired:
    """Copy what can be read to a new file, which replaces the damaged one; that one is kept beside it."""
    _demand(path)
    fresh = path.with_name(f"{path.name}.repaired-{os.getpid()}")
    file = database.file_at(path)
    with database.explained(path):
        _remove(fresh)
        with contextlib.closing(_raw(path)) as old, contextlib.closing(database.connect(fresh)) as new:
            lost = [uri for uri in _uris(old) if not _rescued(old, new, uri)]
            kept = int(new.execute("SELECT count(*) FROM sessions").fetchone()[0])
            new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        aside = database.put_aside(path, file)
        fresh.rename(path)
        _remove(fresh)
    return Repaired(kept, tuple(lost), "" if aside is None else aside.name)


def _remove(database_file: Path) -> None:
    for each in (*sqlite_files(database_file), database_file.with_name(f"{database_file.name}.lock")):
        each.unlink(missing_ok=True)


def compact(path: Path) -> int:
    """Free the disk space of what was deleted, after waiting for other kernels' writes; returns the bytes freed."""
    before = _bytes(path)
    if not path.exists():
        return 0
    index = index_file(path)
    with _opened(path) as connection:
        connection.execute("DELETE FROM changes WHERE kind = 'removed'")
        _vacuum(connection)
    if index.exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(_raw(index)) as connection:
            _vacuum(connection)
    return max(0, before - _bytes(path))


def _vacuum(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def copy_out(path: Path, to: Path) -> int:
    """Write the whole log, as it is at one moment, to a new file; returns its number of sessions."""
    _demand(path)
    if to.exists():
        raise LogUnavailable(f"{to} already exists.", hint="Specify a new file.")
    if not to.parent.is_dir():
        raise LogUnavailable(f"There is no folder {to.parent}.", hint="Create it, or specify a file in another one.")
    with _opened(path) as connection, _other_file(to, "written", "Specify a file that can be written."):
        database.make_private(to)
        connection.execute("VACUUM INTO ?", (str(to),))
        return int(connection.execute("SELECT count(*) FROM sessions").fetchone()[0])


def take_in(path: Path, source: Path) -> tuple[int, int]:
    """Add the sessions of another log's file that are not in this log yet; that file is not changed."""
    if not source.is_file():
        raise LogUnavailable(
            f"{source} is not a file.", hint="Specify a file that was written by `agentnb storage --export`."
        )
    copy = path.with_name(f"{path.name}.import-{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with contextlib.ExitStack() as opened:
            with _other_file(source, "imported", _UNCHANGED, copy):
                with contextlib.closing(_raw(source)) as original, contextlib.closing(sqlite3.connect(copy)) as target:
                    original.backup(target)
                theirs = opened.enter_context(contextlib.closing(database.connect(copy)))  # migrated to this version
                database.check(theirs, source)
            return _merged(path, theirs)
    finally:
        _remove(copy)


@contextlib.contextmanager
def _other_file(file: Path, done: str, hint: str, copy: Path | None = None) -> Iterator[None]:
    """Report errors in a file that is not this kernel's log, or in its *copy*, as errors about *file*."""
    try:
        yield
    except (LogError, sqlite3.Error, OSError) as error:
        reason = error.message.replace(str(copy or file), str(file)) if isinstance(error, LogError) else f"{error}."
        known = error.hint if isinstance(error, LogUnavailable) else hint  # set if a newer agentnb wrote the file
        raise LogUnavailable(f"{file} cannot be {done}: {reason}", hint=known) from error


def _merged(path: Path, theirs: sqlite3.Connection) -> tuple[int, int]:
    with database.explained(path), contextlib.closing(database.connect(path)) as ours:
        known = {uri for (uri,) in ours.execute("SELECT uri FROM sessions")}
        new = [uri for (uri,) in theirs.execute("SELECT uri FROM sessions") if uri not in known]
        with database.transaction(ours):
            for uri in new:
                for table in (*BY_URI, *BY_CHANNEL):
                    _copy_rows(theirs, ours, table, uri)
                ours.execute("UPDATE sessions SET open = 0 WHERE uri = ?", (uri,))
        there = int(theirs.execute("SELECT count(*) FROM sessions").fetchone()[0])
    return len(new), there - len(new)


def _rescued(old: sqlite3.Connection, new: sqlite3.Connection, uri: str) -> bool:
    """Copy what can be read of one session; returns False if part of it is lost."""
    damaged = set()
    for table in (*BY_URI, *BY_CHANNEL):
        try:
            with database.transaction(new):
                _copy_rows(old, new, table, uri)
        except sqlite3.DatabaseError:
            damaged.add(table)
    if _has_all_turns(new, uri):
        damaged.discard("turns")
    rows = new.execute("SELECT state, checksum FROM snapshots WHERE channel IN (?, ?)", (uri, f"{uri}/chat")).fetchall()
    return not damaged and len(rows) == 2 and all(sound(*row) for row in rows)  # noqa: PLR2004 - session and chat


def _has_all_turns(new: sqlite3.Connection, uri: str) -> bool:
    """Rebuild the missing or wrong texts of turns from the chat's state; returns False if that is incomplete."""
    try:
        chat, _, gap = replay(new, f"{uri}/chat", ChatState, reduce_chat)
    except LogError:
        return False
    known = dict(new.execute("SELECT number, turn_id FROM turns WHERE uri = ?", (uri,)))
    missing = [turn_record(uri, number, turn) for number, turn in enumerate(chat.turns) if known.get(number) != turn.id]
    with database.transaction(new):
        insert_turns(new, missing)
    return gap is None


def _copy_rows(source: sqlite3.Connection, to: sqlite3.Connection, table: str, uri: str) -> None:
    columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
    if not columns:
        return  # an older file lacks this table
    which, names = ("uri = ?", (uri,)) if table in BY_URI else ("channel IN (?, ?)", (uri, f"{uri}/chat"))
    listed, marks = ", ".join(columns), ", ".join("?" * len(columns))
    rows = source.execute(f"SELECT {listed} FROM {table} WHERE {which}", names)  # noqa: S608 - constants
    to.executemany(f"INSERT OR REPLACE INTO {table} ({listed}) VALUES ({marks})", rows)  # noqa: S608


def _uris(connection: sqlite3.Connection) -> list[str]:
    """The sessions' channels, as many as can be read."""
    uris: dict[str, None] = {}
    for query in ("SELECT uri FROM sessions", "SELECT uri FROM sessions NOT INDEXED"):
        with contextlib.suppress(sqlite3.DatabaseError):
            for (uri,) in connection.execute(query):
                uris[str(uri)] = None
    return [*uris]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with database.explained(path), contextlib.closing(database.connect(path)) as connection:
        yield connection


def _demand(path: Path) -> None:
    if not path.exists():
        raise LogUnavailable(f"There is no session log at {path}.", hint="It is created when the first turn finishes.")


def _bytes(path: Path) -> int:
    return sum(each.stat().st_size for each in files_of(path))


def _raw(path: Path) -> sqlite3.Connection:
    """Returns a connection to a file that may be damaged: none of its content has been read yet."""
    try:
        return sqlite3.connect(path, timeout=database.BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise LogUnavailable(f"{path} cannot be opened: {error}.", hint="Check that you can read the file.") from error
