"""The place of the durable log, and of the file beside it that keeps the rows of batches and loops."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.folders import data_folder
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import Mapping


VARIABLE = "AGENTNB_LOG"
OFF = ("off", "0", "no", "false")
LOG_NAME = "sessions.db"


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


BATCHES_NAME = "batches.db"
_BUSY_SECONDS = 10.0
_QUIET_SECONDS = 3600.0
"""Seconds without an ended row after which a batch with running rows counts as a dead kernel's."""


def batch_file(log: Path) -> Path:
    """Returns the file of batches, which lies beside the log at *log*."""
    return log.with_name(BATCHES_NAME)


def files_of_batches(log: Path) -> list[Path]:
    """Returns the file of batches and those that SQLite keeps beside it, as far as they exist."""
    path = batch_file(log)
    return [each for suffix in ("", "-wal", "-shm") if (each := path.with_name(path.name + suffix)).exists()]


def count_batches(log: Path) -> int:
    """Returns the number of batches kept; 0 if the file cannot be read."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_opened(log)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM batches").fetchone()[0])
    return 0


def delete_batches(log: Path, *, before: float | None = None) -> int:
    """Delete the batches and loops that are not running, and free their disk space; returns how many were deleted."""
    if not batch_file(log).exists():
        return 0
    with contextlib.closing(_opened(log)) as connection:
        running = "SELECT 1 FROM rows WHERE batch = id AND state = 'running'"
        quiet = time.time() - _QUIET_SECONDS
        where = f"touched < ? AND (touched < ? OR NOT EXISTS ({running}))"
        limits = (time.time() + 1 if before is None else before, quiet)
        connection.execute("PRAGMA secure_delete = ON")
        ids = [each[0] for each in connection.execute(f"SELECT id FROM batches WHERE {where}", limits)]  # noqa: S608 - conditions of ours
        for batch in ids:
            connection.execute("DELETE FROM rows WHERE batch = ?", (batch,))
            connection.execute("DELETE FROM batches WHERE id = ?", (batch,))
        if _has_loops(connection):
            where = "touched < ? AND (touched < ? OR state != 'running')"
            loops = [each[0] for each in connection.execute(f"SELECT id FROM loops WHERE {where}", limits)]  # noqa: S608 - conditions of ours
            for loop in loops:
                connection.execute("DELETE FROM tries WHERE loop = ?", (loop,))
                connection.execute("DELETE FROM loops WHERE id = ?", (loop,))
            ids += loops
        if ids:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a running batch keeps the file open
    return len(ids)


def _has_loops(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'loops'").fetchone())


def _opened(log: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{batch_file(log).absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
    )
