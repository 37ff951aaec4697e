"""The rows of batches, one per input, in a file beside the log, so a batch can be resumed after its kernel ended."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentnb.errors import LogUnavailable, UsageError
from agentnb.ids import new_id
from agentnb.log.database import make_private, opening_alone
from agentnb.log.location import BATCHES_NAME, batch_file, log_location
from agentnb.plugins.map.workspaces import WorkspaceChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


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
    """The rows' file, or a temporary one until the kernel ends if that cannot be used; safe from any thread.

    The *note* says why it cannot be resumed later; it is empty if it can.
    """

    def __init__(self, what: str, environ: Mapping[str, str] = os.environ, *, must_exist: bool) -> None:
        self.note: str = ""
        self._what = what
        self._lock = threading.RLock()
        self._connection = self._opened(environ, must_exist=must_exist)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement to its end, and return its rows."""
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
            return _connected(Path(folder) / BATCHES_NAME)  # its name is removed now, its content at its close


def _connected(path: Path) -> sqlite3.Connection:
    make_private(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        is_temporary = path.parent.name.startswith("agentnb-batch-")
        connection.execute(f"PRAGMA journal_mode = {'MEMORY' if is_temporary else 'WAL'}")
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


_PAGE = 200
RowState: TypeAlias = Literal["running", "done", "failed", "cancelled"]

EQUAL_INPUTS = "SELECT COUNT(*) FROM rows WHERE batch = ? AND key = ? AND +pass = ?"
"""Counts the inputs of a pass with the same prompt. ``+`` keeps SQLite from the index by pass, which has all inputs."""
_COLUMNS = "number, label, prompt, state, attempts, body, ended"


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of an input; ``log`` tells where its conversation is logged, if not in this process's log."""

    text: str = ""
    output: Any = None
    error: str = ""
    reason: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    costs: dict[str, float] = {}
    seconds: float = 0.0
    session: str = ""
    log: str = ""
    changes: tuple[WorkspaceChange, ...] = ()
    folder: str = ""


class BatchRow(msgspec.Struct, frozen=True):
    number: int
    label: Any
    prompt: str
    state: RowState
    attempts: int
    body: Body
    ended: int | None


def key_of(agent: str, prompt: str, schema: Any) -> str:
    """Returns a key for a question: equal for equal questions, whatever their place."""
    encoded = msgspec.json.encode([agent, prompt, schema], order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:32]


class BatchRows(RowsFile):
    """The rows of one batch; safe from any thread."""

    def __init__(self, batch: str | None, agent: str, prompt: str, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__("batch", environ, must_exist=batch is not None)
        self._ended = 0
        self.id: str = new_id() if batch is None else batch
        with self._lock:
            if "touched" not in {each[1] for each in self._run("PRAGMA table_info(batches)")}:  # 0.2's first builds
                self._run("ALTER TABLE batches ADD COLUMN touched REAL NOT NULL DEFAULT 0")
            if batch is None:
                self._pass = 1
                values = (self.id, time.time(), agent, prompt[:2000], self._pass, time.time())
                self._run("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)", *values)
                return
            passes = self._run("SELECT pass FROM batches WHERE id = ?", batch)
            if not passes:
                raise UsageError(f"There is no batch {batch!r}.", hint="The id of a batch is batch.id.")
            self._pass = passes[0][0] + 1
            self._run("UPDATE batches SET pass = ?, touched = ? WHERE id = ?", self._pass, time.time(), batch)

    def begin(
        self, number: int, label: Any, prompt: str, key: str, recorded: Callable[[int], Body | None]
    ) -> tuple[int, BatchRow | None]:
        """Note that an input is asked; returns its number among equal inputs, and its row if it is already answered."""
        with self._lock, self._transaction():
            where = "WHERE batch = ? AND key = ?"
            copy = self._run(EQUAL_INPUTS, self.id, key, self._pass)[0][0]
            earlier = self._run(f"SELECT {_COLUMNS} FROM rows {where} AND copy = ?", self.id, key, copy)  # noqa: S608 - columns and conditions of ours
            is_done = bool(earlier) and earlier[0][3] == "done"
            kept = (*earlier[0][3:6], self._next_end()) if is_done else ("running", 0, "{}", None)
            if not is_done and (body := recorded(copy)) is not None:
                is_done, kept = True, ("done", 1, msgspec.json.encode(body).decode(), self._next_end())
            self._run(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(self.id, key, copy, self._pass, number, _encoded_label(label), prompt, *kept),
            )
            return copy, self.row(number) if is_done else None

    def again(self, number: int) -> None:
        self._update(number, "state = 'running', body = '{}', ended = NULL")

    def count_question(self, number: int) -> None:
        self._update(number, "attempts = attempts + 1")

    def end(self, number: int, state: RowState, body: Body) -> None:
        with self._lock:
            values = (state, msgspec.json.encode(body).decode(), self._next_end())
            self._update(number, "state = ?, body = ?, ended = ?", *values)
            self._run("UPDATE batches SET touched = ? WHERE id = ?", time.time(), self.id)

    def row(self, number: int) -> BatchRow | None:
        """Returns the row of an input; None if it has not been asked yet."""
        return next(iter(self._select("number = ?", number)), None)

    def rows(self, *states: RowState) -> Iterator[BatchRow]:
        """Yields the rows in the order of the inputs, a page at a time; those in *states*, or all."""
        last = -1
        some = f" AND state IN ({', '.join('?' * len(states))})" if states else ""
        while True:
            page = self._select(f"number > ?{some} ORDER BY number LIMIT {_PAGE}", last, *states)
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1].number

    def ended_after(self, last: int) -> list[BatchRow]:
        """Returns a page of the rows that ended after another one, in that order; empty if there are none."""
        return self._select(f"ended > ? ORDER BY ended LIMIT {_PAGE}", last)

    def latest(self, limit: int, reason: str | None = None) -> list[BatchRow]:
        """Returns the rows that were answered last, the last one first; or the first ones that failed for *reason*."""
        if reason is None:
            return self._select("state = 'done' AND ended IS NOT NULL ORDER BY ended DESC LIMIT ?", limit)
        failed = "state = 'failed' AND json_extract(body, '$.reason') = ?"
        return self._select(f"{failed} ORDER BY number LIMIT ?", reason, limit)

    def reasons(self) -> dict[str, int]:
        """Returns how many inputs failed for each reason, the most frequent first."""
        counts = self._run(
            "SELECT json_extract(body, '$.reason') AS reason, COUNT(*) AS number FROM rows"
            " WHERE batch = ? AND pass = ? AND state = 'failed' GROUP BY reason ORDER BY number DESC, reason",
            *(self.id, self._pass),
        )
        return {reason or "": number for reason, number in counts}

    def _select(self, where: str, *values: Any) -> list[BatchRow]:
        """Returns rows of this pass."""
        statement = f"SELECT {_COLUMNS} FROM rows WHERE batch = ? AND pass = ? AND {where}"  # noqa: S608 - words of ours
        return [*map(_record, self._run(statement, self.id, self._pass, *values))]

    def _next_end(self) -> int:
        self._ended += 1
        return self._ended

    def _update(self, number: int, what: str, *values: Any) -> None:
        statement = f"UPDATE rows SET {what} WHERE batch = ? AND pass = ? AND number = ?"  # noqa: S608 - words of ours
        self._run(statement, *values, self.id, self._pass, number)


def _encoded_label(label: Any) -> str:
    try:
        return msgspec.json.encode(label.item() if hasattr(label, "item") else label).decode()
    except TypeError:  # such as a Timestamp or a user's object
        return msgspec.json.encode(str(label)).decode()


def _record(values: tuple[Any, ...]) -> BatchRow:
    number, label, prompt, state, attempts, text, ended = values
    body = msgspec.json.decode(text, type=Body)
    return BatchRow(number, msgspec.json.decode(label), prompt, state, attempts, body, ended)
