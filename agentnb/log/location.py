"""The place of the durable log, and of the file beside it that keeps the rows of batches and loops."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.folders import data_folder
from agentnb.log.database import BUSY_SECONDS, sqlite_files
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import Mapping


VARIABLE = "AGENTNB_LOG"
OFF = ("off", "0", "no", "false")
LOG_NAME = "sessions.db"
BATCHES_NAME = "batches.db"
_QUIET_SECONDS = 3600.0
"""Seconds without an ended row after which a batch with running rows counts as a dead kernel's."""
_KINDS = (
    ("batches", "rows", "batch", "NOT EXISTS (SELECT 1 FROM rows WHERE batch = id AND state = 'running')"),
    ("loops", "tries", "loop", "state != 'running'"),
)
"""The tables of batches and loops: the table of their parts, its column with their id, and the condition of an end."""


def log_location(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the file of the durable log; None if the log is off."""
    location = environ.get(VARIABLE, "").strip()
    if location.lower() in OFF or site_policy(environ).why_off("history") is not None:
        return None
    if not location:
        return data_folder(environ) / LOG_NAME
    path = Path(location).expanduser()
    return path / LOG_NAME if path.is_dir() or location.endswith(os.sep) else path


def log_place(environ: Mapping[str, str] = os.environ) -> str:
    """Returns what this kernel runs, according to its server (``JPY_SESSION_NAME``: a notebook's path).

    Empty if no server sets it.
    """
    return environ.get("JPY_SESSION_NAME", "")


def batch_file(log: Path) -> Path:
    return log.with_name(BATCHES_NAME)


def files_of_batches(log: Path) -> list[Path]:
    """Returns the file of batches and those that SQLite keeps beside it, as far as they exist."""
    return [each for each in sqlite_files(batch_file(log)) if each.exists()]


def count_batches(log: Path) -> int:
    """Returns the number of batches kept; 0 if the file cannot be read."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_opened(log)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM batches").fetchone()[0])
    return 0


def delete_batches(log: Path, *, before: float | None = None) -> int:
    """Delete the batches and loops that are not running, and free their disk space; returns how many were deleted."""
    if not batch_file(log).exists():
        return 0
    deleted = 0
    with contextlib.closing(_opened(log)) as connection:
        limits = (time.time() + 1 if before is None else before, time.time() - _QUIET_SECONDS)
        connection.execute("PRAGMA secure_delete = ON")
        known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        for table, parts, column, is_over in _KINDS:
            if table not in known:  # an older file has no loops
                continue
            where = f"touched < ? AND (touched < ? OR {is_over})"
            ids = [each[0] for each in connection.execute(f"SELECT id FROM {table} WHERE {where}", limits)]  # noqa: S608 - constants
            for each in ids:
                connection.execute(f"DELETE FROM {parts} WHERE {column} = ?", (each,))  # noqa: S608 - constants
                connection.execute(f"DELETE FROM {table} WHERE id = ?", (each,))  # noqa: S608 - constants
            deleted += len(ids)
        if deleted:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a running batch keeps the file open
    return deleted


def _opened(log: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{batch_file(log).absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
