"""A file of rows beside the log: what goes on after its kernel is kept there, of batches and of loops."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import LogUnavailable
from agentnb.log.batch_file import NAME, batch_file
from agentnb.log.database import make_private, opening_alone
from agentnb.log.location import log_location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BUSY_SECONDS = 10.0
_FORM = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, created REAL NOT NULL, agent TEXT NOT NULL, prompt TEXT NOT NULL, pass INTEGER NOT NULL,
    touched REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
    batch TEXT NOT NULL, key TEXT NOT NULL, copy INTEGER NOT NULL, pass INTEGER NOT NULL, number INTEGER NOT NULL,
    label TEXT NOT NULL, prompt TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
    body TEXT NOT NULL, ended INTEGER, PRIMARY KEY (batch, key, copy)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS rows_by_number ON rows (batch, pass, number);
CREATE INDEX IF NOT EXISTS rows_by_end ON rows (batch, pass, ended) WHERE ended IS NOT NULL;
CREATE TABLE IF NOT EXISTS loops (
    id TEXT PRIMARY KEY, touched REAL NOT NULL, state TEXT NOT NULL, folder TEXT NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tries (
    loop TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, difference TEXT NOT NULL,
    PRIMARY KEY (loop, number)
) WITHOUT ROWID;
"""


class RowsFile:
    """The file, or where it cannot be used one that goes with the kernel; safe from any thread.

    Attributes:
        note: Why it cannot be resumed later; empty where it can.
    """

    def __init__(self, what: str, environ: Mapping[str, str] = os.environ, *, must_exist: bool) -> None:
        self.note: str = ""
        self._what = what
        self._lock = threading.RLock()
        self._connection = self._opened(environ, must_exist=must_exist)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement to its end, and give its rows."""
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise LogUnavailable(f"The rows of the {self._what} cannot be kept: {error}.") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def _opened(self, environ: Mapping[str, str], *, must_exist: bool) -> sqlite3.Connection:
        log = log_location(environ)
        if log is not None:
            try:
                log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with opening_alone(batch_file(log)):
                    return _connected(batch_file(log))
            except (OSError, sqlite3.Error) as error:
                why = f"{batch_file(log)} cannot be used ({error})"
        else:
            why = "the log is off (AGENTNB_LOG)"
        if must_exist:
            raise LogUnavailable(f"No {self._what} can be resumed: {why}.")
        self.note = f"This {self._what} cannot be resumed later: {why}."
        with tempfile.TemporaryDirectory(prefix="agentnb-batch-", ignore_cleanup_errors=True) as folder:
            return _connected(Path(folder) / NAME)  # its name goes at once, what it holds when it is closed


def _connected(path: Path) -> sqlite3.Connection:
    make_private(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if path.parent.name.startswith("agentnb-batch-"):
            connection.execute("PRAGMA journal_mode = MEMORY")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        form = connection.execute("PRAGMA user_version").fetchone()[0]
        if form > _FORM:
            raise sqlite3.OperationalError("a newer agentnb wrote it")
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version = {_FORM}")
    except BaseException:
        connection.close()
        raise
    return connection
