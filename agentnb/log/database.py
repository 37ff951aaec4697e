"""The log's SQLite file: opened, brought up to date, checked, put aside where it is damaged, and watched."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agentnb.distribution import UPDATE, readers
from agentnb.errors import LogDamaged, LogUnavailable
from agentnb.safe_files import locked

if TYPE_CHECKING:
    from collections.abc import Iterator


FileId: TypeAlias = "tuple[int, int] | None"  # the file at a path (device and number); None if there is none

_ASIDE = "The next finished turn puts it aside and begins a new one."
_NO_ROOM = 1024 * 1024  # bytes; with less free space, an I/O error counts as a full disk
BUSY_SECONDS = 10.0  # time that a kernel waits for another kernel's write

MIGRATIONS = (
    """
    CREATE TABLE hosts (
        host_id TEXT PRIMARY KEY, machine TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL
    );
    CREATE TABLE sessions (
        uri TEXT PRIMARY KEY, agent TEXT NOT NULL, title TEXT NOT NULL, cwd TEXT NOT NULL, place TEXT NOT NULL,
        agent_session TEXT, host_id TEXT NOT NULL, open INTEGER NOT NULL,
        created_at INTEGER NOT NULL, modified_at INTEGER NOT NULL
    );
    CREATE INDEX sessions_by_time ON sessions (modified_at DESC);
    CREATE TABLE turns (
        uri TEXT NOT NULL, number INTEGER NOT NULL, turn_id TEXT NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL,
        PRIMARY KEY (uri, number)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        channel TEXT PRIMARY KEY, at INTEGER NOT NULL, state BLOB NOT NULL, checksum INTEGER NOT NULL
    );
    CREATE TABLE entries (
        channel TEXT NOT NULL, at INTEGER NOT NULL, first INTEGER NOT NULL, envelope BLOB NOT NULL,
        checksum INTEGER NOT NULL, PRIMARY KEY (channel, at)
    ) WITHOUT ROWID;
    """,
    "ALTER TABLE sessions ADD COLUMN gap TEXT;",
    """
    CREATE TABLE usage (
        uri TEXT NOT NULL, number INTEGER NOT NULL, ended_at INTEGER NOT NULL, input INTEGER, output INTEGER,
        cached INTEGER, cost REAL, currency TEXT, PRIMARY KEY (uri, number)
    ) WITHOUT ROWID;
    CREATE INDEX usage_by_time ON usage (ended_at);
    """,
    """
    CREATE TABLE marks (
        uri TEXT PRIMARY KEY, status INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
        archived INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX marks_pinned ON marks (uri) WHERE pinned;
    CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE, kind TEXT NOT NULL);
    CREATE TRIGGER session_added AFTER INSERT ON sessions BEGIN
        DELETE FROM changes WHERE uri = new.uri;
        INSERT INTO changes (uri, kind) VALUES (new.uri, 'added');
    END;
    CREATE TRIGGER session_changed AFTER UPDATE ON sessions BEGIN
        DELETE FROM changes WHERE uri = new.uri;
        INSERT INTO changes (uri, kind) VALUES (new.uri, 'changed');
    END;
    CREATE TRIGGER session_removed AFTER DELETE ON sessions BEGIN
        DELETE FROM marks WHERE uri = old.uri;
        DELETE FROM changes WHERE uri = old.uri;
        INSERT INTO changes (uri, kind) VALUES (old.uri, 'removed');
    END;
    CREATE TRIGGER session_marked AFTER UPDATE ON marks BEGIN
        DELETE FROM changes WHERE uri = new.uri;
        INSERT INTO changes (uri, kind) VALUES (new.uri, 'changed');
    END;
    """,
    "ALTER TABLE usage ADD COLUMN took INTEGER;",
    # The oldest agentnb that can read this file, for an older one's message. The newest version adds its row.
    "CREATE TABLE readers (version INTEGER PRIMARY KEY, oldest_agentnb TEXT NOT NULL);",
)
"""The SQL that turns each version of the file into the next; only ever added to."""

OLDEST_READER = "0.3"
"""The oldest agentnb that can read the newest version of the file; it rises with each new version."""
_LATEST = "SELECT coalesce(max(number), 0) FROM changes"
_SINCE = "SELECT number, uri, kind FROM changes WHERE number > ? ORDER BY number"


class LogConnection(sqlite3.Connection):
    """A connection that knows which file it opened: a path may lead to another one by now."""

    file: FileId = None


def connect(path: Path) -> LogConnection:
    """Open the log's file; create it or migrate it to the current version if needed."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with opening_alone(path):
            return _opened(path)


def _opened(path: Path) -> LogConnection:
    make_private(path)
    # Autocommit: each write begins its transaction explicitly.
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=LogConnection
    )
    connection.file = file_at(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.create_function("folded", 1, str.casefold, deterministic=True)
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def empty() -> sqlite3.Connection:
    """A log without sessions, in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.create_function("folded", 1, str.casefold, deterministic=True)
    _migrate(connection, Path(":memory:"))
    return connection


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Check the whole file; raises LogDamaged if it is damaged."""
    with explained(path):
        answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise LogDamaged(f"The session log {path} is damaged: {answer}.", hint=_ASIDE)


def file_at(path: Path) -> FileId:
    """Returns the identity of the file that *path* leads to now; None if there is none."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def put_aside(path: Path, file: FileId) -> Path | None:
    """Rename a damaged file and its companions to make room for a new one; None if it is not *file* any more."""
    with opening_alone(path):
        if file is None or file_at(path) != file:
            return None
        aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
        for old, new in zip(sqlite_files(path), sqlite_files(aside), strict=True):
            with contextlib.suppress(FileNotFoundError):
                old.rename(new)
        return aside


def sqlite_files(path: Path) -> list[Path]:
    """Returns a database's file and those that SQLite keeps beside it, whether or not they exist."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


@contextlib.contextmanager
def opening_alone(path: Path) -> Iterator[None]:
    """Hold a lock so that only one thread of one kernel opens the database at *path* or puts it aside at a time."""
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        with locked(descriptor):
            yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction; waits for other writers when it begins, never halfway through."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has ended it: a rollback hides the cause
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        version = _version(connection)  # another kernel may have migrated it meanwhile
        if version > len(MIGRATIONS):
            message = f"The session log {path} was written by a newer agentnb (version {version} of the file)."
            message += f" {readers(_oldest_reader(connection, version))}"
            raise LogUnavailable(message, hint=f"{UPDATE} Or set AGENTNB_LOG to another file.")
        for script in MIGRATIONS[version:]:
            for statement in statements(script):
                connection.execute(statement)
        connection.execute("INSERT OR REPLACE INTO readers VALUES (?, ?)", (len(MIGRATIONS), OLDEST_READER))
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _oldest_reader(connection: sqlite3.Connection, version: int) -> str | None:
    with contextlib.suppress(sqlite3.Error):
        row = connection.execute("SELECT oldest_agentnb FROM readers WHERE version = ?", (version,)).fetchone()
        return row[0] if row else None
    return None


def statements(script: str) -> Iterator[str]:
    """Yield the statements of *script* one by one: ``executescript`` would end the surrounding transaction."""
    statement = ""
    for piece in script.split(";"):
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):  # a trigger contains semicolons
            yield statement
            statement = ""


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def make_private(path: Path) -> None:
    """Create the file of a database so that only its owner can read it, since conversations with agents are private.

    An existing file is not opened: closing it would end all locks that this process has on it (POSIX), and another
    process would take the database for unused and delete its write-ahead log.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors from SQLite and the file system into errors with helpful messages."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if _is_disk_full(path, error):
            message = f"The session log {path} cannot be written: the disk is full."
            raise LogUnavailable(message, hint="Free space, or set AGENTNB_LOG to a file on another disk.") from error
        hint = "Free space or correct its permissions, or set AGENTNB_LOG to another file, or to off."
        raise LogUnavailable(f"The session log {path} cannot be used: {error}.", hint=hint) from error
    except sqlite3.DatabaseError as error:
        raise LogDamaged(f"The session log {path} is damaged: {error}.", hint=_ASIDE) from error
    except OSError as error:
        hint = "Set AGENTNB_LOG to a file that can be written, or to off."
        raise LogUnavailable(f"The session log {path} cannot be used: {error}.", hint=hint) from error


def _is_disk_full(path: Path, error: sqlite3.OperationalError) -> bool:
    """True if *error* is caused by a full disk; SQLite reports an I/O error when its index cannot grow."""
    if "full" in str(error):
        return True
    try:
        return "I/O" in str(error) and shutil.disk_usage(path.parent).free < _NO_ROOM
    except OSError:
        return False


class Changes(NamedTuple):
    """The sessions that changed since the last look, by URI."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class LogWatch:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path)
        with explained(path):
            self._version = self._data_version()
            self._number = int(self._connection.execute(_LATEST).fetchone()[0])

    def look(self) -> Changes | None:
        """Returns what has changed since the last look; None if nothing has, or if the file has been replaced."""
        with explained(self._path):
            version = self._data_version()
            if version == self._version:
                return None
            self._version = version
            kinds: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
            for number, uri, kind in self._connection.execute(_SINCE, (self._number,)):
                self._number = number
                kinds[kind].append(uri)
        return Changes(*map(tuple, kinds.values())) if any(kinds.values()) else None

    @property
    def is_current(self) -> bool:
        return file_at(self._path) == self._connection.file

    def close(self) -> None:
        self._connection.close()

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
